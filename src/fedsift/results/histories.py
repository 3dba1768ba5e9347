"""Read the histories of a run's phases; whatever is wrong with them becomes a reason, never a number."""

import csv
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fedsift.results.runs import DETECTION, DIVERGENCE, LOSSES, METRICS, RECONSTRUCTION, SHARES, VALUES, Run
from fedsift.specs import CellSpec

COUNTS = ("clients", "samples", "used", "averaged")
CLASSES = "class_recall"
COLUMNS = ("round", "status", *COUNTS, *METRICS, CLASSES, DIVERGENCE, *DETECTION)

_SHARES = frozenset((*SHARES, CLASSES, *DETECTION))


@dataclass(frozen=True)
class Missing:
    """Why a run has no figures."""

    kind: Literal["not run yet", "failed", "diverged", "unusable history"]
    phase: str
    """Folder of the phase at which it stopped."""
    detail: str = ""
    log: str = ""
    """The failed command's log."""

    @property
    def reason(self) -> str:
        """One sentence that names the phase and the log."""
        parts = (f"{self.kind}: {self.phase}", f": {self.detail}", f" (log: {self.log})")
        return parts[0] + (parts[1] if self.detail else "") + (parts[2] if self.log else "")

    @property
    def short(self) -> str:
        """The same without phase and log, so that cells with the same fate share a footnote."""
        return self.kind + (f": {self.detail}" if self.detail else "")


class _UnusableError(Exception):
    """What is wrong with a history."""


@dataclass(frozen=True)
class _Row:
    """One round."""

    counts: dict[str, int]
    values: dict[str, float]
    """NaN where blank."""
    recalls: tuple[float, ...]
    """By class, NaN for a class without a test sample; empty without an evaluation."""


def read_cell(cell: CellSpec, rounds: int, state: Path) -> Run | Missing:
    """The run of a cell, or why there is none.

    Args:
        cell: its phases' folders hold `history.csv`.
        rounds: T; the phases must cover rounds 0 to T-1 exactly once.
        state: folder in which a failed phase leaves `<phase>/failure.json`.
    """
    rows: list[_Row] = []
    for phase in cell.phases:
        path = Path(phase, "history.csv")
        if not path.is_file():
            return _failure(phase, state)
        try:
            new, diverged = _read(path, len(rows))
        except _UnusableError as error:
            return Missing("unusable history", phase, str(error))
        if diverged is not None:
            return Missing("diverged", phase, f"the model was no longer finite in round {diverged}")
        rows += new
    phase = cell.phases[-1] if cell.phases else "no phase"
    try:
        return _run(cell, rows, rounds)
    except _UnusableError as error:
        return Missing("unusable history", phase, str(error))


def _run(cell: CellSpec, rows: list[_Row], rounds: int) -> Run:
    if len(rows) != rounds:
        raise _UnusableError(f"the phases cover {len(rows)} rounds instead of {rounds}")
    if math.isnan(rows[-1].values["accuracy"]):
        raise _UnusableError(f"the last round, {rounds - 1}, was not evaluated")
    columns = {name: np.array([row.values[name] for row in rows]) for name in VALUES}
    clients, averaged = (
        np.array([row.counts[name] for row in rows], dtype=np.int64) for name in ("clients", "averaged")
    )
    return Run(cell, columns, _by_class(rows), clients, averaged)


def _by_class(rows: list[_Row]) -> NDArray[np.float64]:
    """[T, classes]: the recall of each class, NaN where there is none."""
    classes = len(rows[-1].recalls)
    table = np.full((len(rows), classes), np.nan)
    for at, row in enumerate(rows):
        if row.recalls and len(row.recalls) != classes:
            raise _UnusableError(f"{CLASSES} has {len(row.recalls)} classes in round {at} and {classes} in the last")
        if row.recalls:
            table[at] = row.recalls
    return table


def _failure(phase: str, state: Path) -> Missing:
    path = state / phase / "failure.json"
    try:
        failure = json.loads(path.read_text(encoding="utf-8"))
        detail = " ".join(str(failure["reason"]).split())
        log = str(failure.get("log") or "")
    except FileNotFoundError:
        return Missing("not run yet", phase)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Missing("failed", phase, "for a reason that its failure.json does not tell")
    return Missing("failed", phase, detail, log)


def _read(path: Path, start: int) -> tuple[list[_Row], int | None]:
    """The rows of one phase, which must begin with round ``start``, and the round in which it diverged."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file, strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise _UnusableError(f"not readable as CSV ({error})") from None
    if not lines or tuple(lines[0]) != COLUMNS:
        raise _UnusableError("the header is not that of a history")
    if len(lines) == 1:
        raise _UnusableError("it holds no round")
    rows: list[_Row] = []
    for number, line in enumerate(lines[1:], start=2):
        if len(line) != len(COLUMNS):
            raise _UnusableError(f"line {number} has {len(line)} fields instead of {len(COLUMNS)}")
        texts = dict(zip(COLUMNS, line, strict=True))
        expected = start + len(rows)
        if (got := _count(number, "round", texts["round"])) != expected:
            raise _UnusableError(f"line {number} is round {got} where round {expected} should follow")
        row = _row(number, texts)
        if texts["status"] == "diverged" and number == len(lines):
            return rows, got
        if texts["status"] != "ok":
            raise _UnusableError(f"line {number} has the status {texts['status']!r}")
        rows.append(row)
    return rows, None


def _row(number: int, texts: dict[str, str]) -> _Row:
    counts = {name: _count(number, name, texts[name]) for name in COUNTS}
    if counts["averaged"] > counts["clients"]:
        raise _UnusableError(f"line {number} has more models averaged than clients trained")
    values = {name: _value(number, name, texts[name]) for name in VALUES}
    recalls = tuple(_recall(number, text) for text in texts[CLASSES].split(" ")) if texts[CLASSES] else ()
    blank = {math.isnan(values[name]) for name in SHARES}
    if len(blank) > 1 or blank == {bool(recalls)}:
        raise _UnusableError(f"line {number} has some of the evaluation's values but not all")
    if blank == {True} and not all(math.isnan(values[name]) for name in (*LOSSES, *RECONSTRUCTION, DIVERGENCE)):
        raise _UnusableError(f"line {number} has losses without an evaluation")
    return _Row(counts, values, recalls)


def _recall(number: int, text: str) -> float:
    """One class's entry."""
    return math.nan if text == "-" else _finite(number, CLASSES, text)


def _count(number: int, name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise _UnusableError(f"line {number}: {name} is {text!r}, not a count")
    return int(text)


def _value(number: int, name: str, text: str) -> float:
    """The number in a field, NaN where it is blank; a spelled-out NaN is no number and no blank either."""
    return _finite(number, name, text) if text else math.nan


def _finite(number: int, name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise _UnusableError(f"line {number}: {name} is {text!r}, not a finite number")
    if name in _SHARES and not 0 <= value <= 1:
        raise _UnusableError(f"line {number}: {name} is {text}, not a share between 0 and 1")
    if name == DIVERGENCE and value < 0:
        raise _UnusableError(f"line {number}: {name} is {text}, less than 0")
    return value
