"""What one finished run came to."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fedsift.specs import CellSpec

Final = Literal["best", "last", "last-10"]
ATS: tuple[Final, ...] = ("best", "last", "last-10")
At = Final | int
"""Where a figure is read; a number is "after so many rounds", which is one more than the number of the round."""

SHARES = ("accuracy", "balanced_accuracy", "macro_f1", "macro_precision", "macro_recall")
LOSSES = ("loss", "cross_entropy", "mse")
RECONSTRUCTION = ("psnr", "ssim")
METRICS = (*SHARES, *LOSSES, *RECONSTRUCTION)
DIVERGENCE = "weight_divergence"
DETECTION = ("detection_precision", "detection_recall", "detection_auc")
VALUES = (*METRICS, DIVERGENCE, *DETECTION)

LAST = 10
"""Evaluations that the figure `last-10` averages (fewer where a run has fewer)."""


@dataclass(frozen=True)
class Run:
    """One run of a grid over all its rounds."""

    cell: CellSpec
    columns: Mapping[str, NDArray[np.float64]]
    """Evaluation and detection columns of the history (`VALUES`), each of shape [T], NaN where blank."""
    class_recall: NDArray[np.float64]
    """[T, classes]: share of each class's test images that are recognised, NaN where there is none."""
    clients: NDArray[np.int64]
    """[T]: clients that trained."""
    averaged: NDArray[np.int64]
    """[T]: how many of their models were averaged."""

    @cached_property
    def evaluated(self) -> NDArray[np.int64]:
        """Rounds in which the global model was tested, ascending."""
        return np.flatnonzero(~np.isnan(self.columns["accuracy"]))

    @cached_property
    def selecting(self) -> NDArray[np.int64]:
        """Rounds in which samples were selected: those with any detection figure, ascending."""
        return np.flatnonzero(np.any([~np.isnan(self.columns[name]) for name in DETECTION], axis=0))

    @cached_property
    def best_round(self) -> int:
        """The evaluated round with the highest test accuracy, the first of several.

        Chosen on the test set, as the MTAE paper does, and so biased upwards.
        """
        return int(self.evaluated[np.argmax(self.columns["accuracy"][self.evaluated])])

    @property
    def last_round(self) -> int:
        """The last evaluated round, T-1."""
        return int(self.evaluated[-1])

    def final(self, metric: str, at: At) -> float | None:
        """A metric at the best or the last round or after so many rounds, or its mean over the last 10 evaluations.

        None where blank. All metrics `at` best are read at the round with the best accuracy.
        """
        column = self.columns[metric]
        if isinstance(at, int):
            return _number(column[at - 1]) if 0 < at <= len(column) else None
        if at == "last-10":
            return _mean(column[self.evaluated[-LAST:]])
        return _number(column[self.best_round if at == "best" else self.last_round])

    def detection(self, metric: str) -> float | None:
        """Mean of a detection figure over the rounds with selection, each counted once; None without selection.

        A round in which it is undefined (AUC when all clients are clean, say) is left out of this figure only.
        """
        column = self.columns[metric][self.selecting]
        return _mean(column[~np.isnan(column)])


def _mean(values: NDArray[np.float64]) -> float | None:
    return _number(values.mean()) if len(values) else None


def _number(value: np.float64) -> float | None:
    return None if np.isnan(value) else float(value)
