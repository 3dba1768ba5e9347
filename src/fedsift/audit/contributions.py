"""The tables of contributions: rows against the files that they are collected from, rank correlations anew."""

import statistics
from collections.abc import Callable, Mapping
from pathlib import Path

from fedsift.audit.estimates import estimate
from fedsift.audit.sheet import NotHere, Row, Tally, keyed, rows
from fedsift.audit.store import Store
from fedsift.specs import ContributionCell, TableSpec

_PLACE = ("noise", "clients", "method", "round")
_SCHEMES = ("emd", "union", "shapley", "fair-value")
_DECIMALS = 12


def collected(spec: TableSpec, store: Store, tally: Tally, path: Path) -> None:
    """`contributions.csv`: every row is one of its file, and every row of a file is there."""
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows(path):
        found.setdefault((*(row[name] for name in _PLACE), row["seed"]), []).append(row)
    for cell in spec.contributions:
        place = _place(cell)
        ours = _read(store, cell)
        if ours is None:
            tally.skipped = "some of the files of contributions are not here"
            continue
        theirs = found.get(place, [])
        where = "/".join(place)
        tally.number(f"{where} rows", str(len(theirs)), len(ours))
        for row, source in zip(theirs, ours, strict=False):
            for name, text in source.items():
                tally.numbers += 1
                tally.words(f"{where} client {source['client']} {name}", row[name], text)


def correlations(spec: TableSpec, store: Store, tally: Tally, path: Path) -> None:
    """`rank-correlations.csv`: Spearman's rho of two schemes, mean over seeds."""
    judged: dict[tuple[str, ...], dict[int, list[Row]]] = {}
    for cell in spec.contributions:
        if (ours := _read(store, cell)) is None:
            tally.skipped = "some of the files of contributions are not here"
            return
        by_seed = judged.setdefault(_place(cell)[:-1], {})
        if ours and ours[0]["status"] == "ok":
            by_seed[cell.seed] = ours
    pairs = [(a, b) for place, a in enumerate(_SCHEMES) for b in _SCHEMES[place + 1 :]]
    wanted = [(*place, *pair) for place in judged for pair in pairs]
    places = keyed(tally, rows(path), (*_PLACE, "first", "second"), wanted)
    for place in wanted:
        if row := places.get(place):
            found = {seed: _rho(judged[place[:4]][seed], *place[4:]) for seed in sorted(judged[place[:4]])}
            tally.interval(
                "/".join(place), row, estimate({seed: rho for seed, rho in found.items() if rho is not None})
            )


def _place(cell: ContributionCell) -> tuple[str, ...]:
    return cell.noise, str(cell.clients), cell.method, str(cell.round), str(cell.seed)


def _read(store: Store, cell: ContributionCell) -> list[Row] | None:
    try:
        return rows(store.place(cell.file))
    except NotHere:
        return None


def _rho(found: list[Row], first: str, second: str) -> float | None:
    """Pearson's correlation of mean ranks; None where a scheme gives all the same."""
    a, b = ([round(float(row[f"{scheme}_u"]), _DECIMALS) for row in found] for scheme in (first, second))
    if len(set(a)) < 2 or len(set(b)) < 2:
        return None
    return statistics.correlation(_ranks(a), _ranks(b))


def _ranks(values: list[float]) -> list[float]:
    """Equal values share the mean of their ranks."""
    return [sum(other < value for other in values) + (values.count(value) + 1) / 2 for value in values]


CHECKS: Mapping[str, Callable[[TableSpec, Store, Tally, Path], None]] = {
    "contributions.csv": collected,
    "rank-correlations.csv": correlations,
}
