"""Figure of the shares that each scheme gives the participants of a round."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fedsift.contributions.rows import numbers
from fedsift.results.collect import Results
from fedsift.results.contributions import RANKING, Judged, judged
from fedsift.results.style import SOFT, looks

_NAMED = 14
"""With more participants a panel has no room for their numbers."""


def contributions_figure(results: Results, noise: str) -> tuple[Figure, list[Line2D]]:
    """Shares by participant: a row of panels per client count and method, a panel per round, the first seed.

    Gives the figure and the handles of its legend.
    """
    spec = results.spec
    found = judged(results, noise)
    lines = list(dict.fromkeys(one.place[1:3] for one in found))
    rounds = sorted({one.place[3] for one in found})
    size = (max(7.2, 3.6 * len(rounds) + 0.6), 2.5 * len(lines) + 1.3)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(lines), len(rounds), sharey=True, squeeze=False)
    for one in found:
        axes = panels[lines.index(one.place[1:3]), rounds.index(one.place[3])]
        _, clients, method, round_ = one.place
        axes.set_title(f"{method}{f', {clients} clients' if len(spec.clients) > 1 else ''}, round {round_}")
        _panel(axes, one, spec.seeds[0])
    for axes in panels[-1]:
        axes.set_xlabel("participant and its EMD, nearest first")
    styles = looks(RANKING)
    handles = [
        Line2D([], [], color=look.color, ls="", marker=look.marker, ms=5, label=name) for name, look in styles.items()
    ]
    handles.append(Line2D([], [], color=SOFT, lw=1, ls=(0, (4, 2)), label="equal"))
    return figure, handles


def _panel(axes: Axes, one: Judged, seed: int) -> None:
    rows = one.rows.get(seed)
    if rows is None:
        words = one.missing.get(seed, "not run yet")
        axes.text(0.5, 0.5, words, transform=axes.transAxes, ha="center", va="center", color=SOFT)
        axes.set_xticks([])
        return
    emd, budget = numbers(rows, "emd"), one.cells[seed].how.budget
    order = np.argsort(emd, kind="stable")
    places = np.arange(len(order))
    shift = 0.6 / len(RANKING)
    for index, (scheme, look) in enumerate(looks(RANKING).items()):
        shares = 100 * numbers(rows, f"{scheme}_share")[order] / budget
        x = places + (index - (len(RANKING) - 1) / 2) * (shift if len(order) <= _NAMED else 0)
        axes.plot(x, shares, ls="", marker=look.marker, color=look.color, ms=5 if len(order) <= _NAMED else 3)
    axes.axhline(100 / len(order), color=SOFT, lw=1, ls=(0, (4, 2)), zorder=1)
    axes.grid(visible=False, axis="x")
    if len(order) <= _NAMED:
        names = [f"{rows[place]['client']}\n{emd[place]:.2f}" for place in order]
        axes.set_xticks(places, names, fontsize=7)
    else:
        axes.set_xticks([])
    axes.set_xlim(-0.6, len(order) - 0.4)
