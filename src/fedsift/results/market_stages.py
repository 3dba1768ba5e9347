"""What was spent in each stage, against the budget that a mechanism with stages has for it (incentive spec, 3)."""

import math

from fedsift.market.stages import Stages
from fedsift.results.collect import Results
from fedsift.results.files import TableName
from fedsift.results.journal import Journal
from fedsift.results.layout import DASH, Cell, Kind, Line, Notes, Table, plain
from fedsift.results.long import Value
from fedsift.results.long import interval as columns
from fedsift.results.long import text as csv_text
from fedsift.results.market import Market, heading, markets
from fedsift.results.statistics import Estimate

_ABOUT = (
    "Mean over seeds ± 95 % of what was paid in the rounds of a stage, in units of the highest bid. What a stage "
    "leaves of its budget is lost. OSPM has no stages: beside it the budgets are only a measure."
)


def rounds_of(stages: Stages, l: int) -> tuple[int, int]:
    """First and last round, counted from 1, of stage ``l``, 1 to L."""
    return (stages.e[l - 2] if l > 1 else 0) + 1, stages.e[l - 1]


def spend(one: Market, stages: Stages, l: int) -> Estimate | None:
    """Mean over seeds of the spend of stage ``l``, 1 to L."""
    first, last = rounds_of(stages, l)

    def of(journal: Journal) -> float:
        inside = journal.hired & (journal.round + 1 >= first) & (journal.round + 1 <= last)
        return math.fsum(journal.price[inside])

    return one.mean(of)


def stages_table(results: Results, name: TableName) -> Table:
    """A row per client count and method, a column per stage, and how many seeds; first the budgets of the stages."""
    spec, notes = results.spec, Notes()
    found = markets(results, name.noise)
    rows: list[tuple[str, list[Cell]]] = []
    for B in dict.fromkeys(one.spec.budget for one in found.values()):
        budgets = [{Kind.MEAN: Line(f"{one:.2f}")} for one in Stages.of(spec.rounds, B).B]
        rows.append((f"budget, B = {B:g}", [*budgets, {Kind.MEAN: Line("")}]))
    for key, one in found.items():
        stages = Stages.of(spec.rounds, one.spec.budget)
        cells: list[Cell] = []
        for l in range(1, stages.L + 1):
            ours = spend(one, stages, l)
            line = Line(plain(ours, 2)) if ours else Line(DASH, notes.mark(one.why))
            cells.append({Kind.MEAN: line})
        rows.append((heading(results, key), [*cells, one.seeds(notes)]))
    stages = Stages.of(spec.rounds, 1)
    heads = [_head(*rounds_of(stages, l)) for l in range(1, stages.L + 1)]
    title = f"{spec.title}: {name.noise}, spend by stage"
    return Table(
        name, spec.experiment, title, [*heads, "seeds"], rows, notes.list(_ABOUT), percent=False, corner="method"
    )


def stages_csv(results: Results) -> str:
    """One row per cell and stage: its rounds (from 1), its budget, and the mean over seeds of what was spent."""
    rows: list[dict[str, Value]] = []
    for key, one in markets(results).items():
        stages = Stages.of(results.spec.rounds, one.spec.budget)
        for l in range(1, stages.L + 1):
            first, last = rounds_of(stages, l)
            place = {"stage": l, "first_round": first, "last_round": last, "budget": stages.B[l - 1]}
            rows.append({**key._asdict(), **place, **columns(spend(one, stages, l))})
    names = ("stage", "first_round", "last_round", "budget", "mean", "low", "high", "n")
    return csv_text(("noise", "clients", "method", *names), rows)


def _head(first: int, last: int) -> str:
    return f"round {first}" if first == last else f"{first}–{last}"
