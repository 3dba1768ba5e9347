"""What the figures show."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

from fedsift.results.collect import collect
from fedsift.results.figures import clients_figure, rounds_figure
from fedsift.results.reference import Reference
from fedsift.results.style import drawing, looks
from fedsift.specs import TableSpec

ELEVEN = ["fedavg", *(f"m{index}" for index in range(10))]


def results(made: Any, spec: TableSpec) -> Any:
    return collect(spec, Path("state"), Reference.load(made.reference, spec.paper))


def test_lines_are_means_and_bands_intervals(made: Any) -> None:
    with drawing():
        (axes,) = rounds_figure(results(made, made.finished()), "closed-set").axes
    curves = [line for line in axes.lines if len(line.get_xdata()) == 4]
    means = sorted(float(np.asarray(line.get_ydata())[2]) for line in curves)
    assert means == pytest.approx([41, 46])
    assert len(axes.collections) == 2
    assert [text.get_text() for text in axes.texts] == [" selection from 2"]


def test_one_panel_per_client_count_and_a_sentence_where_nothing_is_done(made: Any) -> None:
    spec = made.spec(clients=[1000, 200, 100])
    with drawing():
        figure = rounds_figure(results(made, spec), "closed-set")
        points = clients_figure(results(made, spec), "closed-set")
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title(loc="left") for axes in shown] == ["1000 clients", "200 clients", "100 clients"]
    assert all("no finished run" in [text.get_text() for text in axes.texts] for axes in shown)
    # The paper's values of 1000 clients are there even so.
    assert "no finished run" not in [text.get_text() for text in points.axes[0].texts]


def test_points_with_intervals_and_the_papers_diamonds(made: Any) -> None:
    with drawing():
        (axes,) = clients_figure(results(made, made.finished()), "closed-set").axes
    diamonds = [float(line.get_ydata()[0]) for line in axes.lines if line.get_marker() == "d"]
    assert diamonds == pytest.approx([39.74, 44.94])
    assert len(axes.containers) == 2


def test_methods_can_be_told_apart_without_colour() -> None:
    seen = looks(ELEVEN)
    assert len({(look.marker, look.dashes) for look in seen.values()}) == len(ELEVEN)
    assert len({(look.color, look.dashes) for look in seen.values()}) == len(ELEVEN)


def test_the_users_settings_neither_show_nor_change(made: Any) -> None:
    mpl.rcParams["lines.linewidth"] = 7.5
    try:
        with drawing():
            assert mpl.rcParams["lines.linewidth"] == 1.5
        assert mpl.rcParams["lines.linewidth"] == 7.5
    finally:
        mpl.rcdefaults()
