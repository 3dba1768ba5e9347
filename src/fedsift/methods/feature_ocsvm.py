"""Feature-space one-class SVM (MTAE spec, 5.5)."""

import numpy as np
from pydantic import Field

from fedsift.methods.base import Signal, Signals, Start
from fedsift.selection.detectors import Fit, fit_ocsvm
from fedsift.selection.refitted import DetectorOptions, RefittedDetector
from fedsift.selection.vectors import embedding_vectors


class FeatureOptions(DetectorOptions):
    """As in loss space, but later."""

    start: Start = Field(0.6, description="t_s: first round of selection, or share of the rounds (0.6 is 600 of 1000).")


class FeatureOcsvm(RefittedDetector):
    """v_j = z_j, the embedding as it is; outliers of OneClassSVM(nu = contamination) are dropped."""

    Options = FeatureOptions

    def signals(self, round_: int) -> frozenset[Signal]:
        """The embedding."""
        return frozenset({"embedding"})

    def vectors(self, signals: Signals) -> np.ndarray:
        """The embedding."""
        return embedding_vectors(signals)

    def fit(self) -> Fit:
        """One-class SVM."""
        return fit_ocsvm(self.options.contamination)


METHOD = FeatureOcsvm
