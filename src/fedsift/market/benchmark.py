"""What a publisher who knew all bids in advance would get (for regret)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedsift.errors import FedsiftError
from fedsift.market.log import BidLog
from fedsift.market.threshold import density, prefix


@dataclass(frozen=True, eq=False)
class Benchmark:
    """The offline proportional-share optimum.

    Attributes:
        value: V(J), sum of the qualities of the hired.
        rho: V(J) / B; a hire costs q_i / rho, and all of them B.
        hired: [n] bool, J.
    """

    value: float
    rho: float
    hired: NDArray[np.bool_]


def proportional_share(log: BidLog, budget: float) -> Benchmark:
    """The most quality that one price per unit of quality, the same for all, buys from the whole log by density.

    J is the longest prefix of all bids of all rounds, by density d = q/b, in which every member takes its proportional
    share of the budget: b_k <= q_k B / sum_{j in J} q_j. Each is paid that share, so the whole budget is spent. There
    are no rounds, stages or limits of the number: only the budget binds, each bid may be taken once, and bids are taken
    as true costs. Any other set whose members all accept their proportional share is worth less than V(J) plus the
    quality of the first bid left out, so at most one client is lost against the best of them. It is no upper bound for
    mechanisms whose prices differ between stages. Source: Singer's proportional share (spec, 5).

    Args:
        log: of the run.
        budget: B, above 0.

    Raises:
        FedsiftError: a budget that is none.
    """
    _check(budget)
    order, k = prefix(log.q, log.b, budget)
    hired = np.zeros(len(log), dtype=bool)
    hired[order[:k]] = True
    value = float(log.q[hired].sum())
    return Benchmark(value, value / budget, hired)


def knapsack_bound(log: BidLog, budget: float) -> float:
    """The most quality that any hiring whose prices are at least the bids can get out of the log for the budget.

    max sum_i q_i x_i subject to sum_i b_i x_i <= B and 0 <= x_i <= 1: the bids by density, the last one in part. Whole
    clients, stages, limits of the number and prices above the bids can only lower it. Bids are taken as true costs.
    Source: Dantzig 1957.

    Args:
        log: of the run.
        budget: B, above 0.

    Raises:
        FedsiftError: a budget that is none.
    """
    _check(budget)
    order = np.argsort(-density(log.q, log.b), kind="stable")
    q, b = log.q[order], log.b[order]
    cost = np.cumsum(b)
    k = int(np.count_nonzero(cost <= budget))
    value = float(q[:k].sum())
    if k < len(log):
        value += float(q[k] * (budget - (cost[k] - b[k])) / b[k])
    return value


def _check(budget: float) -> None:
    if not (np.isfinite(budget) and budget > 0):
        raise FedsiftError(f"the benchmark has the budget {budget}; give it a number above 0.")
