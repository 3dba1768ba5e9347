"""Two Gaussians on the losses, the noisy-label field's usual detector (Arazo et al. 2019, DivideMix 2020)."""

from typing import Annotated

import numpy as np
from pydantic import Field

from fedsift.methods.base import Signal, Signals
from fedsift.selection.detectors import Fit
from fedsift.selection.mixture import fit_mixture
from fedsift.selection.refitted import RefitOptions, RefittedDetector
from fedsift.selection.vectors import total_loss


class MixtureOptions(RefitOptions):
    """No share of noisy samples is given: the mixture finds it."""

    threshold: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.5, description="Samples whose posterior of the high-loss mode exceeds this are dropped."
    )


class GmmLoss(RefittedDetector):
    """l_j = lambda_cls CE_j + lambda_rec MSE_j of all clients; dropped where p(high | l_j) > threshold."""

    Options = MixtureOptions

    def signals(self, round_: int) -> frozenset[Signal]:
        """The loss terms."""
        return frozenset({"losses"})

    def vectors(self, signals: Signals) -> np.ndarray:
        """The summed losses, [n, 1]."""
        return total_loss(signals)[:, None]

    def fit(self) -> Fit:
        """Two Gaussians."""
        return fit_mixture(self.options.threshold)


METHOD = GmmLoss
