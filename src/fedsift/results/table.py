"""One table for people: under one noise, a row per client count and a column per method."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from fedsift.results.collect import Group, Key, Results
from fedsift.results.files import TableName
from fedsift.results.histories import Missing
from fedsift.results.reference import BASELINE
from fedsift.results.runs import At
from fedsift.results.statistics import Estimate, estimate
from fedsift.results.verdicts import Comparison

DASH = "–"
MINUS = "−"


class Kind(StrEnum):
    """What a line of a cell says; the order here is the order in the cell."""

    MEAN = "mean ± 95 %"
    PSNR_BEST = "PSNR (dB), best round"
    SSIM_BEST = "SSIM, best round"
    PSNR_LAST = "PSNR (dB), last round"
    SSIM_LAST = "SSIM, last round"
    PRECISION = "precision"
    RECALL = "recall"
    AUC = "AUC"
    LAST_10 = "mean of the last 10 evaluations"
    SEEDS = "seeds"
    GAIN = f"gain over {BASELINE}"
    PAPER = "paper (our difference)"
    VERDICT = "verdict"
    PAPER_GAIN = "paper's gain (our difference)"
    GAIN_VERDICT = "verdict on the gain"


@dataclass(frozen=True)
class Line:
    """One line of a cell."""

    text: str
    mark: str = ""
    """Letter of its footnote."""


Cell = Mapping[Kind, Line]


@dataclass(frozen=True)
class Table:
    """One table, ready to be written in any format."""

    name: TableName
    experiment: str
    title: str
    columns: list[str]
    rows: list[tuple[str, list[Cell]]]
    """Client count and one cell per column."""
    notes: list[tuple[str, str]]
    """Footnotes by letter."""
    percent: bool = True
    """Whether its numbers are per cent; else each kind of line names its unit."""

    @property
    def kinds(self) -> list[Kind]:
        """The kinds of lines that occur."""
        return [kind for kind in Kind if any(kind in cell for _, cells in self.rows for cell in cells)]


_METRICS = {"accuracy": "accuracy", "macro-f1": "macro F1"}
_ROUNDS = {"best": "best round", "last": "last round"}
_DETECTION = {
    Kind.PRECISION: "detection_precision",
    Kind.RECALL: "detection_recall",
    Kind.AUC: "detection_auc",
}
_RECONSTRUCTION: dict[Kind, tuple[str, At, int]] = {
    Kind.PSNR_BEST: ("psnr", "best", 2),
    Kind.SSIM_BEST: ("ssim", "best", 4),
    Kind.PSNR_LAST: ("psnr", "last", 2),
    Kind.SSIM_LAST: ("ssim", "last", 4),
}
"""Metric, round and decimals."""


class _Notes:
    """Footnotes in the order of their first use, each text once."""

    def __init__(self) -> None:
        self._letters: dict[str, str] = {}

    def mark(self, text: str) -> str:
        """The letter of a footnote, a to z, then aa, ab, ...; none without a text."""
        return self._letters.setdefault(text, _letter(len(self._letters))) if text else ""

    def list(self) -> list[tuple[str, str]]:
        """Letters and texts."""
        return [(letter, text) for text, letter in self._letters.items()]


def build(results: Results, name: TableName) -> Table:
    """The table of that name."""
    spec, notes = results.spec, _Notes()
    methods = results.methods(name.noise)
    of = ""
    if name.group:
        methods = [method for method in spec.groups[name.group].methods if method in methods]
        of = f", {spec.groups[name.group].title}"
    if name.what == "detection":
        methods = [method for method in methods if method != BASELINE]
    subject, cell = _content(results, name, notes)
    rows = [(str(clients), [cell(Key(name.noise, clients, method)) for method in methods]) for clients in spec.clients]
    title = f"{spec.title}{of}: {name.noise}, {subject}"
    return Table(name, spec.experiment, title, methods, rows, notes.list(), name.what != "reconstruction")


def _content(results: Results, name: TableName, notes: _Notes) -> tuple[str, Callable[[Key], Cell]]:
    """What a table is about, and how its cells are filled."""
    if name.what == "detection":
        subject = "detection of noisy samples, mean over the rounds with selection"
        return subject, lambda key: _detection_cell(results, key, notes)
    if name.what == "reconstruction":
        return "reconstruction: PSNR and SSIM", lambda key: _reconstruction_cell(results, key, notes)
    slug, _, end = name.what.rpartition("-")
    metric = slug.replace("-", "_")
    at: At = "best" if end == "best" else "last"
    return f"{_METRICS[slug]} at the {_ROUNDS[end]}", lambda key: dict(_final_lines(results, key, metric, at, notes))


def why(group: Group, seeds: list[int]) -> str:
    """Which seeds are missing and why; seeds with the same fate together."""
    fates: dict[str, list[int]] = {}
    for seed in seeds:
        if seed not in group.runs:
            missing: Missing | None = group.missing.get(seed)
            fates.setdefault(missing.short if missing else "not part of the experiment", []).append(seed)
    return "; ".join(f"{_seeds(those, seeds)}: {fate}" for fate, those in fates.items())


def _letter(index: int) -> str:
    letter = chr(ord("a") + index % 26)
    return letter if index < 26 else _letter(index // 26 - 1) + letter


def _seeds(some: list[int], seeds: list[int]) -> str:
    if len(some) == len(seeds) > 1:
        return "all seeds"
    return ("seed " if len(some) == 1 else "seeds ") + ", ".join(map(str, some))


def _final_lines(results: Results, key: Key, metric: str, at: At, notes: _Notes) -> Iterator[tuple[Kind, Line]]:
    group, seeds = results.group(key), results.spec.seeds
    absent = why(group, seeds)
    value, gain = results.value(key, metric, at), results.gain(key, metric, at)
    if value.ours is None:
        yield Kind.MEAN, Line(DASH, notes.mark(absent))
    else:
        yield Kind.MEAN, Line(_interval(value.ours))
        if at == "last" and (mean := estimate(list(group.by_seed(metric, "last-10").values()))):
            yield Kind.LAST_10, Line(_interval(mean))
        yield Kind.SEEDS, Line(_count(value.ours.n, len(seeds)), notes.mark(absent))
        if gain and BASELINE in results.spec.methods:
            yield Kind.GAIN, _gain(gain.ours, value.ours.n, notes)
    yield from _printed(value, Kind.PAPER, Kind.VERDICT, results.notes(key, metric, at, "value"), notes)
    if gain:
        remarks = results.notes(key, metric, at, "gain over fedavg")
        yield from _printed(gain, Kind.PAPER_GAIN, Kind.GAIN_VERDICT, remarks, notes)


def _printed(
    comparison: Comparison, paper: Kind, verdict: Kind, remarks: list[str], notes: _Notes
) -> Iterator[tuple[Kind, Line]]:
    if comparison.printed is None:
        return
    signed = paper is Kind.PAPER_GAIN
    text = _percent(comparison.printed.value, signed)
    if comparison.difference is not None:
        text += f" ({_percent(comparison.difference, signed=True)})"
    yield paper, Line(text, notes.mark(" ".join(remarks)))
    yield verdict, Line(str(comparison.verdict))


def _detection_cell(results: Results, key: Key, notes: _Notes) -> Cell:
    group, seeds = results.group(key), results.spec.seeds
    found = {kind: group.detection(metric) for kind, metric in _DETECTION.items()}
    absent = why(group, seeds)
    counts = [ours.n for ours in found.values() if ours]
    if not counts:
        mark = notes.mark("; ".join(filter(None, ["no samples were selected" if group.runs else "", absent])))
        return {kind: Line(DASH, mark) for kind in found}
    cell = {
        kind: Line(_interval(ours)) if ours else Line(DASH, notes.mark("undefined")) for kind, ours in found.items()
    }
    return cell | {Kind.SEEDS: Line(_count(max(counts), len(seeds)), notes.mark(absent))}


def _reconstruction_cell(results: Results, key: Key, notes: _Notes) -> Cell:
    group, seeds = results.group(key), results.spec.seeds
    found = {
        kind: (estimate(list(group.by_seed(metric, at).values())), digits)
        for kind, (metric, at, digits) in _RECONSTRUCTION.items()
    }
    absent = why(group, seeds)
    counts = [ours.n for ours, _ in found.values() if ours]
    if not counts:
        mark = notes.mark("; ".join(filter(None, ["no reconstructions" if group.runs else "", absent])))
        return {kind: Line(DASH, mark) for kind in found}
    cell = {kind: Line(_plain(ours, digits) if ours else DASH) for kind, (ours, digits) in found.items()}
    return cell | {Kind.SEEDS: Line(_count(max(counts), len(seeds)), notes.mark(absent))}


def _plain(ours: Estimate, digits: int) -> str:
    mean = f"{ours.mean:.{digits}f}".replace("-", MINUS)
    return mean if ours.half is None else f"{mean} ± {ours.half:.{digits}f}"


def _count(n: int, of: int) -> str:
    return str(n) if n == of else f"{n} of {of}"


def _gain(ours: Estimate | None, n: int, notes: _Notes) -> Line:
    if ours is None:
        return Line(DASH, notes.mark(f"no seed in common with {BASELINE}"))
    fewer = "" if ours.n == n else f"only the {ours.n} seeds that {BASELINE} has too"
    return Line(_interval(ours, signed=True), notes.mark(fewer))


def _interval(ours: Estimate, signed: bool = False) -> str:
    mean = _percent(ours.mean, signed)
    return mean if ours.half is None else f"{mean} ± {_percent(ours.half)}"


def _percent(share: float, signed: bool = False) -> str:
    text = f"{100 * share:{'+' if signed else ''}.2f}"
    # A difference that rounds to nothing has no sign.
    return text.lstrip("+-") if float(text) == 0 else text.replace("-", MINUS)
