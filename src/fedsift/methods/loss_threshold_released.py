"""AT as the MTAE authors released it, with a slip in an index (MTAE spec, 5.3, BUG; D4)."""

import numpy as np

from fedsift.methods.loss_threshold import LossThreshold


class LossThresholdReleased(LossThreshold):
    """The mask l_j >= l_t, in the samples' order, is laid over the numbers of the samples sorted by loss.

    With sigma(k) the sample of the k-th lowest loss, OT = {sigma(k) : l_k >= l_t} instead of {k : l_k >= l_t}: as many
    samples, but whether one is among them hangs on the loss of whichever sample happens to stand at its rank. Clients
    hold their samples in random order, so OT is a random set, and the rest of AT (p, uploads, threshold) is as stated.
    Sorting is ascending here; descending, the set would be another draw of the same law.
    """

    def over(self, l: np.ndarray) -> np.ndarray:
        """OT with the slip."""
        sigma = np.argsort(l, kind="stable")
        OT: np.ndarray = sigma[l >= self.l_t]
        return OT


METHOD = LossThresholdReleased
