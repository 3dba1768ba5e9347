"""Who wins a round and at what price (incentive spec, 6; Algorithms 2 and 3 of the IAOFL paper)."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fedsift.market.threshold import density

Rule = Literal["skip", "fill"]


def select(
    q: NDArray[np.float64],
    b: NDArray[np.float64],
    rho: NDArray[np.float64],
    min_num: int,
    max_num: int,
    rule: Rule = "skip",
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Winners of a round and their critical prices, before the budget is looked at. O(n log n).

    Those with d_i >= rho_i qualify; the max_num densest of them win. If fewer than min_num qualify: nobody wins
    (`skip`, rule K of the spec), or the densest of the others fill up (`fill`, rule F). Bidders of equal density go in
    the order of their arrival.

    A winner is paid its critical price min(q_i / rho*_i, 1), the highest bid with which it still wins, where rho*_i is
        max(rho_i, density of the first that qualifies and does not win), or
        min(rho_i, density of the first that neither qualifies nor wins) with `fill` and at most min_num qualified,
    0 standing for nobody. With one rho for all, rho*_i is the median of rho and of the max_num-th and min_num-th
    densities among the others; with `skip`, their max_num-th or rho, whichever is larger. Source: Myerson 1981; the
    spec derives the closed form.

    Args:
        q: [n] qualities, in (0, 1].
        b: [n] bids, in [0, 1], in the order of their arrival.
        rho: [n] the threshold for each bidder.
        min_num: fewest winners, if there are any.
        max_num: most winners.
        rule: what happens where too few qualify.

    Returns:
        [h] places of the winners, in the order of their arrival, and [h] their prices.
    """
    d = density(q, b)
    order = np.argsort(-d, kind="stable")
    reach = (d >= rho)[order]
    Q, U = order[reach], order[~reach]
    n = len(Q)
    if n < min_num and (rule == "skip" or len(d) < min_num):
        return np.empty(0, dtype=np.int64), np.empty(0)
    W = np.sort(np.concatenate([Q[:max_num], U[: max(min_num - n, 0)]]))
    if rule == "fill" and n <= min_num:
        rho_star = np.minimum(rho[W], _density_at(d, U, min_num - n))
    else:
        rho_star = np.maximum(rho[W], _density_at(d, Q, max_num))
    with np.errstate(divide="ignore"):
        price = np.minimum(q[W] / rho_star, 1.0)
    # Rounding must not pay a winner less than it asks for.
    return W, np.maximum(price, b[W])


def affordable(price: NDArray[np.float64], spent: float, budget: float) -> tuple[NDArray[np.bool_], float]:
    """[h] bool, who is paid out of what is left, in the order of arrival, and what is spent of ``budget`` after that.

    One that is too dear is passed over, and later ones are still tried. Adding up, instead of taking off, keeps the sum
    of all prices within the budget to the last bit.
    """
    kept = np.zeros(len(price), dtype=bool)
    for k, p in enumerate(price.tolist()):
        if spent + p <= budget:
            kept[k] = True
            spent += p
    return kept, spent


def _density_at(d: NDArray[np.float64], ranked: NDArray[np.int64], place: int) -> float:
    return float(d[ranked[place]]) if place < len(ranked) else 0.0
