"""EMFedAvg's own contribution: the nearer a participant's labels are to everybody's, the more it counts (spec, 5).

The paper's formula is lost; what is left is that alpha is adjustable, that b is a bias term and that the distance is
the EMD.
"""

from typing import Literal

import numpy as np

Form = Literal["linear", "inverse"]


def contribution(
    emd: np.ndarray, alpha: float = 1.0, b: float = 2.0, form: Form = "linear", nearest: float = 0.01
) -> np.ndarray:
    """u_i(t) = b - alpha EMD_i(t), or alpha / EMD_i(t) + b; [m], falling with the distance.

    A negative u_i counts as 0 in ``shares``, which makes the linear one max(0, b - alpha EMD_i); here it stays as it
    is, so that a reader sees who was clipped.

    Args:
        emd: EMD_i, [m], at least 0.
        alpha: weight of the distance.
        b: the bias; at 2 or more no participant is clipped by alpha = 1, because EMD_i < 2.
        form: which of the two.
        nearest: smaller distances count as this one in the inverse form, which is infinite at 0.

    Raises:
        ValueError: a distance is negative or none.
    """
    if not (np.isfinite(emd).all() and (emd >= 0).all()):
        raise ValueError("the distances must be finite and at least 0.")
    if form == "linear":
        return np.asarray(b - alpha * emd)
    return np.asarray(alpha / np.maximum(emd, nearest) + b)
