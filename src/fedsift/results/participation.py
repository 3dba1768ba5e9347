"""Who takes part: clients that train, models that are averaged or refused, traffic, and how far clients pull apart."""

from collections.abc import Callable, Mapping

import numpy as np

from fedsift.results.collect import Key, Results
from fedsift.results.files import TableName
from fedsift.results.layout import DASH, Cell, Kind, Line, Notes, Table, count, interval, plain, why
from fedsift.results.long import Value
from fedsift.results.long import interval as columns
from fedsift.results.long import text as csv_text
from fedsift.results.runs import DIVERGENCE, Run
from fedsift.results.statistics import Estimate, estimate

COUNTED = (
    "Counted are models, not bytes: every client that trains in a round receives one and sends one, also where the "
    "server refuses it. Not counted: clients without anything to train on, models of clients that only send other "
    "things, and what a method sends besides models (label counts, shared samples, signals)."
)


def _refused(run: Run) -> float | None:
    """Mean of q_t / m over the rounds in which anyone trained (EMFedAvg spec, 4)."""
    some = run.clients > 0
    return float(np.mean(1 - run.averaged[some] / run.clients[some])) if some.any() else None


def _divergence(run: Run) -> float | None:
    """Mean of w_d over the rounds in which it was logged (EMFedAvg spec, 3)."""
    logged = run.columns[DIVERGENCE][~np.isnan(run.columns[DIVERGENCE])]
    return float(logged.mean()) if len(logged) else None


QUANTITIES: Mapping[str, Callable[[Run], float | None]] = {
    "clients_per_round": lambda run: float(run.clients.mean()),
    "averaged_per_round": lambda run: float(run.averaged.mean()),
    "refused_share": _refused,
    "models_received": lambda run: float(run.clients.sum()),
    "models_sent": lambda run: float(run.clients.sum()),
    DIVERGENCE: _divergence,
}
"""Figures of a run; received and sent are the clients' view, over all rounds."""

_HEADS = {
    "clients_per_round": "trained per round",
    "averaged_per_round": "averaged per round",
    "refused_share": "refused (q_t / m), %",
    "models_received": "models received",
    "models_sent": "models sent",
    DIVERGENCE: "weight divergence",
}
_DIGITS = {"models_received": 0, "models_sent": 0, DIVERGENCE: 4}
_COLUMNS = ("noise", "clients", "method", "quantity", "mean", "low", "high", "n")


def tells(results: Results, noise: str) -> bool:
    """Whether there is anything to tell: a run under a noise has refused a model or has a weight divergence."""
    runs = (run for key in results.grid(noise) for run in results.group(key).runs.values())
    return any((run.averaged != run.clients).any() or _divergence(run) is not None for run in runs)


def participation_table(results: Results, name: TableName) -> Table:
    """A row per method, a column per quantity, and how many seeds there are."""
    spec, notes = results.spec, Notes()
    keys = [Key(name.noise, name.clients or 0, method) for method in results.methods(name.noise)]
    logged = any(_estimate(results, key, DIVERGENCE) for key in keys)
    quantities = [quantity for quantity in QUANTITIES if quantity != DIVERGENCE or logged]
    rows = [(key.method, _cells(results, key, quantities, notes)) for key in keys]
    title = f"{spec.title}: {name.noise}, {name.clients} clients, participation and traffic"
    heads = [*(_HEADS[quantity] for quantity in quantities), "seeds"]
    return Table(name, spec.experiment, title, heads, rows, notes.list(COUNTED), percent=False, corner="method")


def participation_csv(results: Results) -> str:
    """One row per cell and quantity; no rows for a noise of which there is nothing to tell."""
    rows: list[dict[str, Value]] = []
    for noise in [noise for noise in results.spec.noises if tells(results, noise)]:
        for key in results.grid(noise):
            rows += [
                {**key._asdict(), "quantity": quantity, **columns(_estimate(results, key, quantity))}
                for quantity in QUANTITIES
            ]
    return csv_text(_COLUMNS, rows)


def _estimate(results: Results, key: Key, quantity: str) -> Estimate | None:
    values = (QUANTITIES[quantity](run) for run in results.group(key).runs.values())
    return estimate([value for value in values if value is not None])


def _cells(results: Results, key: Key, quantities: list[str], notes: Notes) -> list[Cell]:
    group, seeds = results.group(key), results.spec.seeds
    absent = why(group, seeds)
    cells: list[Cell] = []
    for quantity in quantities:
        ours = _estimate(results, key, quantity)
        if ours is None:
            cells.append({Kind.MEAN: Line(DASH, notes.mark("not logged" if group.runs else absent))})
        else:
            text = interval(ours) if quantity == "refused_share" else plain(ours, _DIGITS.get(quantity, 1))
            cells.append({Kind.MEAN: Line(text)})
    return [*cells, {Kind.MEAN: Line(count(len(group.runs), len(seeds)), notes.mark(absent))}]
