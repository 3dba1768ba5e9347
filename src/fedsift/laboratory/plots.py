"""Plots of an experiment, mechanisms side by side."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from numpy.typing import NDArray

from fedsift.laboratory.figures import by_stage
from fedsift.laboratory.lies import FACTORS, WHEN, Lie
from fedsift.laboratory.play import Played
from fedsift.market.log import BidLog
from fedsift.market.stages import Stages
from fedsift.market.tender import Tender
from fedsift.results.statistics import estimate
from fedsift.results.style import INK, SOFT, Look, drawing, looks, save

PARTS = 4
"""A stage is drawn as so many points at most, each the mean of its rounds, so long runs are smooth."""
DOTS = 1500
"""Of a mechanism's hires, evenly taken, in the plot of prices."""
ACROSS = 3
FIRST = 0.75
LINEAR = 0.01
"""Gains are drawn to a linear scale up to here and to a logarithmic one beyond."""
_DASH = (0, (4, 2))


def write_plots(folder: Path, played: Sequence[Played], log: BidLog, tender: Tender, lies: Sequence[Lie]) -> list[str]:
    """Write each plot as SVG and PNG; gives the names of the files."""
    styles = looks([one.contender.name for one in played])
    stages = Stages.of(tender.T, tender.B)
    with drawing():
        made = {
            "spend": spend(played, stages, styles),
            "hires": hires(played, stages, styles),
            "prices": prices(played, log, styles),
            "thresholds": thresholds(played, stages, styles),
        }
        if lies:
            made["lies"] = lies_figure(lies, styles)
        for name, figure in made.items():
            save(figure, folder / name)
    return [f"{name}.{ending}" for name in made for ending in ("svg", "png")]


def spend(played: Sequence[Played], stages: Stages, styles: dict[str, Look]) -> Figure:
    """What is spent in each stage, in per cent of the stage's budget."""
    figure, axes = _single("Spend by stage", "spent (% of the stage's budget)")
    width = 0.8 / len(played)
    for index, one in enumerate(played):
        x = np.arange(stages.L) + (index - (len(played) - 1) / 2) * width
        share = 100 * by_stage(stages, one.spent) / np.array(stages.B)
        axes.bar(x, share, 0.9 * width, color=styles[one.contender.name].color)
    axes.axhline(100, color=INK, lw=1.1, ls=_DASH)
    axes.grid(visible=False, axis="x")
    axes.set_xticks(range(stages.L), [f"{l}\n{_short(B)}" for l, B in enumerate(stages.B, 1)])
    axes.set_xlabel("stage and its budget")
    _legend(figure, played, styles, Line2D([], [], color=INK, lw=1.1, ls=_DASH, label="the stage's budget"), bars=True)
    return figure


def hires(played: Sequence[Played], stages: Stages, styles: dict[str, Look]) -> Figure:
    """Hires of a round over the rounds."""
    figure, axes = _single("Hires per round", "hires in a round, mean")
    edges = parts(stages)
    for one in played:
        _steps(axes, edges, _means(one.hired.astype(float), edges), styles[one.contender.name])
    axes.set_ylim(bottom=0)
    _rounds(axes, stages)
    _legend(figure, played, styles)
    return figure


def thresholds(played: Sequence[Played], stages: Stages, styles: dict[str, Look]) -> Figure:
    """Density thresholds over the rounds; a band where not all bidders meet the same one."""
    figure, axes = _single("Density threshold", "value per price, mean")
    edges = parts(stages)
    for one in played:
        look = styles[one.contender.name]
        low, high = _means(one.low, edges), _means(one.high, edges)
        axes.stairs(high, _between(edges), baseline=low, fill=True, color=look.color, alpha=0.14, lw=0)
        _steps(axes, edges, (low + high) / 2, look)
    axes.set_yscale("log")
    axes.use_sticky_edges = False
    axes.autoscale_view()
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(FuncFormatter(lambda value, _: f"{value:g}" if f"{value:e}"[0] in "2357" else ""))
    _rounds(axes, stages)
    _legend(figure, played, styles)
    return figure


def prices(played: Sequence[Played], log: BidLog, styles: dict[str, Look]) -> Figure:
    """Price of each hire against its bid: a panel per mechanism."""
    figure, panels = _panels(len(played), "price paid")
    highest = 1.05 * max([float(one.price.max(initial=0.0)) for one in played]) or 1.0
    for one, axes in zip(played, panels, strict=True):
        look = styles[one.contender.name]
        some = np.unique(np.linspace(0, len(one.row) - 1, min(DOTS, len(one.row))).astype(int))
        axes.plot([0, 1], [0, 1], color=INK, lw=1, ls=_DASH)
        axes.plot(log.b[one.row[some]], one.price[some], ".", color=look.color, ms=4, alpha=0.5, mew=0)
        axes.set_xlim(0, highest)
        axes.set_ylim(0, highest)
        axes.set_aspect("equal", "box")
        axes.set_title(f"{one.contender.name}: {len(some):,} of {len(one.row):,} hires", fontsize=9)
        axes.set_xlabel("bid")
    figure.suptitle("Price against bid", x=0.01, ha="left", fontsize=11, fontweight="bold")
    diagonal = Line2D([], [], color=INK, lw=1, ls=_DASH, label="price = bid; below it a client would lose")
    figure.legend(handles=[diagonal], loc="outside lower center")
    return figure


