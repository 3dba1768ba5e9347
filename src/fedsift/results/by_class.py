"""How well each class is recognised at the last round."""

import numpy as np

from fedsift.results.collect import Key, Results
from fedsift.results.files import TableName
from fedsift.results.layout import DASH, Cell, Kind, Line, Notes, Table, count, interval, why
from fedsift.results.long import Value, text
from fedsift.results.long import interval as columns
from fedsift.results.statistics import Estimate, estimate

MOST = 12
"""With more classes there is neither table nor figure; the CSV has them all."""

_COLUMNS = ("noise", "clients", "method", "class", "mean", "low", "high", "n")


def classes(results: Results, noise: str) -> int:
    """How many classes the histories of a noise tell of; 0 without a run."""
    groups = (results.group(key) for key in results.grid(noise))
    return max((run.class_recall.shape[1] for group in groups for run in group.runs.values()), default=0)


def shown(results: Results, noise: str) -> bool:
    """Whether there are classes, and not too many to be shown."""
    return 0 < classes(results, noise) <= MOST


def recall(results: Results, key: Key, label: int) -> Estimate | None:
    """Mean over seeds of a class's recall at the last round; None where no run has it."""
    last = (run.class_recall[-1] for run in results.group(key).runs.values())
    values = [float(row[label]) for row in last if label < len(row)]
    return estimate([value for value in values if not np.isnan(value)])


def by_class_table(results: Results, name: TableName) -> Table:
    """A row per method, a column per class, and how many seeds there are; empty with too many classes."""
    spec, notes = results.spec, Notes()
    clients, size = name.clients or 0, classes(results, name.noise)
    labels = range(size if size <= MOST else 0)
    rows = []
    for method in results.methods(name.noise):
        key = Key(name.noise, clients, method)
        group = results.group(key)
        found = [recall(results, key, label) for label in labels]
        absent = why(group, spec.seeds)
        none = "no test sample of this class" if group.runs else absent
        cells: list[Cell] = [
            {Kind.MEAN: Line(interval(ours)) if ours else Line(DASH, notes.mark(none))} for ours in found
        ]
        seeds = Line(count(len(group.runs), len(spec.seeds)), notes.mark(absent))
        rows.append((method, [*cells, {Kind.MEAN: seeds}]))
    many = f"{size} classes are too many for a table; classes.csv has them." if size > MOST else ""
    title = f"{spec.title}: {name.noise}, {clients} clients, recall of each class at the last round"
    heads = [*(f"class {label}" for label in labels), "seeds"]
    return Table(name, spec.experiment, title, heads, rows, notes.list(many), corner="method")


def classes_csv(results: Results) -> str:
    """One row per cell and class: mean over seeds of its recall at the last round."""
    rows: list[dict[str, Value]] = []
    for noise in results.spec.noises:
        for key in results.grid(noise):
            rows += [
                {**key._asdict(), "class": label, **columns(recall(results, key, label))}
                for label in range(classes(results, noise))
            ]
    return text(_COLUMNS, rows)
