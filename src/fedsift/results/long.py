"""Long tables as CSV: one number a row, at full precision."""

import csv
import io
from collections.abc import Iterable, Mapping

from fedsift.results.statistics import Estimate
from fedsift.results.verdicts import Comparison

Value = str | int | float | None
Row = Mapping[str, Value]


def interval(ours: Estimate | None, prefix: str = "") -> dict[str, Value]:
    """Columns of a mean over seeds."""
    if ours is None:
        return {f"{prefix}n": 0}
    return {
        f"{prefix}mean": ours.mean,
        f"{prefix}low": ours.low,
        f"{prefix}high": ours.high,
        f"{prefix}n": ours.n,
    }


def printed(comparison: Comparison, name: str = "paper", prefix: str = "") -> dict[str, Value]:
    """Columns of the paper's number beside ours."""
    entry = comparison.printed
    return {
        name: entry.value if entry else None,
        f"{name}_source": entry.source if entry else None,
        f"{prefix}difference": comparison.difference,
        f"{prefix}verdict": str(comparison.verdict),
    }


def text(columns: Iterable[str], rows: Iterable[Row]) -> str:
    """The file; what a row lacks is blank."""
    buffer = io.StringIO()
    # The writer prints floats by repr: shortest text that reads back as the same number.
    writer = csv.DictWriter(buffer, list(columns), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()
