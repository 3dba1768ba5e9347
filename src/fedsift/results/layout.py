"""A table for people before it has a format: lines, cells, footnotes, and how numbers are written."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from fedsift.results.collect import Group
from fedsift.results.files import TableName
from fedsift.results.histories import Missing
from fedsift.results.reference import BASELINE
from fedsift.results.statistics import Estimate
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
    LAST_10 = "mean of up to 10 last evaluations"
    DIFFERENCE = "difference ± 95 %"
    SEEDS = "seeds"
    GAIN = f"gain over {BASELINE}"
    PAPER = "paper (our difference)"
    VERDICT = "verdict"
    PAPER_GAIN = "paper's gain (our difference)"
    GAIN_VERDICT = "verdict on the gain"
    CLAIM_VERDICT = "verdict on the claim"


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
    """What the row is of (see ``corner``) and one cell per column."""
    notes: list[tuple[str, str]]
    """Footnotes by letter; one without a letter is about the whole table."""
    percent: bool = True
    """Whether its numbers are per cent; else each kind of line names its unit."""
    corner: str = field(default="clients", kw_only=True)
    """What the rows are."""

    @property
    def kinds(self) -> list[Kind]:
        """The kinds of lines that occur."""
        return [kind for kind in Kind if any(kind in cell for _, cells in self.rows for cell in cells)]


class Notes:
    """Footnotes in the order of their first use, each text once."""

    def __init__(self) -> None:
        self._letters: dict[str, str] = {}

    def mark(self, text: str) -> str:
        """The letter of a footnote, a to z, then aa, ab, ...; none without a text."""
        return self._letters.setdefault(text, letter(len(self._letters))) if text else ""

    def list(self, *whole: str) -> list[tuple[str, str]]:
        """Letters and texts, and after them what is to be said of the table as a ``whole``."""
        return [*((letter, text) for text, letter in self._letters.items()), *(("", text) for text in whole if text)]


def letter(index: int) -> str:
    """The footnote letter of that place: a, ..., z, aa, ab, ..."""
    last = chr(ord("a") + index % 26)
    return last if index < 26 else letter(index // 26 - 1) + last


def why(group: Group, seeds: list[int]) -> str:
    """Which seeds are missing and why; seeds with the same fate together."""
    fates: dict[str, list[int]] = {}
    for seed in seeds:
        if seed not in group.runs:
            missing: Missing | None = group.missing.get(seed)
            fates.setdefault(missing.short if missing else "not part of the experiment", []).append(seed)
    return "; ".join(f"{_seeds(those, seeds)}: {fate}" for fate, those in fates.items())


def _seeds(some: list[int], seeds: list[int]) -> str:
    if len(some) == len(seeds) > 1:
        return "all seeds"
    return ("seed " if len(some) == 1 else "seeds ") + ", ".join(map(str, some))


def plain(ours: Estimate, digits: int) -> str:
    """Mean ± half the interval, in the figure's own unit."""
    mean = f"{ours.mean:.{digits}f}"
    # As in `percent`, what rounds to nothing has no sign.
    mean = mean.lstrip("-") if float(mean) == 0 else mean.replace("-", MINUS)
    return mean if ours.half is None else f"{mean} ± {ours.half:.{digits}f}"


def count(n: int, of: int) -> str:
    """Seeds that are there."""
    return str(n) if n == of else f"{n} of {of}"


def interval(ours: Estimate, signed: bool = False) -> str:
    """Mean ± half the interval, in per cent."""
    mean = percent(ours.mean, signed)
    return mean if ours.half is None else f"{mean} ± {percent(ours.half)}"


def printed_lines(
    comparison: Comparison, paper: Kind, verdict: Kind, remarks: list[str], notes: Notes
) -> Iterator[tuple[Kind, Line]]:
    """The paper's number with our difference from it, and the verdict; nothing where the paper prints none."""
    if comparison.printed is None:
        return
    signed = paper is Kind.PAPER_GAIN
    text = percent(comparison.printed.value, signed)
    if comparison.difference is not None:
        text += f" ({percent(comparison.difference, signed=True)})"
    yield paper, Line(text, notes.mark(" ".join(remarks)))
    yield verdict, Line(str(comparison.verdict))


def percent(share: float, signed: bool = False) -> str:
    """A share in per cent, with two decimals."""
    text = f"{100 * share:{'+' if signed else ''}.2f}"
    # A difference that rounds to nothing has no sign.
    return text.lstrip("+-") if float(text) == 0 else text.replace("-", MINUS)
