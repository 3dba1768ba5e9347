"""Accuracy by the share of free riders (IAOFL paper, Fig. 3): noises that differ in nothing else, side by side."""

from typing import Final

from fedsift.results.collect import Key, Results
from fedsift.results.files import TableName
from fedsift.results.layout import DASH, Cell, Kind, Line, Notes, Table, interval, why
from fedsift.results.long import Value
from fedsift.results.long import interval as columns
from fedsift.results.long import text as csv_text
from fedsift.results.runs import At

ENDS: Final[tuple[At, ...]] = ("last", "best")
_METRIC = "accuracy"


def shares(results: Results) -> dict[str, float]:
    """Share of free riders by noise, ascending."""
    return dict(sorted(results.spec.free_riders.items(), key=lambda one: one[1]))


def free_riders_table(results: Results, name: TableName) -> Table:
    """A row per method and end (last round, best round), a column per share of free riders."""
    spec, notes, clients = results.spec, Notes(), name.clients or 0
    found = shares(results)
    rows = [
        (f"{method}, {at} round", [_cell(results, Key(noise, clients, method), at, notes) for noise in found])
        for at in ENDS
        for method in spec.methods
    ]
    heads = [f"{100 * share:g} %" for share in found.values()]
    title = f"{spec.title}: {clients} clients, accuracy by share of free riders"
    return Table(name, spec.experiment, title, heads, rows, notes.list(), corner="method")


def free_riders_csv(results: Results) -> str:
    """One row per client count, method, share and end: mean over seeds of the test accuracy."""
    rows: list[dict[str, Value]] = []
    for clients in results.spec.clients:
        for method in results.spec.methods:
            for noise, share in shares(results).items():
                key = Key(noise, clients, method)
                rows += [
                    {**key._asdict(), "free_riders": share, "at": at, **columns(results.value(key, _METRIC, at).ours)}
                    for at in ENDS
                ]
    return csv_text(("clients", "method", "noise", "free_riders", "at", "mean", "low", "high", "n"), rows)


def _cell(results: Results, key: Key, at: At, notes: Notes) -> Cell:
    ours, absent = results.value(key, _METRIC, at).ours, why(results.group(key), results.spec.seeds)
    return {Kind.MEAN: Line(interval(ours) if ours else DASH, notes.mark(absent))}
