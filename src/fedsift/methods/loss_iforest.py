"""Loss-space isolation forest (MTAE spec, 5.2)."""

from fedsift.methods.loss_ocsvm import LossOcsvm
from fedsift.selection.detectors import Fit, fit_iforest


class LossIforest(LossOcsvm):
    """The same points and timing as the SVM, with an isolation forest."""

    def fit(self) -> Fit:
        """Isolation forest."""
        return fit_iforest(self.options.contamination)


METHOD = LossIforest
