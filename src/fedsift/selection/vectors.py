"""From a client's signals to the arrays that detectors and thresholds work on."""

import numpy as np

from fedsift.methods.base import Signals

LIMIT = 1e6
"""A loss that is infinite or not a number counts as this much (MTAE spec, 5.2)."""


def loss_vectors(signals: Signals) -> np.ndarray:
    """v_j = (lambda_cls CE_j, lambda_rec MSE_j): [n, m] float64, finite (MTAE spec, 5.2)."""
    if signals.losses is None:
        raise AssertionError("the method has to ask for the signal 'losses'")
    v = signals.losses.cpu().numpy().astype(np.float64)
    return np.nan_to_num(v, nan=LIMIT, posinf=LIMIT, neginf=-LIMIT)


def total_loss(signals: Signals) -> np.ndarray:
    """l_j = lambda_cls CE_j + lambda_rec MSE_j: [n] float64, finite (MTAE spec, 5.3)."""
    l: np.ndarray = loss_vectors(signals).sum(axis=1)
    return l