def lies_figure(found: Sequence[Lie], styles: dict[str, Look]) -> Figure:
    """Mean gain of a liar by the factor of its bids, with 95 % intervals: a panel per mechanism."""
    names = list(dict.fromkeys(lie.mechanism for lie in found))
    figure, panels = _panels(len(names), "gain over the log, mean of the liars")
    handles: dict[str, Line2D] = {}
    for name, axes in zip(names, panels, strict=True):
        own = [lie for lie in found if lie.mechanism == name]
        axes.axhline(0, color=INK, lw=1, ls=_DASH)
        variants = [(out, when) for out in dict.fromkeys(lie.leave_own_out for lie in own) for when in WHEN]
        for place, (out, when) in enumerate(variants):
            color, marker = _variant(out, when)
            label = f"{when} rounds" + {True: ", own bids out", False: ", own bids in", None: ", no such option"}[out]
            # Intervals of lines at the same factors would cover each other.
            x = np.arange(len(FACTORS)) + 0.1 * (place - (len(variants) - 1) / 2)
            gains = [
                estimate([lie.gain for lie in own if (lie.leave_own_out, lie.when, lie.factor) == (out, when, factor)])
                for factor in FACTORS
            ]
            means = [gain.mean for gain in gains if gain]
            halves = [gain.half or 0 for gain in gains if gain]
            dashes = "-" if when == "all" else _DASH
            axes.errorbar(x, means, halves, color=color, ls=dashes, marker=marker, lw=1.3, ms=4.5, capsize=2)
            handles.setdefault(
                label, Line2D([], [], color=color, ls=dashes, marker=marker, lw=1.3, ms=4.5, label=label)
            )
        axes.set_yscale("symlog", linthresh=LINEAR, linscale=0.7)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.set_xticks(range(len(FACTORS)), [f"{factor:g}" for factor in FACTORS])
        axes.set_title(name)
        axes.set_xlabel("bids times")
    figure.suptitle("What lying in many rounds gains", x=0.01, ha="left", fontsize=11, fontweight="bold")
    figure.legend(handles=list(handles.values()), loc="outside lower center", ncols=2)
    return figure


def parts(stages: Stages) -> NDArray[np.int64]:
    """0 and the last round of each part that the stages are drawn in, ascending."""
    edges = [0]
    for start, end in zip((0, *stages.e[:-1]), stages.e, strict=True):
        count = min(PARTS, end - start)
        edges += [start + (end - start) * k // count for k in range(1, count + 1)]
    return np.array(edges)


def _means(values: NDArray[np.float64], edges: NDArray[np.int64]) -> NDArray[np.float64]:
    """Means of the parts over the rounds that have a value; NaN where none has."""
    there = np.isfinite(values)
    sums, counts = (
        np.add.reduceat(column, edges[:-1]) for column in (np.where(there, values, 0.0), there.astype(float))
    )
    with np.errstate(invalid="ignore"):
        return np.asarray(sums / counts)


def _steps(axes: Axes, edges: NDArray[np.int64], y: NDArray[np.float64], look: Look) -> None:
    """A line that is level within each part, with a marker in some of them."""
    axes.plot(np.repeat(_between(edges), 2)[1:-1], np.repeat(y, 2), color=look.color, ls=look.dashes, lw=look.width)
    # Markers of mechanisms with equal curves must not cover each other.
    some = slice(look.place % 4, None, 4)
    axes.plot(((edges[:-1] + 1 + edges[1:]) / 2)[some], y[some], ls="", color=look.color, marker=look.marker, ms=4.5)


def _between(edges: NDArray[np.int64]) -> NDArray[np.float64]:
    """Where parts meet: half a round after their last one; the first starts where it is not wider than the others."""
    return np.asarray(np.maximum(edges + 0.5, FIRST))


def _rounds(axes: Axes, stages: Stages) -> None:
    """Stages double, so that on a logarithmic axis they are equally long."""
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(list(stages.e)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))
    axes.set_xlim(FIRST, 1.02 * stages.e[-1] + 0.5)
    axes.set_xlabel("round; a line at the end of each stage")
    if len(stages.e) > 11:
        axes.tick_params(axis="x", labelrotation=45)


def _single(title: str, label: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(7.2, 3.9), layout="constrained")
    axes = figure.subplots()
    axes.set_ylabel(label)
    axes.set_title(title, fontsize=11)
    return figure, axes


def _panels(count: int, label: str, share: bool = True) -> tuple[Figure, list[Axes]]:
    across = 2 if count == 4 else min(count, ACROSS)
    down = -(-count // across)
    figure = Figure(figsize=(max(4.2, 3.2 * across + 0.4), 3.2 * down + 0.9), layout="constrained")
    panels: list[Axes] = list(figure.subplots(down, across, sharex=share, sharey=share, squeeze=False).flatten())
    for axes in panels[count:]:
        axes.set_visible(False)
    for axes in panels[:count]:
        axes.tick_params(labelbottom=True)
    for row in range(down):
        panels[row * across].set_ylabel(label)
    return figure, panels[:count]


def _legend(
    figure: Figure, played: Sequence[Played], styles: dict[str, Look], *more: Line2D, bars: bool = False
) -> None:
    handles = []
    for one in played:
        name = one.contender.name
        look = styles[name]
        form = {"ls": "", "marker": "s", "ms": 7} if bars else {"ls": look.dashes, "marker": look.marker, "ms": 4.5}
        handles.append(Line2D([], [], color=look.color, lw=look.width, label=name, **form))
    figure.legend(handles=[*handles, *more], loc="outside lower center", ncols=min(5, len(handles) + len(more)))


def _variant(own_out: bool | None, when: str) -> tuple[str, str]:
    color = {False: "#D55E00", True: "#0072B2", None: SOFT}[own_out]
    return color, "o" if when == "all" else "s"


def _short(budget: float) -> str:
    return f"{budget:.3g}" if budget < 1000 else f"{budget:,.0f}"
