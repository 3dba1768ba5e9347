"""How figures look, whatever the user's matplotlib settings, and how they are saved with equal bytes."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from fedsift.files import atomic
from fedsift.results.reference import BASELINE

INK, SOFT, GRID = "#22272d", "#66707a", "#e3e6ea"


class Look(NamedTuple):
    """How a method is drawn; colour, marker and dashes each tell methods apart."""

    color: str
    marker: str
    dashes: str | tuple[float, tuple[float, ...]]
    width: float
    place: int
    """Its place among the methods, from 0."""


# Okabe and Ito's colours, which colour-blind people can tell apart, without yellow, which white swallows.
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A5C00")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_DASHES: tuple[str | tuple[float, tuple[float, ...]], ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1)))


def looks(methods: Sequence[str]) -> dict[str, Look]:
    """A look per method, by its place in the specification, so that all figures of an experiment agree."""
    found = {}
    others = [method for method in methods if method != BASELINE]
    for index, method in enumerate(others):
        # Dashes change with the first repetition of a colour at the latest, and before for the second half.
        dashes = _DASHES[min(index // 4, len(_DASHES) - 1)]
        found[method] = Look(_COLORS[index % 7], _MARKERS[index % 7], dashes, 1.6, index)
    if BASELINE in methods:
        found[BASELINE] = Look(INK, "h", "-", 2.2, len(others))
    return found


@contextmanager
def drawing() -> Iterator[None]:
    """Settings for drawing and saving."""
    settings: dict[str, Any] = {
        "svg.hashsalt": "fedsift",
        "svg.fonttype": "path",
        "font.family": "DejaVu Sans",
        "font.size": 9,
        "text.color": INK,
        "axes.edgecolor": SOFT,
        "axes.labelcolor": INK,
        "axes.titlesize": 10,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": GRID,
        "grid.linewidth": 0.8,
        "xtick.color": SOFT,
        "ytick.color": SOFT,
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
        "legend.frameon": False,
        "lines.solid_capstyle": "round",
    }
    with mpl.rc_context():
        # The backend is no matter of looks, and to set it would import pyplot.
        for key in mpl.rcParamsDefault.keys() - {"backend"}:
            mpl.rcParams[key] = settings.get(key, mpl.rcParamsDefault[key])
        yield


def save(figure: Figure, stem: Path) -> None:
    """Write ``stem``.svg and ``stem``.png (200 dots an inch), no dates or versions. Call it inside `drawing`."""
    FigureCanvasAgg(figure)
    for ending, metadata in (("svg", {"Date": None, "Creator": None}), ("png", {"Software": None})):
        with atomic(stem.with_name(f"{stem.name}.{ending}")) as path:
            figure.savefig(path, format=ending, dpi=200, metadata=metadata)
