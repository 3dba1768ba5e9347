"""Schemes of contribution side by side: do they rank a round's participants alike? (EMFedAvg spec, 5)."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from fedsift.contributions.rows import COLUMNS, numbers, read
from fedsift.contributions.schemes import SCHEMES, Scheme
from fedsift.errors import FedsiftError
from fedsift.results.collect import Results
from fedsift.results.files import TableName
from fedsift.results.layout import DASH, Cell, Kind, Line, Notes, Table, count, plain
from fedsift.results.long import Value
from fedsift.results.long import interval as columns
from fedsift.results.long import text as csv_text
from fedsift.results.statistics import Estimate, estimate
from fedsift.specs import ContributionCell

RANKING: tuple[Scheme, ...] = tuple(scheme for scheme in SCHEMES if scheme != "equal")
"""The equal split ranks nobody."""
PAIRS = list(combinations(RANKING, 2))

_DECIMALS = 12
"""Equal differences of accuracies differ in the last bits, which would break ties."""
_VALUES = {"accuracy": "the accuracy", "cross-entropy": "minus the mean cross-entropy"}


class Judged(NamedTuple):
    """A round of a method, by seed.

    Attributes:
        place: noise, client count, method and round.
        rows: the participants' rows by seed, where they are there.
        missing: why they are not, by seed.
        cells: what was asked, by seed.
    """

    place: tuple[str, int, str, int]
    rows: dict[int, list[dict[str, str]]]
    missing: dict[int, str]
    cells: dict[int, ContributionCell]


def judged(results: Results, noise: str) -> list[Judged]:
    """The rounds whose participants were judged under a noise: by client count, method and round."""
    found: dict[tuple[str, int, str, int], Judged] = {}
    for cell in results.spec.contributions:
        if cell.noise != noise:
            continue
        place = (cell.noise, cell.clients, cell.method, cell.round)
        one = found.setdefault(place, Judged(place, {}, {}, {}))
        one.cells[cell.seed] = cell
        try:
            rows = read(Path(cell.file))
        except FedsiftError:
            one.missing[cell.seed] = "unreadable" if Path(cell.file).exists() else "not run yet"
            continue
        if rows is None:
            one.missing[cell.seed] = "diverged"
        else:
            one.rows[cell.seed] = rows
    spec = results.spec
    order = {key: place for place, key in enumerate((k, method) for k in spec.clients for method in spec.methods)}
    return [found[place] for place in sorted(found, key=lambda place: (order[place[1:3]], place[3]))]


def rank_correlation(a: np.ndarray, b: np.ndarray) -> float | None:
    """Spearman's rho of two rows of numbers, equal ones at their mean rank; None where either has one value only."""
    first, second = (rankdata(np.round(row, _DECIMALS)) for row in (a, b))
    first, second = first - first.mean(), second - second.mean()
    norm = np.sqrt((first @ first) * (second @ second))
    return float(np.clip(first @ second / norm, -1, 1)) if norm > 0 else None


def agreement(one: Judged, pair: tuple[Scheme, Scheme]) -> Estimate | None:
    """Mean over seeds of the rank correlation between two schemes' contributions; None where no seed has one."""
    found = (
        rank_correlation(*(numbers(rows, f"{scheme}_u") for scheme in pair)) for _, rows in sorted(one.rows.items())
    )
    return estimate([rho for rho in found if rho is not None])


def contributions_table(results: Results, name: TableName) -> Table:
    """A row per client count, method and round; a column per pair of schemes, then participants and seeds."""
    spec, notes = results.spec, Notes()
    found = judged(results, name.noise)
    rows = [(_heading(results, one), _cells(one, notes)) for one in found]
    title = f"{spec.title}: {name.noise}, rank correlation between schemes of contribution"
    heads = [*(f"{first}, {second}" for first, second in PAIRS), "participants", "seeds"]
    remarks = [_about(found[0])] if found else []
    return Table(name, spec.experiment, title, heads, rows, notes.list(*remarks), percent=False, corner="round")


