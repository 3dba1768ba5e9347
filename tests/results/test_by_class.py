"""Recall of each class."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedsift.results.by_class import classes_csv
from fedsift.results.collect import Results, collect
from fedsift.results.figures import classes_figure
from fedsift.results.files import TableName
from fedsift.results.layout import Kind
from fedsift.results.overview import overview
from fedsift.results.reference import Reference
from fedsift.results.style import drawing
from fedsift.results.table import build
from fedsift.specs import TableSpec

NAME = TableName("closed-set", "class-recall", clients=1000)


def results(made: Any, spec: TableSpec) -> Results:
    return collect(spec, Path("state"), Reference.load(made.reference, spec.paper))


def many(made: Any) -> TableSpec:
    """One run with 13 classes."""
    spec: TableSpec = made.spec(rounds=1, seeds=[0], methods=["fedavg"])
    made.history(spec.cells[0].phases[0], [made.row(0, 0.5, class_recall=" ".join(["0.5"] * 13))])
    return spec


def test_a_row_per_method_and_a_column_per_class(made: Any) -> None:
    one = build(results(made, made.finished()), NAME)
    assert one.columns == ["class 0", "class 1", "class 2", "seeds"]
    label, cells = one.rows[0]
    assert (label, [cell[Kind.MEAN].text for cell in cells]) == ("fedavg", ["39.00 ± 2.48", "–", "100.00 ± 0.00", "3"])
    assert dict(one.notes)[cells[1][Kind.MEAN].mark] == "no test sample of this class"


def test_the_csv(made: Any) -> None:
    found = list(csv.DictReader(io.StringIO(classes_csv(results(made, made.finished())))))
    assert [(row["method"], row["class"], row["n"]) for row in found[:3]] == [
        *[("fedavg", "0", "3"), ("fedavg", "1", "0"), ("fedavg", "2", "3")]
    ]
    assert float(found[0]["mean"]) == pytest.approx(0.39)
    assert float(found[0]["high"]) - 0.39 == pytest.approx(4.302653 * 0.01 / 3**0.5, abs=1e-7)


def test_the_figure_has_a_point_per_class_and_method(made: Any) -> None:
    with drawing():
        (axes,) = classes_figure(results(made, made.finished()), "closed-set").axes
    points = [container.lines[0] for container in axes.containers]
    assert sorted(float(np.asarray(line.get_ydata())[0]) for line in points) == pytest.approx([39, 44, 100, 100])
    assert [round(float(np.asarray(line.get_xdata())[0])) for line in points] == [0, 2, 0, 2]


def test_many_classes_are_in_the_csv_alone(made: Any) -> None:
    found = results(made, many(made))
    one = build(found, NAME)
    assert (one.columns, one.notes) == (["seeds"], [("", "13 classes are too many for a table; classes.csv has them.")])
    assert classes_csv(found).count("\n") == 14
    with drawing():
        (axes,) = classes_figure(found, "closed-set").axes
    assert "see classes.csv" in [text.get_text() for text in axes.texts]
    (noise,) = overview(found).noises
    assert [stem for stem in noise.details if "class" in stem] == []
    assert len(noise.figures) == 2


def test_an_unfinished_experiment_shows_none_of_it(made: Any) -> None:
    (noise,) = overview(results(made, made.spec())).noises
    assert noise.details == []
    assert len(noise.figures) == 2
