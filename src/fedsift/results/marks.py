"""Marks that figures share: points with intervals, lines between places, handles of legends, and text as it is."""

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from fedsift.results.statistics import Estimate
from fedsift.results.style import SOFT, Look


def point(axes: Axes, x: float, ours: Estimate, look: Look, scale: float = 100) -> None:
    """A mean with its interval, times ``scale``: 100 shows a share in per cent."""
    half = scale * (ours.half or 0)
    axes.errorbar(x, scale * ours.mean, half, fmt=look.marker, color=look.color, ms=5.5, lw=1.4, capsize=2.5)


def between(axes: Axes, size: int) -> None:
    """Lines between so many places on the x axis, from 0, instead of a grid at them."""
    axes.grid(visible=False, axis="x")
    for edge in range(1, size):
        axes.axvline(edge - 0.5, color=SOFT, lw=0.6, alpha=0.5)


def handle(name: str, look: Look, line: bool) -> Line2D:
    """A legend's entry, with or without a line."""
    dashes = look.dashes if line else ""
    return Line2D([], [], color=look.color, ls=dashes, lw=look.width, marker=look.marker, ms=5, label=readable(name))


def readable(text: str) -> str:
    """Text that matplotlib neither reads as mathematics nor hides for its leading underscore."""
    text = text.replace("$", r"\$")
    return f"\N{ZERO WIDTH SPACE}{text}" if text.startswith("_") else text
