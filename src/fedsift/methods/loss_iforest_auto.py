"""Loss-space isolation forest that is not told the noise rate but guesses it at each fit."""

from fedsift.methods.loss_iforest import LossIforest
from fedsift.selection.detectors import Fit, fit_iforest
from fedsift.selection.mixture import fit_estimated
from fedsift.selection.refitted import RefitOptions


class LossIforestAuto(LossIforest):
    """`contamination` is the weight of the high mode of two Gaussians on the losses that the detector is fitted on."""

    Options = RefitOptions

    def fit(self) -> Fit:
        """The detector at the estimated rate."""
        return fit_estimated(fit_iforest)


METHOD = LossIforestAuto
