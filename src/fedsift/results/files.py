"""Names of all files that tables and reports consist of. The graph is built from them: no heavy imports here."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from fedsift.errors import FedsiftError
from fedsift.models.info import MODELS
from fedsift.specs import ReportSpec, TableSpec

FORMATS = ("csv", "md", "tex", "html")
IMAGES = ("svg", "png")

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9+._-]*")

Final = Literal["accuracy-best", "macro-f1-best", "accuracy-last", "macro-f1-last"]
FINALS: tuple[Final, ...] = ("accuracy-best", "macro-f1-best", "accuracy-last", "macro-f1-last")
OfClients = Literal["accuracy-by-round", "class-recall", "participation"]
"""Tables of one client count, with a row per method."""
OF_CLIENTS: tuple[OfClients, ...] = ("accuracy-by-round", "class-recall", "participation")
OfMarket = Literal["market", "market-stages", "market-screening"]
OF_MARKET: tuple[OfMarket, ...] = ("market", "market-stages", "market-screening")
"""Tables of the methods that hire."""
What = (
    Final
    | OfClients
    | OfMarket
    | Literal["reconstruction", "detection", "claims", "contributions", "free-riders", "gaps"]
)

MarketView = Literal["market-hired", "market-spend", "market-prices", "market-quality"]
MARKET_VIEWS: tuple[MarketView, ...] = ("market-hired", "market-spend", "market-prices", "market-quality")
"""Figures of one client count."""
View = MarketView | Literal["rounds", "clients", "classes", "contributions", "free-riders"]
VIEWS: tuple[View, ...] = ("rounds", "clients", "classes")

LONG = ("cells.csv", "rounds.csv", "classes.csv", "participation.csv", "claims.csv", "runs.csv")
"""Every number at full precision, one a row."""
OF_CONTRIBUTIONS = ("contributions.csv", "rank-correlations.csv")
"""Where an experiment asks for contributions."""
LONG_OF_MARKET = ("gaps.csv", "market.csv", "market-summary.csv", "market-stages.csv", "market-screening.csv")
"""Where an experiment has methods that hire."""


@dataclass(frozen=True)
class TableName:
    """One table of an experiment: of all its methods, or of a group of them."""

    noise: str
    """Empty for a table of all noises."""
    what: What
    group: str = ""
    clients: int | None = None
    """For a table of one client count."""

    @property
    def stem(self) -> str:
        """Path in the table folder, without the ending."""
        count = "" if self.clients is None else f"K{self.clients}"
        name = "-".join(part for part in (self.noise, count, self.what) if part)
        return f"tables/{self.group}{'/' if self.group else ''}{name}"


@dataclass(frozen=True)
class FigureName:
    """One figure of an experiment."""

    noise: str
    """Empty for a figure of all noises."""
    view: View
    clients: int | None = None
    """For a figure of one client count."""

    @property
    def stem(self) -> str:
        """Path in the table folder, without the ending."""
        count = "" if self.clients is None else f"K{self.clients}"
        return f"figures/{'-'.join(part for part in (self.noise, count, self.view) if part)}"


def table_names(spec: TableSpec) -> list[TableName]:
    """The tables of an experiment: the claims, then by noise the final figures by group, and the rest once."""
    # Which of these have something to show is known only with the results; all are written, and the page shows those.
    rest: tuple[What, ...] = ("reconstruction", "detection") if MODELS[spec.model].multitask else ("detection",)
    names = [TableName("", "claims")]
    names += [TableName("", "gaps", clients=clients) for clients in spec.clients if len(spec.market) > 1]
    names += [TableName("", "free-riders", clients=clients) for clients in spec.clients if spec.free_riders]
    for noise in _noises(spec):
        names += [TableName(noise, what, group) for group in spec.groups or [""] for what in FINALS]
        names += [TableName(noise, what) for what in rest]
        names += [TableName(noise, "contributions")] if spec.contributions else []
        names += [TableName(noise, what) for what in OF_MARKET if spec.market]
        names += [TableName(noise, what, clients=clients) for clients in spec.clients for what in OF_CLIENTS]
    return names


def figure_names(spec: TableSpec) -> list[FigureName]:
    """The figures of an experiment, in the order of the page."""
    views: tuple[View, ...] = (*VIEWS, "contributions") if spec.contributions else VIEWS
    names = [FigureName("", "free-riders", clients) for clients in spec.clients if spec.free_riders]
    for noise in _noises(spec):
        names += [FigureName(noise, view) for view in views]
        names += [FigureName(noise, view, clients) for clients in spec.clients for view in MARKET_VIEWS if spec.market]
    return names


def long_files(spec: TableSpec) -> list[str]:
    """The CSV files of an experiment with numbers at full precision."""
    names = [*LONG, *(OF_CONTRIBUTIONS if spec.contributions else ()), *(LONG_OF_MARKET if spec.market else ())]
    return [*names, *(["free-riders.csv"] if spec.free_riders else [])]


def table_files(spec: TableSpec) -> list[str]:
    """Every file that `write_tables` writes, as paths that begin with ``spec.output``.

    Raises:
        FedsiftError: a noise's name cannot be part of a file name.
    """
    names = [*long_files(spec), "overview.json", "tables.html"]
    names += [f"{table.stem}.{ending}" for table in table_names(spec) for ending in FORMATS]
    names += [f"{figure.stem}.{ending}" for figure in figure_names(spec) for ending in IMAGES]
    return [str(PurePosixPath(spec.output, name)) for name in names]


def report_files(spec: ReportSpec) -> list[str]:
    """Every file that `write_report` writes: the front page, which refers to the table folders beside it."""
    return [str(PurePosixPath(spec.output, "index.html"))]


def _noises(spec: TableSpec) -> Iterator[str]:
    for noise in spec.noises:
        if not _SAFE.fullmatch(noise):
            raise FedsiftError(
                f"experiment {spec.experiment}: noise {noise!r} cannot be part of a file name; "
                "use letters, digits, '+', '.', '-' and '_'."
            )
        yield noise
