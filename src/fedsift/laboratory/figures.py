"""What a mechanism achieved on a log, in numbers."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedsift.laboratory.play import Played
from fedsift.market.benchmark import knapsack_bound, proportional_share
from fedsift.market.log import BidLog
from fedsift.market.stages import Stages

Value = float | int | None


@dataclass(frozen=True)
class Offline:
    """What one who knew all bids would get for the same budget.

    Attributes:
        share: V(J) of the proportional share: one price per unit of quality for all.
        bound: no hiring at prices of at least the bids is worth more.
    """

    share: float
    bound: float

    @classmethod
    def of(cls, log: BidLog, budget: float) -> "Offline":
        """Of all bids of ``log``."""
        return cls(proportional_share(log, budget).value, knapsack_bound(log, budget))


def figures(played: Played, log: BidLog, offline: Offline) -> dict[str, Value]:
    """The row of a mechanism in `summary.csv`; means are None without hires.

    `value` is the sum of q over all hires, `overpayment` the mean of p - b. Regrets are what is missing to the values
    of ``offline``.
    """
    q, b, h = log.q[played.row], log.b[played.row], len(played.row)
    value, trained = math.fsum(q), int(np.count_nonzero(played.hired))
    return {
        "hires": h,
        "trained_rounds": trained,
        "empty_rounds": len(played.hired) - trained,
        "hires_a_trained_round": h / trained if trained else None,
        "spend": math.fsum(played.price),
        "value": value,
        "mean_price": math.fsum(played.price) / h if h else None,
        "mean_bid": math.fsum(b) / h if h else None,
        "mean_overpayment": math.fsum(played.price - b) / h if h else None,
        "value_of_proportional_share": offline.share,
        "regret_to_proportional_share": offline.share - value,
        "upper_bound": offline.bound,
        "regret_to_upper_bound": offline.bound - value,
    }


def by_stage(stages: Stages, values: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.float64]:
    """[L], sums of ``values``, [T], over the rounds of each stage."""
    return np.asarray(np.add.reduceat(values, [0, *stages.e[:-1]]))


def stage_columns(played: Played, stages: Stages) -> Mapping[str, NDArray[np.float64] | NDArray[np.int64]]:
    """Columns of `stages.csv`, [L] each; a mechanism without stages has figures for the same rounds all the same."""
    return {
        "stage": np.arange(1, stages.L + 1),
        "first_round": np.array([1, *(e + 1 for e in stages.e[:-1])]),
        "last_round": np.array(stages.e),
        "budget": np.array(stages.B),
        "bidders": by_stage(stages, played.bidders),
        "hired": by_stage(stages, played.hired),
        "trained_rounds": by_stage(stages, (played.hired > 0).astype(np.int64)),
        "spent": by_stage(stages, played.spent),
    }