def contributions_csv(results: Results) -> str:
    """One row per participant of every judged round, as its stage has written it; one says `diverged` or why not."""
    rows: list[dict[str, Value]] = []
    for one, place in _everywhere(results):
        for seed in one.cells:
            where: dict[str, Value] = {**place, "seed": seed}
            rows += [{**where, **row} for row in one.rows.get(seed, [])]
            if seed in one.missing:
                rows.append({**where, "status": one.missing[seed]})
    return csv_text((*_PLACE, "seed", *COLUMNS), rows)


def rank_correlations_csv(results: Results) -> str:
    """One row per judged round and pair of schemes: mean over seeds, 95 % interval, seeds, and participants a seed."""
    rows: list[dict[str, Value]] = []
    for one, place in _everywhere(results):
        people = " ".join(str(len(found)) for found in one.rows.values())
        for first, second in PAIRS:
            ours = columns(agreement(one, (first, second)))
            rows.append({**place, "first": first, "second": second, **ours, "participants": people})
    return csv_text((*_PLACE, "first", "second", "mean", "low", "high", "n", "participants"), rows)


_ALIKE = "one of the two schemes gives all participants the same"
_PLACE = ("noise", "clients", "method", "round")


def _everywhere(results: Results) -> Iterator[tuple[Judged, dict[str, Value]]]:
    for noise in results.spec.noises:
        for one in judged(results, noise):
            yield one, dict(zip(_PLACE, one.place, strict=True))


def _heading(results: Results, one: Judged) -> str:
    _, clients, method, round_ = one.place
    return f"{f'{clients} clients, ' if len(results.spec.clients) > 1 else ''}{method}, round {round_}"


def _cells(one: Judged, notes: Notes) -> list[Cell]:
    absent = _fates(one)
    seeds = Line(count(len(one.rows), len(one.cells)), notes.mark(absent))
    people = sorted({len(rows) for rows in one.rows.values()})
    cells: list[Cell] = []
    for pair in PAIRS:
        ours = agreement(one, pair)
        if ours is None:
            why = _ALIKE if one.rows else absent
            cells.append({Kind.MEAN: Line(DASH, notes.mark(why))})
        else:
            some = f"from {ours.n} of {len(one.rows)} seeds: in the others {_ALIKE}"
            fewer = "" if ours.n == len(one.rows) else some
            cells.append({Kind.MEAN: Line(plain(ours, 2), notes.mark(fewer))})
    size = "–".join(map(str, dict.fromkeys([people[0], people[-1]]))) if people else DASH
    return [*cells, {Kind.MEAN: Line(size)}, {Kind.MEAN: seeds}]


def _fates(one: Judged) -> str:
    fates: dict[str, list[int]] = {}
    for seed, fate in one.missing.items():
        fates.setdefault(fate, []).append(seed)
    return "; ".join(f"{_seeds(those)}: {fate}" for fate, those in fates.items())


def _seeds(some: Sequence[int]) -> str:
    return ("seed " if len(some) == 1 else "seeds ") + ", ".join(map(str, some))


def _about(one: Judged) -> str:
    how = next(iter(one.cells.values())).how
    form = f"b − alpha EMD (alpha {how.alpha:g}, b {how.b:g})"
    if how.form == "inverse":
        form = f"alpha / EMD + b (alpha {how.alpha:g}, b {how.b:g})"
    return (
        "Spearman's rank correlation of the participants' contributions, negative ones included: mean over seeds ± "
        f"95 %. Round r begins with the model after r rounds. emd: {form}; the others rest on v(S), "
        f"{_VALUES[how.value]} on the first {how.validation} test images of the average of the updates of S; union: "
        f"in ascending order of the clients; shapley: exact for up to {how.exact_up_to} participants, else from "
        f"{how.permutations} joining orders."
    )
