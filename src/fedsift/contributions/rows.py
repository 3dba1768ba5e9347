"""The file of one round's contributions: a row a participant, with all digits."""

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from fedsift.contributions.schemes import SCHEMES
from fedsift.errors import FedsiftError
from fedsift.files import atomic

COLUMNS = (
    "status",
    "client",
    "samples",
    "used",
    "classes",
    "emd",
    *(f"{scheme}_{what}" for scheme in SCHEMES for what in ("u", "share")),
    "shapley_error",
    "v_nobody",
    "v_everybody",
    "evaluations",
)
"""`status` is ok; of a round whose models are not finite, or that follows a run that has diverged, there is one row
that says diverged and nothing else.

Of the client: its n_k `samples`, those that it has `used`, the `classes` among its labels, its label distance `emd` to
all labels. By scheme its contribution `u`, negative ones included, and its `share` of the budget; `shapley_error` is
the standard error of `shapley_u`, 0 where that is exact. The rest is about the round: the value of the model that it
begins with and of the average of all updates, and how many coalitions were valued.
"""

Row = Mapping[str, str | int | float]
DIVERGED: Row = {"status": "diverged"}


def write(path: Path, rows: Iterable[Row]) -> None:
    """Write atomically."""
    with atomic(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read(path: Path) -> list[dict[str, str]] | None:
    """The participants' rows as they are written; None of a round that has diverged.

    Raises:
        FedsiftError: the file is missing or is something else.
    """
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            rows = list(reader)
            if tuple(reader.fieldnames or ()) != COLUMNS or not rows:
                raise ValueError("its columns are others")
            if rows[0]["status"] == "diverged":
                return None
            for row in rows:
                _refuse_words(row)
            return rows
    except FileNotFoundError:
        raise FedsiftError(f"{path}: no such file; run its stage first.") from None
    except (OSError, ValueError, csv.Error) as error:
        raise FedsiftError(f"{path}: no contributions ({error}); delete it and run its stage again.") from None


def numbers(rows: Sequence[Mapping[str, str]], name: str) -> np.ndarray:
    """[m], a column of what was read."""
    return np.array([float(row[name]) for row in rows])


def _refuse_words(row: Mapping[str, str]) -> None:
    for name in COLUMNS[1:]:
        if not math.isfinite(float(row[name])):
            raise ValueError(f"{name} is {row[name]}")
