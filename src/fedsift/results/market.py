"""What methods that hire have bought: clients per round, at what price, of what quality (incentive spec, 2 to 4)."""

import csv
import io
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from fedsift.data.noises.behaviour import HONEST, MISLABELLED
from fedsift.results.collect import Key, Results
from fedsift.results.files import TableName
from fedsift.results.journal import BEHAVIOURS, COLUMNS, Journal, read_journal
from fedsift.results.layout import DASH, Cell, Kind, Line, Notes, Table, count, interval, plain
from fedsift.results.long import Value
from fedsift.results.long import interval as columns
from fedsift.results.long import text as csv_text
from fedsift.results.statistics import Estimate, estimate
from fedsift.specs import MarketSpec

Quantity = Callable[[Journal], float | None]


@dataclass
class Market:
    """The journals of a method under one noise and client count, by seed, and why others are missing."""

    spec: MarketSpec
    journals: dict[int, Journal] = field(default_factory=dict)
    missing: dict[int, str] = field(default_factory=dict)

    def mean(self, quantity: Quantity) -> Estimate | None:
        """Mean over the seeds that have the figure."""
        values = (quantity(journal) for journal in self.journals.values())
        return estimate([value for value in values if value is not None])

    @property
    def why(self) -> str:
        """Which seeds are missing and why; seeds with the same fate together."""
        fates: dict[str, list[int]] = {}
        for seed, fate in self.missing.items():
            fates.setdefault(fate, []).append(seed)
        return "; ".join(
            f"{'seed' if len(those) == 1 else 'seeds'} {', '.join(map(str, those))}: {fate}"
            for fate, those in fates.items()
        )

    def seeds(self, notes: Notes) -> Cell:
        """How many seeds there are."""
        there = len(self.journals)
        return {Kind.MEAN: Line(count(there, there + len(self.missing)), notes.mark(self.why))}


# Of every run there are tens of thousands of bids, which five tables and the figures look at.
_READ: WeakKeyDictionary[Results, dict[Key, Market]] = WeakKeyDictionary()


def markets(results: Results, noise: str | None = None) -> dict[Key, Market]:
    """The methods that hire, by cell, in the specification's order; those of one noise where it is given."""
    if results not in _READ:
        _READ[results] = dict(_read(results))
    return {key: market for key, market in _READ[results].items() if noise in (None, key.noise)}


def _read(results: Results) -> Iterator[tuple[Key, Market]]:
    for key in results.grid():
        group = results.group(key)
        if key.method not in results.spec.market or not (group.runs or group.missing):
            continue
        market = Market(results.spec.market[key.method])
        for seed in results.spec.seeds:
            if seed in group.runs:
                found = read_journal(group.runs[seed], market.spec)
                if isinstance(found, Journal):
                    market.journals[seed] = found
                else:
                    market.missing[seed] = found
            elif seed in group.missing:
                market.missing[seed] = group.missing[seed].short
        yield key, market


def _mean(values: NDArray[np.float64]) -> float | None:
    return float(values.mean()) if len(values) else None


def _quality(behaviour: str) -> Quantity:
    return lambda one: _mean(one.quality[~np.isnan(one.quality) & (one.behaviour == behaviour)])


QUANTITIES: Mapping[str, Quantity] = {
    "hired_per_round": lambda one: float(one.hired.sum()) / one.T,
    "rounds_trained": lambda one: len(np.unique(one.round[one.hired])) / one.T,
    "spend": lambda one: math.fsum(one.price[one.hired]),
    "price": lambda one: _mean(one.price[one.hired]),
    "price_minus_bid": lambda one: _mean((one.price - one.b)[one.hired]),
    **{f"quality_{behaviour.replace('-', '_')}": _quality(behaviour) for behaviour in BEHAVIOURS},
}
"""Figures of a run. Rounds in which nobody was hired count; the others are means over hires, or over the q_i^t of all
rounds by the behaviour of the client."""
_SPENT = "spend_share"
"""Spend as a share of B."""
_HEADS = {
    "hired_per_round": "hired per round",
    "rounds_trained": "rounds trained, %",
    "spend": "spend",
    _SPENT: "of B, %",
    "price": "mean price",
    "price_minus_bid": "price above bid",
    f"quality_{HONEST}": "quality, honest",
    "quality_free_rider": "quality, free riders",
    f"quality_{MISLABELLED}": "quality, mislabelled",
}
_DIGITS = {"hired_per_round": 2, "spend": 1}
_PLACE = ("noise", "clients", "method")


