"""Read the histories of a run's phases; whatever is wrong with them becomes a reason, never a number."""

import csv
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from fedsift.results.runs import DETECTION, LOSSES, METRICS, RECONSTRUCTION, SHARES, Run
from fedsift.specs import CellSpec

COUNTS = ("clients", "samples", "used")
COLUMNS = ("round", "status", *COUNTS, *METRICS, *DETECTION)

_SHARES = frozenset((*SHARES, *DETECTION))


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


_Row = dict[str, float]


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
    if len(rows) != rounds:
        return Missing("unusable history", phase, f"the phases cover {len(rows)} rounds instead of {rounds}")
    if math.isnan(rows[-1]["accuracy"]):
        return Missing("unusable history", phase, f"the last round, {rounds - 1}, was not evaluated")
    return Run(cell, {name: np.array([row[name] for row in rows]) for name in (*METRICS, *DETECTION)})


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
    for name in COUNTS:
        _count(number, name, texts[name])
    row = {name: _value(number, name, texts[name]) for name in (*METRICS, *DETECTION)}
    if len({math.isnan(row[name]) for name in SHARES}) > 1:
        raise _UnusableError(f"line {number} has some of the evaluation's values but not all")
    if math.isnan(row["accuracy"]) and not all(math.isnan(row[name]) for name in (*LOSSES, *RECONSTRUCTION)):
        raise _UnusableError(f"line {number} has losses without an evaluation")
    return row


def _count(number: int, name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise _UnusableError(f"line {number}: {name} is {text!r}, not a count")
    return int(text)


def _value(number: int, name: str, text: str) -> float:
    """The number in a field, NaN where it is blank; a spelled-out NaN is no number and no blank either."""
    if text == "":
        return math.nan
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise _UnusableError(f"line {number}: {name} is {text!r}, not a finite number")
    if name in _SHARES and not 0 <= value <= 1:
        raise _UnusableError(f"line {number}: {name} is {text}, not a share between 0 and 1")
    return value
