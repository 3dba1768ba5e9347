"""Loss-space one-class SVM that is not told the noise rate but guesses it at each fit."""

from fedsift.methods.loss_ocsvm import LossOcsvm
from fedsift.selection.detectors import Fit, fit_ocsvm
from fedsift.selection.mixture import fit_estimated
from fedsift.selection.refitted import RefitOptions


class LossOcsvmAuto(LossOcsvm):
    """`contamination` is the weight of the high mode of two Gaussians on the losses that the detector is fitted on."""

    Options = RefitOptions

    def fit(self) -> Fit:
        """The detector at the estimated rate."""
        return fit_estimated(fit_ocsvm)


METHOD = LossOcsvmAuto
