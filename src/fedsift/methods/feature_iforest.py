"""Feature-space isolation forest (MTAE spec, 5.5)."""

from fedsift.methods.feature_ocsvm import FeatureOcsvm
from fedsift.selection.detectors import Fit, fit_iforest


class FeatureIforest(FeatureOcsvm):
    """The same points and timing as the SVM, with an isolation forest."""

    def fit(self) -> Fit:
        """Isolation forest."""
        return fit_iforest(self.options.contamination)


METHOD = FeatureIforest
