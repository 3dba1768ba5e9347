"""Control: every client drops the samples with its highest loss; the simplest selection (MTAE spec, D18)."""

import numpy as np

from fedsift.methods.base import Client, Selection, Signal, Signals
from fedsift.methods.random_drop import RandomDrop, drop_highest
from fedsift.selection.vectors import total_loss


class TopLoss(RandomDrop):
    """l_j = lambda_cls CE_j + lambda_rec MSE_j; drop the floor(rate n) largest."""

    def signals(self, round_: int) -> frozenset[Signal]:
        """The loss terms."""
        return frozenset({"losses"})

    def select(self, round_: int, client: Client, signals: Signals, rng: np.random.Generator) -> Selection | None:
        """Rank by the summed loss."""
        l = total_loss(signals)
        return Selection(keep=drop_highest(l, self.options.rate), suspicion=l)


METHOD = TopLoss
