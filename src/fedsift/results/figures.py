"""Figures of an experiment: drawn here or in modules of their own, finished and written here."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from fedsift.results import by_class
from fedsift.results.collect import Key, Results
from fedsift.results.contributions_figure import contributions_figure
from fedsift.results.files import FigureName, View
from fedsift.results.market_figures import free_riders_figure, hired_figure, prices_figure, quality_figure, spend_figure
from fedsift.results.marks import between, handle, point, readable
from fedsift.results.statistics import estimate
from fedsift.results.style import INK, SOFT, Look, drawing, looks, save

_METRIC = "accuracy"
_BAND = 3
"""With fewer seeds the 95 % interval spans the whole panel; each seed is a thin line instead."""

_STARTS = 3
"""Selection starts that a panel marks at most; more would be clutter."""


def write_figure(results: Results, name: FigureName, folder: Path) -> None:
    """Draw a figure and write it as SVG and PNG to ``folder / name.stem``."""
    with drawing():
        save(_drawn(results, name), folder / name.stem)


def _drawn(results: Results, name: FigureName) -> Figure:
    if name.clients is not None:
        one, label = _OF_CLIENTS[name.view]
        figure, handles = one(results, name.noise, name.clients)
        _finish(figure, results, name.noise, label, handles)
        return figure
    draw = {
        "rounds": rounds_figure,
        "clients": clients_figure,
        "classes": classes_figure,
        "contributions": shares_figure,
    }[name.view]
    return draw(results, name.noise)


_OF_CLIENTS: Mapping[View, tuple[Callable[[Results, str, int], tuple[Figure, list[Line2D]]], str]] = {
    "free-riders": (free_riders_figure, "test accuracy, last round (%)"),
    "market-hired": (hired_figure, "clients hired per round"),
    "market-spend": (spend_figure, "spend of the stage's budget (%)"),
    "market-prices": (prices_figure, "price"),
    "market-quality": (quality_figure, "quality"),
}


def rounds_figure(results: Results, noise: str) -> Figure:
    """Accuracy over rounds: a panel per client count, a line per method with its 95 % band or its seeds."""
    spec = results.spec
    across = 1 if len(spec.clients) == 1 else 2
    down = -(-len(spec.clients) // across)
    figure = Figure(figsize=(5.2 * across if across > 1 else 7.2, 2.9 * down + 1.1), layout="constrained")
    panels = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).flatten()
    styles = looks(spec.methods)
    floors = []
    for axes, clients in zip(panels, spec.clients, strict=False):
        lines = [_line(axes, results, Key(noise, clients, method), look) for method, look in styles.items()]
        drawn = [floor for floor in lines if floor is not None]
        floors += drawn
        _panel(axes, f"{clients} clients", bool(drawn))
        _starts(axes, results, noise, clients)
    for axes in panels[len(spec.clients) :]:
        axes.set_visible(False)
    for axes in panels[max(0, len(spec.clients) - across) : len(spec.clients)]:
        axes.set_xlabel("round")
        axes.tick_params(labelbottom=True)
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    panels[0].set_xlim(0, 1.015 * max(spec.rounds - 1, 1))
    if floors:
        # The steep rise of the first rounds would squeeze the methods' differences into a thin strip.
        panels[0].set_ylim(bottom=max(0, min(floors) - 2), top=min(101, panels[0].get_ylim()[1]))
    handles = [handle(method, styles[method], line=True) for method in results.methods(noise)]
    _finish(figure, results, noise, "test accuracy (%)", handles)
    return figure


def clients_figure(results: Results, noise: str) -> Figure:
    """Accuracy at the best round by client count: a point and 95 % interval per method, and the paper's value."""
    spec = results.spec
    figure = Figure(figsize=(max(7.2, 1.2 + 0.28 * len(spec.clients) * len(spec.methods)), 4.3), layout="constrained")
    axes = figure.subplots()
    styles = looks(spec.methods)
    methods = results.methods(noise)
    width = 0.8 / max(1, len(methods))
    drawn = printed = False
    for place, clients in enumerate(spec.clients):
        for index, method in enumerate(methods):
            x = place + (index - (len(methods) - 1) / 2) * width
            value = results.value(Key(noise, clients, method), _METRIC, "best")
            look = styles[method]
            if value.ours:
                point(axes, x, value.ours, look)
                drawn = True
            if value.printed:
                axes.plot(x, 100 * value.printed.value, "d", ms=7, mfc="none", mec=look.color, mew=1.3, zorder=4)
                drawn = printed = True
    _panel(axes, "", drawn)
    axes.set_xticks(range(len(spec.clients)), [f"{clients} clients" for clients in spec.clients])
    axes.set_xlim(-0.5, len(spec.clients) - 0.5)
    if drawn:
        # An interval of few seeds reaches beyond what an accuracy can be.
        low, high = axes.get_ylim()
        axes.set_ylim(max(0, low), min(101, high))
    between(axes, len(spec.clients))
    handles = [handle(method, styles[method], line=False) for method in methods]
    if printed:
        paper = Line2D([], [], ls="", marker="d", ms=7, mfc="none", mec=SOFT, mew=1.3, label="the paper's value")
        handles.append(paper)
    _finish(figure, results, noise, "test accuracy, best round (%)", handles)
    return figure


