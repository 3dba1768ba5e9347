"""Loss-space one-class SVM (MTAE spec, 5.2)."""

import numpy as np

from fedsift.methods.base import Signal, Signals
from fedsift.selection.detectors import Fit, fit_ocsvm
from fedsift.selection.refitted import RefittedDetector
from fedsift.selection.vectors import loss_vectors


class LossOcsvm(RefittedDetector):
    """v_j = (lambda_cls CE_j, lambda_rec MSE_j); outliers of OneClassSVM(nu = contamination) are dropped."""

    def signals(self, round_: int) -> frozenset[Signal]:
        """The loss terms."""
        return frozenset({"losses"})

    def vectors(self, signals: Signals) -> np.ndarray:
        """The loss points."""
        return loss_vectors(signals)

    def fit(self) -> Fit:
        """One-class SVM."""
        return fit_ocsvm(self.options.contamination)


METHOD = LossOcsvm
