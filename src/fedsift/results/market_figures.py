"""Figures of the methods that hire: clients per round, spend, prices, quality, and accuracy by share of free riders.

Each gives the figure and the handles of its legend.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from fedsift.market.stages import Stages
from fedsift.results.collect import Key, Results
from fedsift.results.journal import BEHAVIOURS, Journal
from fedsift.results.market import Market, markets
from fedsift.results.market_free_riders import shares
from fedsift.results.market_stages import rounds_of, spend
from fedsift.results.marks import between, handle, point, readable
from fedsift.results.statistics import estimate
from fedsift.results.style import SOFT, Look, looks

Drawn = tuple[Figure, list[Line2D]]

WINDOW = 16
"""Rounds whose mean is one point of a curve; of few rounds an eighth."""
POINTS = 2000
"""Hires that a figure of prices shows at most: more would only fill it."""

_BAND = 3
"""With fewer seeds an interval is wider than the panel."""
_ACROSS = 3
_LINES = (0, (4, 2))


def hired_figure(results: Results, noise: str, clients: int) -> Drawn:
    """Clients hired per round over rounds: a line per method."""
    figure = Figure(figsize=(7.2, 4.0), layout="constrained")
    axes = figure.subplots()
    found, styles = _markets(results, noise, clients), looks(results.spec.methods)
    for method, one in found.items():
        _curve(axes, one, hired_by_window, styles[method])
    _rounds(axes, results.spec.rounds)
    axes.set_xlabel("round")
    axes.set_ylim(bottom=0)
    _say(axes, _any(found.values()))
    return figure, [handle(method, styles[method], line=True) for method in found]


def spend_figure(results: Results, noise: str, clients: int) -> Drawn:
    """Spend by stage in per cent of the stage's budget: a point per method, from three seeds on with its interval."""
    spec = results.spec
    found, styles = _markets(results, noise, clients), looks(spec.methods)
    L = Stages.of(spec.rounds, 1).L
    figure = Figure(figsize=(max(7.2, 1.2 + 0.12 * L * max(1, len(found))), 4.0), layout="constrained")
    axes = figure.subplots()
    step = 0.8 / max(1, len(found))
    for place, (method, one) in enumerate(found.items()):
        stages = Stages.of(spec.rounds, one.spec.budget)
        for l in range(1, L + 1):
            if ours := spend(one, stages, l):
                x = l - 1 + (place - (len(found) - 1) / 2) * step
                shown = ours if ours.n >= _BAND else replace(ours, low=None, high=None)
                point(axes, x, shown, styles[method], 100 / stages.B[l - 1])
    axes.axhline(100, color=SOFT, lw=1, ls=_LINES, zorder=1)
    between(axes, L)
    axes.set_xlim(-0.5, L - 0.5)
    spans = [rounds_of(Stages.of(spec.rounds, 1), l) for l in range(1, L + 1)]
    axes.set_xticks(range(L), [str(a) if a == b else f"{a}–{b}" for a, b in spans], fontsize=8)
    axes.set_xlabel("rounds of the stage")
    axes.set_ylim(bottom=0)
    _say(axes, _any(found.values()))
    return figure, [handle(method, styles[method], line=False) for method in found]


