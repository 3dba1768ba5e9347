"""Does screening find the bad clients? Flags against behaviour, early and late (incentive spec, 4 and 10)."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from fedsift.data.noises.behaviour import FREE_RIDER, HONEST, MISLABELLED
from fedsift.results.collect import Results
from fedsift.results.files import TableName
from fedsift.results.journal import Journal
from fedsift.results.layout import DASH, Cell, Kind, Line, Notes, Table, interval, plain
from fedsift.results.long import Value
from fedsift.results.long import interval as columns
from fedsift.results.long import text as csv_text
from fedsift.results.market import Market, Quantity, heading, markets
from fedsift.results.statistics import Estimate

Mask = NDArray[np.bool_]

SPANS: Mapping[str, Callable[[Journal], Mask]] = {
    "all rounds": lambda one: np.ones(len(one.round), bool),
    "first half": lambda one: 2 * one.round < one.T,
    "second half": lambda one: 2 * one.round >= one.T,
}


def _bad(one: Journal) -> Mask:
    return np.asarray(one.behaviour != HONEST)


def _is(behaviour: str) -> Callable[[Journal], Mask]:
    return lambda one: np.asarray(one.behaviour == behaviour)


def _flagged(one: Journal) -> Mask:
    return np.asarray(one.flagged == 1)


Shares = tuple[Callable[[Journal], Mask], Callable[[Journal], Mask]]
QUANTITIES: Mapping[str, Shares] = {
    "precision": (_bad, _flagged),
    "recall": (_flagged, _bad),
    "recall_free_riders": (_flagged, _is(FREE_RIDER)),
    "recall_mislabelled": (_flagged, _is(MISLABELLED)),
}
"""Each is the share of the first among the second, of all that were judged, a client as often as it was."""
_COUNTS: Mapping[str, Callable[[Journal], Mask]] = {"judged": lambda one: one.judged, "flagged": _flagged}
_HEADS = {
    "precision": "precision",
    "recall": "recall",
    "recall_free_riders": "recall, free riders",
    "recall_mislabelled": "recall, mislabelled",
    "judged": "judged",
    "flagged": "flagged",
}
_ABOUT = (
    "Per cent of the judged, each client as often as it was judged. Precision: of the flagged, those that free-ride or "
    "hold wrong labels; recall: of these, the flagged. judged and flagged are counts of a run."
)


def figure(one: Market, quantity: str, span: str) -> Estimate | None:
    """Mean over seeds of a share or a count; None of a method that does not screen, and where a share has no whole."""
    return one.mean(_of(quantity, span)) if one.spec.screens else None


def screening_table(results: Results, name: TableName) -> Table:
    """Three rows per client count and method: all rounds, the first half, the second half."""
    spec, notes = results.spec, Notes()
    rows = [
        (f"{heading(results, key)}, {span}", _cells(one, span, notes))
        for key, one in markets(results, name.noise).items()
        for span in SPANS
        if one.spec.screens or span == "all rounds"
    ]
    title = f"{spec.title}: {name.noise}, screening"
    heads = [*_HEADS.values(), "seeds"]
    return Table(name, spec.experiment, title, heads, rows, notes.list(_ABOUT), percent=False, corner="method")


def screening_csv(results: Results) -> str:
    """One row per cell, span of rounds and figure; without a mean for methods that do not screen."""
    rows: list[dict[str, Value]] = [
        {**key._asdict(), "rounds": span, "quantity": quantity, **columns(figure(one, quantity, span))}
        for key, one in markets(results).items()
        for span in SPANS
        for quantity in _HEADS
    ]
    return csv_text(("noise", "clients", "method", "rounds", "quantity", "mean", "low", "high", "n"), rows)


def _of(quantity: str, span: str) -> Quantity:
    def share(one: Journal) -> float | None:
        part, whole = QUANTITIES[quantity]
        there = one.judged & SPANS[span](one) & whole(one)
        return float(part(one)[there].mean()) if there.any() else None

    def number(one: Journal) -> float:
        return float((one.judged & SPANS[span](one) & _COUNTS[quantity](one)).sum())

    return number if quantity in _COUNTS else share


def _cells(one: Market, span: str, notes: Notes) -> list[Cell]:
    cells: list[Cell] = []
    for quantity in _HEADS:
        ours = figure(one, quantity, span)
        if ours is None:
            cells.append({Kind.MEAN: Line(DASH, notes.mark(_absent(one, quantity)))})
        else:
            text = plain(ours, 1) if quantity in _COUNTS else interval(ours)
            fewer = "" if ours.n == len(one.journals) else f"from {ours.n} of {len(one.journals)} seeds"
            cells.append({Kind.MEAN: Line(text, notes.mark(fewer))})
    return [*cells, one.seeds(notes)]


def _absent(one: Market, quantity: str) -> str:
    if not one.spec.screens:
        return "the method does not screen"
    if not one.journals:
        return one.why
    return "nobody was flagged" if quantity == "precision" else "no such client was judged"
