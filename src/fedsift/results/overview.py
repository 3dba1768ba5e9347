"""What an experiment's table folder holds and how far the experiment has come; the report is made from it."""

from collections.abc import Callable
from pathlib import Path

from pydantic import Field, ValidationError

from fedsift.errors import FedsiftError
from fedsift.results import by_class
from fedsift.results.by_round import evaluations
from fedsift.results.collect import Results, detects, reconstructs
from fedsift.results.files import FigureName, TableName, What, figure_names, table_names
from fedsift.results.participation import tells
from fedsift.results.reference import Unplaced
from fedsift.results.tested import tested
from fedsift.section import Section

FILE = "overview.json"


class Group(Section):
    """Runs that are missing for the same reason."""

    reason: str
    kind: str
    runs: list[str]
    """Each with the phase at which it stopped, and the log where there is one."""


class Image(Section):
    """A figure."""

    stem: str
    alt: str
    caption: str


class Noise(Section):
    """The part of the page about one noise."""

    name: str
    tables: list[str]
    """Stems of the tables that have something to show."""
    figures: list[Image]
    details: list[str]
    """Stems of the tables of one client count each."""


class Overview(Section):
    """An experiment as the report shows it."""

    scale: str
    experiment: str
    paper: str
    paper_title: str = ""
    """Empty where no reference file tells."""
    citation: str = ""
    """Of the paper."""
    title: str
    dataset: str
    sources: list[str] = Field([])
    """Data sets that open-set noises take foreign images from."""
    model: str
    rounds: int
    margin: float
    clients: list[int]
    methods: list[str]
    seeds: list[int]
    done: int
    total: int
    missing: list[Group]
    tables: list[str]
    """Stems of the tables of all noises."""
    figures: list[Image] = Field([])
    """Of all noises."""
    noises: list[Noise]
    contributions: bool = False
    """Whether there are tables of contributions."""
    market: bool = False
    """Whether there are tables of bids and prices."""
    unplaced: list[Unplaced]
    """Numbers that the paper prints without saying for which client count."""

    @property
    def stems(self) -> list[str]:
        """Of every table that the page shows."""
        return self.tables + [stem for noise in self.noises for stem in noise.tables + noise.details]

    @property
    def unfinished(self) -> int:
        """Runs that have not been tried yet."""
        return sum(len(group.runs) for group in self.missing if group.kind == "not run yet")

    @classmethod
    def read(cls, folder: Path) -> "Overview":
        """The overview in a table folder.

        Raises:
            FedsiftError: it is missing or is no overview.
        """
        path = folder / FILE
        try:
            return cls.model_validate_json(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise FedsiftError(f"{path}: no such file; make this experiment's tables first.") from None
        except ValidationError as error:
            raise FedsiftError(
                f"{path}: not an overview of tables ({error.errors()[0]['msg']}); make them anew."
            ) from None


def overview(results: Results) -> Overview:
    """The overview of an experiment's results."""
    spec = results.spec
    groups: dict[tuple[str, str], list[str]] = {}
    done = 0
    for key in results.grid():
        group = results.group(key)
        done += len(group.runs)
        for seed, why in group.missing.items():
            run = f"{key.noise}, {key.clients} clients, {key.method}, seed {seed}: {why.phase}"
            groups.setdefault((why.short, why.kind), []).append(run + (f" (log: {why.log})" if why.log else ""))
    return Overview(
        **{
            name: getattr(spec, name)
            for name in ("scale", "experiment", "paper", "title", "dataset", "model", "rounds")
        },
        paper_title=results.reference.title,
        citation=results.reference.citation,
        sources=spec.sources,
        margin=spec.margin,
        clients=spec.clients,
        methods=spec.methods,
        seeds=spec.seeds,
        done=done,
        total=len(spec.cells),
        missing=[Group(reason=reason, kind=kind, runs=runs) for (reason, kind), runs in groups.items()],
        tables=[name.stem for name in table_names(spec) if not name.noise and _shown(results, name)],
        figures=[_image(results, name) for name in figure_names(spec) if not name.noise],
        noises=[_noise(results, noise) for noise in spec.noises],
        contributions=bool(spec.contributions),
        market=bool(spec.market),
        unplaced=[
            entry
            for entry in results.reference.unplaced
            if entry.dataset == spec.dataset and entry.noise in spec.noises
        ],
    )


def _noise(results: Results, noise: str) -> Noise:
    spec = results.spec
    tables = [name for name in table_names(spec) if name.noise == noise and _shown(results, name)]
    figures = [name for name in figure_names(spec) if name.noise == noise]
    return Noise(
        name=noise,
        tables=[name.stem for name in tables if name.clients is None],
        figures=[_image(results, name) for name in figures if _drawn(results, name)],
        details=[name.stem for name in tables if name.clients is not None],
    )


def _drawn(results: Results, name: FigureName) -> bool:
    """Whether the page has a figure."""
    if name.view == "market-quality":
        return any(market.judges for market in results.spec.market.values())
    return name.view != "classes" or by_class.shown(results, name.noise)


def _shown(results: Results, name: TableName) -> bool:
    """Whether a table has anything to show; a table of final figures shows what is missing, too."""
    asks: dict[What, Callable[[], bool]] = {
        "claims": lambda: any(tested(results)),
        "detection": lambda: detects(results, name.noise),
        "reconstruction": lambda: reconstructs(results, name.noise),
        "participation": lambda: tells(results, name.noise),
        "market-screening": lambda: any(market.screens for market in results.spec.market.values()),
        "class-recall": lambda: by_class.shown(results, name.noise),
        "accuracy-by-round": lambda: bool(evaluations(results, name.noise, name.clients or 0)),
    }
    return name.what not in asks or asks[name.what]()


_CAPTIONS = {
    "rounds": (
        "Test accuracy over rounds, one panel per client count: mean over seeds, with its 95 % interval as a band "
        "where there are three seeds or more, else with each seed as a thin line. The axis may leave out low values of "
        "the first rounds."
    ),
    "clients": (
        "Test accuracy at the best round by client count: mean over seeds with its 95 % interval; a diamond is "
        "the paper's value where it is known."
    ),
    "contributions": (
        "Share of a round's budget that each scheme gives the participants of the first seed, nearest to everybody's "
        "labels first; the dashed line is the equal split."
    ),
    "free-riders": (
        "Test accuracy at the last round by the share of free riders: mean over seeds with its 95 % interval."
    ),
    "market-hired": (
        "Clients hired per round, mean over windows of rounds and seeds, with its 95 % interval as a band where there "
        "are three seeds or more."
    ),
    "market-spend": (
        "Spend of each stage in per cent of its budget (the dashed line), mean over seeds, with its 95 % interval "
        "where there are three seeds or more. OSPM has no stages."
    ),
    "market-prices": (
        "Price paid against bid, one panel per method: up to 2000 hires, drawn from those of all seeds; on the dashed "
        "line the price is the bid."
    ),
    "market-quality": (
        "Quality of the judged by what they are, one panel per method that judges: mean over windows of rounds and "
        "seeds."
    ),
    "classes": (
        "Recall of each class of the test set at the last round, one panel per client count: mean over seeds with its "
        "95 % interval."
    ),
}


def _image(results: Results, name: FigureName) -> Image:
    caption = _CAPTIONS[name.view]
    subject = ", ".join(part for part in (results.spec.title, name.noise) if part)
    if name.clients is not None and len(results.spec.clients) > 1:
        caption = f"{name.clients} clients. {caption}"
    alt = f"{subject}. {caption} The numbers are in the tables."
    return Image(stem=name.stem, alt=alt, caption=caption)
