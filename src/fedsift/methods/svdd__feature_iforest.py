"""Federated multi-class SVDD, and an isolation forest on the embedding that it shapes (MTAE spec, 5.5 and 5.6)."""

from fedsift.methods.feature_iforest import FeatureIforest
from fedsift.methods.svdd__feature_ocsvm import SvddFeatureOcsvm


class SvddFeatureIforest(SvddFeatureOcsvm):
    """The same, with an isolation forest."""

    names = ("svdd", "feature-iforest")
    detector = FeatureIforest


METHOD = SvddFeatureIforest
