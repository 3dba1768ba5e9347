"""The general earth mover's distance between two signatures (EMFedAvg spec, 3; Rubner, Tomasi and Guibas 2000)."""

from dataclasses import dataclass

import numpy as np
import ot
from numpy.typing import ArrayLike, NDArray

_EQUAL = 1e-12
"""Totals that differ by no more than this share differ by rounding alone."""
_STEPS = 10_000_000
"""Of the network simplex; a thousand bins on either side take some ten thousand."""


@dataclass(frozen=True, eq=False)
class Transport:
    """The cheapest way to turn one signature into the other.

    Attributes:
        distance: EMD(P, Q), in units of the ground distance.
        flow: f_ij, [m, n]; their sum is the smaller of the two total weights.
    """

    distance: float
    flow: NDArray[np.float64]


def signature_emd(w_p: ArrayLike, w_q: ArrayLike, d: ArrayLike) -> Transport:
    """EMD(P, Q) = sum_ij d_ij f_ij / sum_ij f_ij for P = {(p_i, w_p_i)}, Q = {(q_j, w_q_j)} and the cheapest flow f.

    The flow satisfies f_ij >= 0, sum_j f_ij <= w_p_i, sum_i f_ij <= w_q_j and sum_ij f_ij = min(sum_i w_p_i,
    sum_j w_q_j): with unequal totals the lighter signature is matched to a part of the heavier one. Between
    distributions over classes, with d_ij = 1 for i != j, it is half of ``fedsift.emd.labels.label_emd``.

    Args:
        w_p: [m] weights of the first signature, not negative and not all 0.
        w_q: [n] weights of the second, likewise.
        d: [m, n] ground distances d(p_i, q_j), not negative.

    Raises:
        ValueError: a weight or a distance that is none, an empty signature, or shapes that do not fit.
    """
    first, second = _weights(w_p, "w_p"), _weights(w_q, "w_q")
    ground = np.asarray(d, dtype=np.float64)
    if ground.shape != (len(first), len(second)):
        raise ValueError(f"d has shape {ground.shape}, but the weights ask for {(len(first), len(second))}.")
    if not (np.isfinite(ground).all() and (ground >= 0).all()):
        raise ValueError("d must hold finite distances of at least 0.")
    heavier = max(first.sum(), second.sum())
    a, b, cost = first / heavier, second / heavier, ground
    # What the heavier signature has too much goes to a bin of its own for nothing, and is no part of the flow.
    spare = a.sum() - b.sum()
    if spare > _EQUAL:
        b, cost = np.append(b, spare), np.pad(cost, ((0, 0), (0, 1)))
    elif spare < -_EQUAL:
        a, cost = np.append(a, -spare), np.pad(cost, ((0, 1), (0, 0)))
    # The solver's tolerance is absolute, so the largest distance is 1.
    largest = ground.max() or 1.0
    plan, log = ot.emd(a, b, np.ascontiguousarray(cost / largest), numItermax=_STEPS, log=True)
    if log["warning"]:
        raise ValueError(f"the transport problem was not solved: {log['warning']}.")
    flow = np.asarray(plan[: len(first), : len(second)])
    return Transport(float((ground * flow).sum() / flow.sum()), flow * heavier)


def _weights(weights: ArrayLike, name: str) -> NDArray[np.float64]:
    w = np.asarray(weights, dtype=np.float64)
    if w.ndim != 1 or len(w) == 0:
        raise ValueError(f"{name} must be a row of at least one weight, not an array of shape {w.shape}.")
    if not (np.isfinite(w).all() and (w >= 0).all()):
        raise ValueError(f"{name} must hold finite weights of at least 0.")
    with np.errstate(over="ignore"):
        total = w.sum()
    if total == 0:
        raise ValueError(f"the weights {name} are all 0, so there is nothing to move.")
    if not np.isfinite(total):
        raise ValueError(f"the weights {name} are too large to add up.")
    return w