def classes_figure(results: Results, noise: str) -> Figure:
    """Recall of each class at the last round: a panel per client count, a point and 95 % interval per method."""
    spec = results.spec
    methods, styles = results.methods(noise), looks(spec.methods)
    # With too many classes the panels say where the numbers are.
    size = by_class.classes(results, noise) if by_class.shown(results, noise) else 0
    width = min(13.0, max(7.2, 1.2 + 0.1 * size * len(methods)))
    figure = Figure(figsize=(width, 2.6 * len(spec.clients) + 1.2), layout="constrained")
    panels = figure.subplots(len(spec.clients), 1, sharex=True, sharey=True, squeeze=False).flatten()
    step = 0.8 / max(1, len(methods))
    for axes, clients in zip(panels, spec.clients, strict=True):
        drawn = False
        for index, method in enumerate(methods):
            shift = (index - (len(methods) - 1) / 2) * step
            for label in range(size):
                if ours := by_class.recall(results, Key(noise, clients, method), label):
                    point(axes, label + shift, ours, styles[method])
                    drawn = True
        _panel(axes, f"{clients} clients", drawn, "see classes.csv" if by_class.classes(results, noise) > size else "")
        between(axes, size)
    panels[-1].set_xticks(range(size), [str(label) for label in range(size)])
    panels[-1].set_xlabel("class")
    panels[0].set_xlim(-0.5, max(size, 1) - 0.5)
    low, high = panels[0].get_ylim()
    panels[0].set_ylim(max(-2, low), min(102, high))
    _finish(
        figure,
        results,
        noise,
        "recall at the last round (%)",
        [handle(one, styles[one], line=False) for one in methods],
    )
    return figure


def shares_figure(results: Results, noise: str) -> Figure:
    """Shares that each scheme gives the participants of a round."""
    figure, handles = contributions_figure(results, noise)
    _finish(figure, results, noise, "share of the budget (%)", handles)
    return figure


def _line(axes: Axes, results: Results, key: Key, look: Look) -> float | None:
    """Draw a method's line and band; gives its lowest point after the first tenth, None without runs."""
    runs = list(results.group(key).runs.values())
    if not runs:
        return None
    # All runs of an experiment are evaluated in the same rounds; a history from elsewhere may have fewer.
    rounds = sorted(set.intersection(*(set(run.evaluated.tolist()) for run in runs)))
    points = [estimate([float(run.columns[_METRIC][at]) for run in runs]) for at in rounds]
    means = np.array([100 * point.mean for point in points if point])
    halves = np.array([100 * (point.half or 0) for point in points if point])
    if len(runs) >= _BAND:
        axes.fill_between(rounds, means - halves, means + halves, color=look.color, alpha=0.14, lw=0)
    elif len(runs) > 1:
        for run in runs:
            curve = [100 * float(run.columns[_METRIC][at]) for at in rounds]
            axes.plot(rounds, curve, color=look.color, lw=0.6, alpha=0.45)
    # Markers of methods with equal curves must not cover each other.
    every = max(1, len(rounds) // 6)
    marks = (look.place * every // max(1, len(results.spec.methods)), every)
    axes.plot(
        rounds,
        means,
        color=look.color,
        ls=look.dashes,
        lw=look.width,
        marker=look.marker,
        ms=5,
        markevery=marks,
    )
    return float(min(mean for at, mean in zip(rounds, means, strict=True) if at >= rounds[-1] / 10))


def _starts(axes: Axes, results: Results, noise: str, clients: int) -> None:
    starts = {
        int(run.selecting[0])
        for method in results.spec.methods
        for run in results.group(Key(noise, clients, method)).runs.values()
        if len(run.selecting)
    }
    if 0 < len(starts) <= _STARTS:
        for level, start in enumerate(sorted(starts)):
            axes.axvline(start, color=SOFT, lw=0.9, ls=(0, (2, 2)), zorder=1)
            label = f" selection from {start}"
            axes.annotate(label, (start, 0), xycoords=("data", "axes fraction"), xytext=(1, 3 + 9 * level),
                          textcoords="offset points", fontsize=7, color=SOFT)  # fmt: skip


def _panel(axes: Axes, title: str, drawn: bool, instead: str = "") -> None:
    axes.set_title(title)
    if not drawn:
        axes.text(
            0.5, 0.5, instead or "no finished run", transform=axes.transAxes, ha="center", va="center", color=SOFT
        )


def _finish(figure: Figure, results: Results, noise: str, label: str, handles: Sequence[Line2D]) -> None:
    figure.supylabel(label, fontsize=9, color=INK)
    subject = ": ".join(part for part in (results.spec.title, noise) if part)
    figure.suptitle(readable(subject), x=0.01, ha="left", fontsize=11, fontweight="bold")
    if handles:
        figure.legend(handles=handles, loc="outside lower center", ncols=_columns(handles, figure.get_figwidth()))


def _columns(handles: Sequence[Line2D], width: float) -> int:
    """Into how many columns a legend is laid out, so that it is not wider than the figure (inches); at most 5."""
    for columns in range(min(5, len(handles)), 1, -1):
        rows = -(-len(handles) // columns)
        parts = [handles[at : at + rows] for at in range(0, len(handles), rows)]
        # At 9 points a letter is 0.075 inches wide, and a handle with the space around it 0.6.
        if sum(0.6 + 0.075 * max(len(str(handle.get_label())) for handle in part) for part in parts) <= width:
            return len(parts)
    return 1
