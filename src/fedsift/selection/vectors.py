"""From a client's signals to the arrays that detectors and thresholds work on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsift.methods.base import Signals

if TYPE_CHECKING:
    from torch import Tensor

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


def embedding_vectors(signals: Signals) -> np.ndarray:
    """z_j as it is: [n, d] float32, finite (MTAE spec, 5.5). Not doubles, which would only double the checkpoints."""
    if signals.embedding is None:
        raise AssertionError("the method has to ask for the signal 'embedding'")
    z = signals.embedding.cpu().numpy().astype(np.float32)
    return np.nan_to_num(z, nan=LIMIT, posinf=LIMIT, neginf=-LIMIT)


def rich_vectors(signals: Signals, labels: Tensor) -> np.ndarray:
    """The loss terms, 1 - p_j(y_j) and H(p_j) / log k: [n, m + 2] float64, finite.

    p_j is the prediction (softmax) of sample j, y_j the label that it holds, H the entropy, k the number of classes.
    The last two lie in [0, 1] however many classes there are: how wrong the prediction is, without the long tail of
    the cross-entropy, and how unsure of itself. KL(p_j | uniform) = log k - H(p_j) would say the same upside down.
    """
    if signals.logits is None:
        raise AssertionError("the method has to ask for the signal 'logits'")
    log_p = signals.logits.double().log_softmax(1)
    p = log_p.exp()
    wrong = 1 - p.gather(1, labels[:, None])[:, 0]
    entropy = -(p * log_p).sum(1) / np.log(max(2, p.shape[1]))
    shape = np.stack([wrong.cpu().numpy(), entropy.cpu().numpy()], axis=1)
    return np.concatenate([loss_vectors(signals), np.nan_to_num(shape, nan=LIMIT)], axis=1)
