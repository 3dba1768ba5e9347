"""The distance that the EMFedAvg paper calculates in its section 3.3 (EMFedAvg spec, 3)."""

from collections.abc import Iterable

import numpy as np

DECIMALS = 12
"""Sums of equal terms in another order differ in the last bits; rounding lets equal participants tie."""


def label_counts(labels: Iterable[np.ndarray], classes: int) -> np.ndarray:
    """[m, classes] samples of each class that each participant holds, from their labels."""
    return np.stack([np.bincount(own, minlength=classes) for own in labels])


def label_emd(counts: np.ndarray, p: np.ndarray) -> np.ndarray:
    """EMD_k = sum_i |p_k(y = i) - p(y = i)|, in [0, 2).

    With a ground distance of 1 between any two classes the transport distance is half of it.

    Args:
        counts: [m, classes] samples of each class that each participant holds, at least one each.
        p: [classes] the distribution that they are compared with.

    Returns:
        [m], 0 where a participant's labels are distributed as ``p``.
    """
    p_k = counts / counts.sum(axis=1, keepdims=True)
    return np.asarray(np.round(np.abs(p_k - p).sum(axis=1), DECIMALS))
