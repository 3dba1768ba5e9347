"""Isolation forest on more than the losses: how wrong, how badly rebuilt, and how sure of itself the prediction is."""

import numpy as np

from fedsift.methods.base import Client, Signal, Signals
from fedsift.methods.loss_iforest import LossIforest
from fedsift.selection.vectors import rich_vectors


class LossIforestRich(LossIforest):
    """v_j = (lambda_cls CE_j, lambda_rec MSE_j, 1 - p_j(y_j), H(p_j) / log k)."""

    def signals(self, round_: int) -> frozenset[Signal]:
        """The loss terms and the predictions."""
        return frozenset({"losses", "logits"})

    def points(self, client: Client, signals: Signals) -> np.ndarray:
        """The points."""
        return rich_vectors(signals, client.labels)


METHOD = LossIforestRich