def prices_figure(results: Results, noise: str, clients: int) -> Drawn:
    """Price paid against bid: a panel per method, a point per hire, coloured by what the client is."""
    found = _markets(results, noise, clients)
    figure, panels = _grid(found)
    styles = looks(BEHAVIOURS)
    shown = max(1, POINTS // max(1, len(found)))
    highest = 0.05
    for place, (method, one) in enumerate(found.items()):
        axes = panels[place]
        axes.set_title(readable(method))
        axes.plot([0, 1], [0, 1], color=SOFT, lw=1, ls=_LINES, zorder=1)
        hires = [(journal, np.flatnonzero(journal.hired)) for _, journal in sorted(one.journals.items())]
        b, price, kind = (
            np.concatenate([getattr(journal, name)[at] for journal, at in hires] or [np.zeros(0)])
            for name in ("b", "price", "behaviour")
        )
        if len(b) > shown:
            some = np.sort(np.random.default_rng(place).choice(len(b), shown, replace=False))
            b, price, kind = b[some], price[some], kind[some]
        for behaviour, look in styles.items():
            mine = kind == behaviour
            axes.plot(b[mine], price[mine], ls="", marker=look.marker, color=look.color, ms=2.5, alpha=0.5, mew=0)
        highest = max(highest, price.max(initial=0.0))
        _say(axes, bool(one.journals))
    # Bids are at most the price, so that one range is right for both axes, and the same in all panels.
    for axes in panels:
        axes.set(xlim=(-0.02 * highest, 1.02 * highest), ylim=(-0.02 * highest, 1.02 * highest))
    _label_below(panels, len(found), "bid")
    return figure, [handle(name, look, line=False) for name, look in styles.items()]


def quality_figure(results: Results, noise: str, clients: int) -> Drawn:
    """Quality over rounds of honest, free-riding and mislabelled clients: a panel per method that judges."""
    found = {method: one for method, one in _markets(results, noise, clients).items() if one.spec.judges}
    figure, panels = _grid(found)
    styles = looks(BEHAVIOURS)
    for place, (method, one) in enumerate(found.items()):
        axes = panels[place]
        axes.set_title(readable(method))
        for behaviour, look in styles.items():
            _curve(axes, one, partial(quality_by_window, behaviour=behaviour), look)
        _rounds(axes, results.spec.rounds)
        axes.set_ylim(0, 1)
        _say(axes, bool(one.journals))
    _label_below(panels, len(found), "round")
    return figure, [handle(name, look, line=True) for name, look in styles.items()]


def free_riders_figure(results: Results, noise: str, clients: int) -> Drawn:
    """Accuracy at the last round by share of free riders: a line per method, of all noises."""
    assert not noise
    spec, found = results.spec, shares(results)
    figure = Figure(figsize=(7.2, 4.0), layout="constrained")
    axes = figure.subplots()
    styles = looks(spec.methods)
    values = sorted(set(found.values()))
    gap = 100 * min(np.diff(values)) / 2 if len(values) > 1 else 1.0
    drawn = False
    for place, (method, look) in enumerate(styles.items()):
        shift = gap * 0.5 * (place / max(1, len(styles) - 1) - 0.5)
        points = [
            (100 * share + shift, ours)
            for name, share in found.items()
            if (ours := results.value(Key(name, clients, method), "accuracy", "last").ours)
        ]
        for x, ours in points:
            point(axes, x, ours, look)
        axes.plot(
            [x for x, _ in points], [100 * ours.mean for _, ours in points], color=look.color, lw=1, ls=look.dashes
        )
        drawn = drawn or bool(points)
    if drawn:
        low, high = axes.get_ylim()
        axes.set_ylim(max(0, low), min(101, high))
    axes.set_xticks([100 * share for share in values], [f"{100 * share:g}" for share in values])
    axes.set_xlabel("free riders (%)")
    _say(axes, drawn)
    return figure, [handle(method, look, line=True) for method, look in styles.items()]


def windows(T: int) -> NDArray[np.int64]:
    """[T], the window that each round is in, from 0; the last may be shorter."""
    return np.arange(T) // _width(T)


def hired_by_window(one: Journal) -> NDArray[np.float64]:
    """[windows], mean clients per round."""
    window = windows(one.T)
    hired = np.bincount(window[one.round[one.hired]], minlength=window[-1] + 1)
    return hired / np.bincount(window)


def quality_by_window(one: Journal, behaviour: str) -> NDArray[np.float64]:
    """[windows], mean of q_i^t of the clients with this behaviour; NaN where none was judged."""
    window = windows(one.T)
    mine = (one.behaviour == behaviour) & ~np.isnan(one.quality)
    at, size = window[one.round[mine]], int(window[-1]) + 1
    number = np.bincount(at, minlength=size)
    return np.where(number > 0, np.bincount(at, one.quality[mine], size) / np.maximum(number, 1), np.nan)


def _width(T: int) -> int:
    return max(1, min(WINDOW, T // 8))


def _curve(axes: Axes, one: Market, of: Callable[[Journal], NDArray[np.float64]], look: Look) -> None:
    """Mean over the seeds that have a window, at the window's middle, with its band."""
    if not one.journals:
        return
    curves = np.stack([of(journal) for _, journal in sorted(one.journals.items())])
    T = next(iter(one.journals.values())).T
    window = windows(T)
    middle = np.bincount(window, np.arange(T)) / np.bincount(window)
    points = [estimate([float(value) for value in column[~np.isnan(column)]]) for column in curves.T]
    x = [at for at, ours in zip(middle, points, strict=True) if ours]
    there = [ours for ours in points if ours]
    mean = np.array([ours.mean for ours in there])
    if there and all(ours.n >= _BAND for ours in there):
        half = np.array([ours.half or 0 for ours in there])
        axes.fill_between(x, mean - half, mean + half, color=look.color, alpha=0.14, lw=0)
    every = max(1, len(x) // 6)
    marks = (look.place * every // 4 % every, every)
    axes.plot(x, mean, color=look.color, ls=look.dashes, lw=look.width, marker=look.marker, ms=4, markevery=marks)


def _markets(results: Results, noise: str, clients: int) -> dict[str, Market]:
    return {key.method: one for key, one in markets(results, noise).items() if key.clients == clients}


def _any(found: Iterable[Market]) -> bool:
    return any(one.journals for one in found)


def _grid(found: Mapping[str, Market]) -> tuple[Figure, list[Axes]]:
    """Panels for the methods, in rows of three; the others stay hidden."""
    across = min(_ACROSS, max(1, len(found)))
    down = -(-max(1, len(found)) // across)
    figure = Figure(figsize=(max(7.2, 3.2 * across), 2.9 * down + 0.9), layout="constrained")
    panels: list[Axes] = list(figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).flatten())
    for axes in panels[len(found) :]:
        axes.set_visible(False)
    if not found:
        panels[0].set_visible(True)
        _say(panels[0], False)
    return figure, panels


def _label_below(panels: list[Axes], count: int, label: str) -> None:
    """Label the lowest panel of each column."""
    for axes in panels[max(0, count - _ACROSS) : count]:
        axes.set_xlabel(label)
        axes.tick_params(labelbottom=True)


def _rounds(axes: Axes, T: int) -> None:
    axes.set_xlim(0, 1.015 * max(T - 1, 1))
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))


def _say(axes: Axes, drawn: bool) -> None:
    if not drawn:
        axes.text(0.5, 0.5, "no finished run", transform=axes.transAxes, ha="center", va="center", color=SOFT)