def heading(results: Results, key: Key) -> str:
    """Name of the row of a cell."""
    return f"{f'{key.clients} clients, ' if len(results.spec.clients) > 1 else ''}{key.method}"


def market_table(results: Results, name: TableName) -> Table:
    """A row per client count and method, a column per figure, and how many seeds there are."""
    spec, notes = results.spec, Notes()
    rows = [(heading(results, key), _cells(one, notes)) for key, one in markets(results, name.noise).items()]
    budgets = "; ".join(dict.fromkeys(f"{one.budget:g}" for one in spec.market.values()))
    about = (
        f"B is {budgets}. Prices are means over all hires, rounds without hires count in the first two columns, and "
        "quality is the mean of q_i^t over all rounds in which a client was judged."
    )
    title = f"{spec.title}: {name.noise}, the market"
    heads = [*_HEADS.values(), "seeds"]
    return Table(name, spec.experiment, title, heads, rows, notes.list(about), percent=False, corner="method")


def market_csv(results: Results) -> str:
    """One row per bid of every run, with all digits; one row that says why where a run has no journal."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    names = COLUMNS[2:]
    writer.writerow([*_PLACE, "seed", "status", "round", "client", "behaviour", *names])
    for key, one in markets(results).items():
        for seed in sorted(one.journals.keys() | one.missing.keys()):
            if seed in one.missing:
                writer.writerow([*key, seed, one.missing[seed], *[""] * (len(names) + 3)])
                continue
            journal = one.journals[seed]
            numbers = [getattr(journal, name).tolist() for name in names]
            for round_, client, behaviour, *row in zip(
                journal.round.tolist(), journal.client.tolist(), journal.behaviour, *numbers, strict=True
            ):
                shown = ["" if math.isnan(value) else value for value in row]
                writer.writerow([*key, seed, "ok", round_, client, behaviour, *shown])
    return buffer.getvalue()


def market_summary_csv(results: Results) -> str:
    """One row per cell and figure: mean over seeds, 95 % interval, seeds."""
    rows: list[dict[str, Value]] = []
    for key, one in markets(results).items():
        for quantity in _HEADS:
            ours = columns(one.mean(_of(one.spec, quantity)))
            rows.append({**key._asdict(), "budget": one.spec.budget, "quantity": quantity, **ours})
    return csv_text((*_PLACE, "budget", "quantity", "mean", "low", "high", "n"), rows)


def _of(spec: MarketSpec, quantity: str) -> Quantity:
    if quantity == _SPENT:
        return lambda one: math.fsum(one.price[one.hired]) / spec.budget
    return QUANTITIES[quantity]


def _cells(one: Market, notes: Notes) -> list[Cell]:
    cells: list[Cell] = []
    for quantity in _HEADS:
        ours = one.mean(_of(one.spec, quantity))
        if ours is None:
            cells.append({Kind.MEAN: Line(DASH, notes.mark(_absent(one, quantity)))})
        else:
            share = quantity in ("rounds_trained", _SPENT)
            text = interval(ours) if share else plain(ours, _DIGITS.get(quantity, 3))
            fewer = "" if ours.n == len(one.journals) else f"from {ours.n} of {len(one.journals)} seeds"
            cells.append({Kind.MEAN: Line(text, notes.mark(fewer))})
    return [*cells, one.seeds(notes)]


def _absent(one: Market, quantity: str) -> str:
    if not one.journals:
        return one.why
    if not quantity.startswith("quality"):
        return "nobody was hired"
    return "no such client was judged" if one.spec.judges else "the method does not judge"
