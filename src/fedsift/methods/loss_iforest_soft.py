"""Loss-space isolation forest whose selection sets in gradually instead of all at once."""

from fedsift.methods.loss_iforest import LossIforest
from fedsift.selection.soft import SoftStart


class LossIforestSoft(SoftStart, LossIforest):
    """The same detector, fitted from `first` on; until `start` only some of its outliers are dropped."""


METHOD = LossIforestSoft
