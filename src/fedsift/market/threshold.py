"""The density threshold of a sample of bids (incentive spec, 5; Algorithm 1 of the IAOFL paper)."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from fedsift.section import Section

Variant = Literal["T1", "T2"]
TIE = 1 + 1e-12
"""Rounding must not shut out a sample that asks for exactly its share of the budget."""


class ThresholdOptions(Section):
    """The listing of Algorithm 1 is lost; these are what its ancestors differ in."""

    threshold: Variant = Field(
        "T1",
        description="`T1`: rho = V(J) / (delta B'); `T2`: at least the density of the first sample outside J, so that "
        "the posted prices fit the budget on the sample.",
    )
    delta: float = Field(1.0, ge=1, description="Divides V(J) / B': above 1 it lowers the threshold, so prices rise.")


def density(v: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """d_i = v_i / b_i, [n]; inf for a bid of 0."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(v / b)


def room(d: NDArray[np.float64], budget: float) -> NDArray[np.float64]:
    """B' d_k, [n]: the most that a prefix which ends with sample k may be worth."""
    with np.errstate(over="ignore"):
        return np.asarray(budget * TIE * d)


def prefix(v: NDArray[np.float64], b: NDArray[np.float64], budget: float) -> tuple[NDArray[np.int64], int]:
    """The longest prefix J, by density, with b_k <= v_k B' / sum_{j in J + k} v_j for each member k.

    The left side of sum_{j <= k} v_j <= B' d_k rises with k and the right side falls, so a single sort finds J. Samples
    of equal density go in the order given. O(n log n).

    Args:
        v: [n] values above 0.
        b: [n] bids.
        budget: B', above 0.

    Returns:
        [n] the places of all samples by density, largest first, and how many of them are J.
    """
    d = density(v, b)
    order = np.argsort(-d, kind="stable")
    return order, int(np.count_nonzero(np.cumsum(v[order]) <= room(d[order], budget)))


def threshold(
    v: NDArray[np.float64], b: NDArray[np.float64], budget: float, how: ThresholdOptions | None = None
) -> float | None:
    """``rho`` of a sample of bids, in value per price; None where J is empty.

    Args:
        v: [n] values above 0: latest qualities, or ones.
        b: [n] bids.
        budget: B', above 0.
        how: variant and delta; the defaults if None.
    """
    order, k = prefix(v, b, budget)
    if k == 0:
        return None
    outside = order[k : k + 1]
    next_density = float(density(v[outside], b[outside]).sum())
    return rho(float(v[order[:k]].sum()), next_density, budget, how or ThresholdOptions())


def rho(V: float, next_density: float, budget: float, how: ThresholdOptions) -> float:
    """The threshold for a prefix of value ``V`` that is followed by a sample of ``next_density`` (0: by none)."""
    per_budget = V / (how.delta * budget)
    return per_budget if how.threshold == "T1" else max(per_budget, next_density)
