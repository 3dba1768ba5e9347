"""A CSV of the tables, and the tally of its numbers that were computed again."""

import csv
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fedsift.audit.estimates import Estimate
from fedsift.audit.findings import Finding

RELATIVE, ABSOLUTE = 1e-9, 1e-11
"""How far a number at full precision may lie from ours: sums of floats depend on their order."""
ADVICE = "make the tables again from these histories"

Row = dict[str, str]

_NUMBER = re.compile(r"[+-]?\d+(?:\.(\d+))?")


class NotHere(Exception):
    """The file is not there, or no table."""


@dataclass
class Tally:
    """What came of one file: how many numbers hold, and which do not."""

    file: str
    numbers: int = 0
    findings: list[Finding] = field(default_factory=list)
    skipped: str = ""
    """What of it was not computed again, and why."""

    def wrong(self, where: str, expected: str, found: str) -> None:
        """Note a number that is not what the runs come to."""
        self.findings.append(Finding(f"{self.file}: {where}", expected, found or "nothing", ADVICE))

    def number(self, where: str, text: str, expected: float | int | None) -> None:
        """One number at full precision; blank where there is none."""
        self.numbers += 1
        if expected is None or not text:
            if text or expected is not None:
                self.wrong(where, "nothing" if expected is None else repr(expected), text)
            return
        try:
            close = math.isclose(float(text), expected, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
        except ValueError:
            close = False
        if not close:
            self.wrong(where, repr(expected), text)

    def interval(self, where: str, row: Row, ours: Estimate | None, prefix: str = "", mean: str = "mean") -> None:
        """Mean, interval and n, in four columns."""
        names = (mean, f"{prefix}low", f"{prefix}high")
        values = (ours.mean, ours.low, ours.high) if ours else (None, None, None)
        for name, value in zip(names, values, strict=True):
            self.number(f"{where} {name}", row.get(name, ""), value)
        self.number(f"{where} {prefix}n", row.get(f"{prefix}n", ""), ours.n if ours else 0)

    def words(self, where: str, text: str, expected: str) -> None:
        """Text that follows from numbers."""
        if text != expected:
            self.wrong(where, repr(expected), repr(text))

    def printed(self, where: str, text: str, expected: Sequence[float | None]) -> None:
        """Rounded numbers of a table's cell, in order: `87.24 ± 2.65 [a]`. None without a figure: a dash."""
        wanted = [value for value in expected if value is not None]
        body = re.sub(r" \[[a-z]+\]$", "", text)
        found = list(_NUMBER.finditer(body))
        self.numbers += max(1, len(wanted))
        if len(found) == len(wanted) and all(map(_rounds, found, wanted)):
            return
        self.wrong(where, " ± ".join(f"{value:.6g}" for value in wanted) or "a dash", repr(text))


def _rounds(found: re.Match[str], value: float) -> bool:
    """Whether a printed number is a value, rounded to the digits that are printed."""
    digits = len(found[1] or "")
    return abs(float(found[0]) - value) <= 0.5 * 10.0**-digits + 1e-9 * max(1, abs(value))


def rows(path: Path) -> list[Row]:
    """The rows of a table at full precision.

    Raises:
        NotHere: the file is not there, or no CSV.
    """
    head, *lines = table(path)
    if any(len(line) != len(head) for line in lines):
        raise NotHere("a line is not as long as the first")
    return [dict(zip(head, line, strict=True)) for line in lines]


def table(path: Path) -> list[list[str]]:
    """The lines of a CSV; one at least.

    Raises:
        NotHere: the file is not there, or no CSV.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file, strict=True))
    except (OSError, ValueError, csv.Error) as error:
        raise NotHere(getattr(error, "strerror", None) or str(error)) from None
    if not lines:
        raise NotHere("an empty file")
    return lines


def keyed(
    tally: Tally, found: list[Row], names: Sequence[str], wanted: Sequence[tuple[str, ...]]
) -> dict[tuple[str, ...], Row]:
    """Rows by what they are of; one that is missing, too many or there twice is noted."""
    places: dict[tuple[str, ...], Row] = {}
    for row in found:
        place = tuple(row.get(name, "") for name in names)
        if place in places:
            tally.wrong("/".join(place), "one row", "two")
        places[place] = row
    for place in dict.fromkeys(wanted):
        if place not in places:
            tally.wrong("/".join(place), "a row", "none")
    for place in places.keys() - set(wanted):
        tally.wrong("/".join(place), "no such row", "one")
    return places
