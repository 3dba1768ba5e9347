"""Accuracy by round, as a paper prints it: after so many rounds."""

from fedsift.results.collect import Key, Results
from fedsift.results.files import TableName
from fedsift.results.layout import DASH, Cell, Kind, Line, Notes, Table, count, interval, percent, why
from fedsift.results.long import Value, printed, text
from fedsift.results.long import interval as columns

MOST = 11
"""Columns of a table; the CSV has every evaluation."""

_METRIC = "accuracy"
_COLUMNS = (
    *("noise", "clients", "method", "after_rounds", "mean", "low", "high", "n"),
    *("paper", "paper_source", "difference", "verdict"),
)


def evaluations(results: Results, noise: str, clients: int) -> list[int]:
    """After how many rounds any run was tested, ascending."""
    groups = (results.group(key) for key in results.grid(noise) if key.clients == clients)
    return sorted({int(at) + 1 for group in groups for run in group.runs.values() for at in run.evaluated})


def chosen(afters: list[int], most: int = MOST) -> list[int]:
    """At most so many of them, evenly from the first to the last."""
    if len(afters) <= most:
        return afters
    return [afters[round(place * (len(afters) - 1) / (most - 1))] for place in range(most)]


def by_round_table(results: Results, name: TableName) -> Table:
    """A row per method, a column per evaluation, and how many seeds there are."""
    spec, notes = results.spec, Notes()
    clients = name.clients or 0
    afters = evaluations(results, name.noise, clients)
    shown = chosen(afters)
    rows = [
        (method, _cells(results, Key(name.noise, clients, method), shown, notes))
        for method in results.methods(name.noise)
    ]
    fewer = "" if shown == afters else f"{len(shown)} of {len(afters)} evaluations; rounds.csv has all."
    title = f"{spec.title}: {name.noise}, {clients} clients, accuracy after so many rounds"
    heads = [*map(str, shown), "seeds"]
    return Table(name, spec.experiment, title, heads, rows, notes.list(fewer), corner="method")


def rounds_csv(results: Results) -> str:
    """One row per cell and evaluation: mean over seeds of the test accuracy, and the paper's number for that round."""
    rows: list[dict[str, Value]] = []
    for noise in results.spec.noises:
        afters = {clients: evaluations(results, noise, clients) for clients in results.spec.clients}
        for key in results.grid(noise):
            for after in afters[key.clients]:
                value = results.value(key, _METRIC, after)
                rows.append({**key._asdict(), "after_rounds": after, **columns(value.ours), **printed(value)})
    return text(_COLUMNS, rows)


def _cells(results: Results, key: Key, shown: list[int], notes: Notes) -> list[Cell]:
    group, seeds = results.group(key), results.spec.seeds
    absent = why(group, seeds)
    cells = [_cell(results, key, after, absent, notes) for after in shown]
    return [*cells, {Kind.MEAN: Line(count(len(group.runs), len(seeds)), notes.mark(absent))}]


def _cell(results: Results, key: Key, after: int, absent: str, notes: Notes) -> Cell:
    value, n = results.value(key, _METRIC, after), len(results.group(key).runs)
    if value.ours is None:
        cell = {Kind.MEAN: Line(DASH, notes.mark("no seed was tested in this round" if n else absent))}
    else:
        fewer = "" if value.ours.n == n else f"tested in this round: {value.ours.n} of {n} seeds"
        cell = {Kind.MEAN: Line(interval(value.ours), notes.mark(fewer))}
    if value.printed is None:
        return cell
    difference = "" if value.difference is None else f" ({percent(value.difference, signed=True)})"
    remarks = " ".join(results.notes(key, _METRIC, after, "value"))
    cell[Kind.PAPER] = Line(percent(value.printed.value) + difference, notes.mark(remarks))
    cell[Kind.VERDICT] = Line(str(value.verdict))
    return cell
