"""Loss-space one-class SVM whose selection sets in gradually instead of all at once."""

from fedsift.methods.loss_ocsvm import LossOcsvm
from fedsift.selection.soft import SoftStart


class LossOcsvmSoft(SoftStart, LossOcsvm):
    """The same detector, fitted from `first` on; until `start` only some of its outliers are dropped."""


METHOD = LossOcsvmSoft
