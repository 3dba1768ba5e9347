"""The history of a phase: one row a round, as a CSV that a person can read."""

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path

from fedsift.files import atomic

COLUMNS = (
    "round",
    "status",
    "clients",
    "samples",
    "used",
    "averaged",
    "accuracy",
    "balanced_accuracy",
    "macro_f1",
    "macro_precision",
    "macro_recall",
    "loss",
    "cross_entropy",
    "mse",
    "psnr",
    "ssim",
    "class_recall",
    "weight_divergence",
    "detection_precision",
    "detection_recall",
    "detection_auc",
)
"""Shares are in [0, 1], the PSNR is in dB; blank where a round has no such value. `status` is ok, or diverged in the
last row of a run whose model is no longer finite. Of the `clients` that trained, `averaged` had their models averaged.
`class_recall` holds the share of each class's test images that are recognised, from class 0 on, spaces between."""

Row = Mapping[str, int | float | str]


def write_history(path: Path, rows: Iterable[Row]) -> None:
    """Write atomically; floats with all the digits that they have."""
    with atomic(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
