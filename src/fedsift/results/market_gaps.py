"""By how much the first method that hires is ahead of the others, beside the paper's gaps (IAOFL paper, Figs. 3, 4)."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from fedsift.results.collect import Key, Results
from fedsift.results.files import TableName
from fedsift.results.layout import DASH, Cell, Kind, Line, Notes, Table, count, interval, printed_lines, why
from fedsift.results.long import Value, printed
from fedsift.results.long import interval as columns
from fedsift.results.long import text as csv_text
from fedsift.results.market_free_riders import ENDS, shares
from fedsift.results.reference import Gap as PrintedGap
from fedsift.results.runs import At
from fedsift.results.statistics import paired
from fedsift.results.verdicts import Comparison, Verdict, compare, judge

MEAN = "mean over free riders"
"""The column of the mean over all noises with free riders that differ in their share alone."""
_METRIC = "accuracy"
_COLUMNS = (
    *("clients", "method", "against", "noise", "at", "mean", "low", "high", "n"),
    *("paper", "paper_source", "difference", "verdict", "claim_verdict", "claim_reason", "note"),
)


@dataclass(frozen=True)
class Gap:
    """Ours of one method over another, paired by seed, and the paper's."""

    clients: int
    method: str
    against: str
    column: str
    """A noise, or ``MEAN``."""
    at: At
    compared: Comparison
    claim: Verdict | None
    """Whether the sign of the paper's gap holds; None where it prints none."""
    reason: str
    """Why the sign cannot be told."""

    @property
    def note(self) -> str:
        """What is uncertain in the paper's gap."""
        return (self.compared.printed and self.compared.printed.note) or ""


def gaps(results: Results, clients: int) -> Iterator[Gap]:
    """Of the experiment's first method that hires over every other one, at the last and at the best round."""
    first, *others = results.spec.market
    for at in ENDS:
        for against in others:
            for column, noises in _noises(results).items():
                yield _gap(results, clients, first, against, column, noises, at)


def gaps_table(results: Results, name: TableName) -> Table:
    """A row per other method and end, a column per noise and one of their mean."""
    spec, notes, clients = results.spec, Notes(), name.clients or 0
    rows: dict[str, list[Cell]] = {}
    for gap in gaps(results, clients):
        row = f"{gap.method} over {gap.against}, {gap.at} round"
        rows.setdefault(row, []).append(_cell(results, gap, notes))
    title = f"{spec.title}: {clients} clients, accuracy of {next(iter(spec.market))} over the others"
    about = "Differences are paired by seed."
    if MEAN in _noises(results):
        about += f" {MEAN.capitalize()}: the noises that differ in the share of free riders alone, but for 0 %."
    return Table(name, spec.experiment, title, [*_noises(results)], [*rows.items()], notes.list(about), corner="gap")


def gaps_csv(results: Results) -> str:
    """One row per client count, pair of methods, noise (or their mean) and end."""
    rows: list[dict[str, Value]] = []
    for clients in results.spec.clients:
        for gap in gaps(results, clients):
            rows.append(
                {
                    **{"clients": clients, "method": gap.method, "against": gap.against, "noise": gap.column},
                    **{"at": gap.at, **columns(gap.compared.ours), **printed(gap.compared)},
                    **{"claim_verdict": gap.claim and str(gap.claim), "claim_reason": gap.reason, "note": gap.note},
                }
            )
    return csv_text(_COLUMNS, rows)


def _noises(results: Results) -> dict[str, list[str]]:
    """The noises of each column."""
    found = {noise: [noise] for noise in results.spec.noises}
    with_free_riders = [noise for noise, share in shares(results).items() if share > 0]
    return found | ({MEAN: with_free_riders} if len(with_free_riders) > 1 else {})


def _gap(results: Results, clients: int, method: str, against: str, column: str, noises: list[str], at: At) -> Gap:
    ours = paired(
        _by_seed(results, [Key(noise, clients, method) for noise in noises], at),
        _by_seed(results, [Key(noise, clients, against) for noise in noises], at),
    )
    entry = _find(results, clients, method, against, None if column == MEAN else column, at)
    compared = compare(ours, entry, results.spec.margin, results.comparable)
    if entry is None:
        return Gap(clients, method, against, column, at, compared, None, "")
    wanted: Literal["above", "below"] = "above" if entry.value > 0 else "below"
    return Gap(clients, method, against, column, at, compared, *judge(ours, wanted, results.comparable))


def _by_seed(results: Results, keys: list[Key], at: At) -> dict[int, float]:
    """Mean accuracy over the cells, of every seed that all of them have."""
    found = [results.group(key).by_seed(_METRIC, at) for key in keys]
    seeds = set(found[0]).intersection(*found)
    return {seed: math.fsum(one[seed] for one in found) / len(found) for seed in sorted(seeds)}


def _find(results: Results, clients: int, method: str, against: str, noise: str | None, at: At) -> PrintedGap | None:
    reference = results.reference
    wanted = (results.spec.dataset, noise, clients, reference.printed_name(method), reference.printed_name(against), at)
    for entry in reference.gaps:
        if wanted == (entry.dataset, entry.noise, entry.clients, entry.method, entry.against, entry.at):
            return entry
    return None


def _cell(results: Results, gap: Gap, notes: Notes) -> Cell:
    ours, seeds = gap.compared.ours, results.spec.seeds
    cell: dict[Kind, Line] = {}
    if ours is None:
        cell[Kind.DIFFERENCE] = Line(DASH, notes.mark(_absent(results, gap)))
    else:
        cell[Kind.DIFFERENCE] = Line(interval(ours, signed=True))
        cell[Kind.SEEDS] = Line(count(ours.n, len(seeds)), notes.mark(_absent(results, gap)))
    cell |= dict(printed_lines(gap.compared, Kind.PAPER_GAIN, Kind.GAIN_VERDICT, [gap.note] if gap.note else [], notes))
    if gap.claim is not None:
        cell[Kind.CLAIM_VERDICT] = Line(str(gap.claim), notes.mark(gap.reason))
    return cell


def _absent(results: Results, gap: Gap) -> str:
    """Which runs are missing and why, each fate once."""
    fates = (
        f"{method}: {fate}"
        for method in (gap.method, gap.against)
        for noise in _noises(results)[gap.column]
        if (fate := why(results.group(Key(noise, gap.clients, method)), results.spec.seeds))
    )
    return "; ".join(dict.fromkeys(fates))
