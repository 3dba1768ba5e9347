"""From contributions to shares of the budget (EMFedAvg spec, 5: profit sharing of the cited FLI paper)."""

import numpy as np


def shares(u: np.ndarray, budget: float = 1.0) -> np.ndarray:
    """u_i(t) / sum_j u_j(t) B(t), [m], for contributions ``u`` [m]; not negative, and ``budget`` together.

    A negative u_i counts as 0, so that nobody has to pay; where no u_i is positive, all get the same.

    Raises:
        ValueError: nobody takes part, a u_i is not finite, or the budget is negative.
    """
    if len(u) == 0 or not np.isfinite(u).all():
        raise ValueError("the contributions must be finite numbers, one a participant.")
    if not (np.isfinite(budget) and budget >= 0):
        raise ValueError(f"the budget {budget:g} must be finite and at least 0.")
    positive = np.maximum(u, 0)
    if positive.max() == 0:
        return np.full(len(u), budget / len(u))
    # Of the largest: sums of huge numbers do not overflow, and tiny ones keep their digits.
    parts = positive / positive.max()
    return np.asarray(parts / parts.sum() * budget)
