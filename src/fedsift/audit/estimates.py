"""Mean and 95 % interval over seeds, computed a second time."""

import statistics
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple


class Estimate(NamedTuple):
    """Mean over n seeds with its interval, which one seed has not."""

    mean: float
    low: float | None
    high: float | None
    n: int

    @property
    def half(self) -> float | None:
        """Half the interval."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2


def estimate(values: Mapping[int, float]) -> Estimate | None:
    """Of values by seed; None without any."""
    if not values:
        return None
    mean = statistics.fmean(values.values())
    if len(values) == 1:
        return Estimate(mean, None, None, 1)
    half = _quantile(len(values) - 1) * statistics.stdev(values.values()) / len(values) ** 0.5
    return Estimate(mean, mean - half, mean + half, len(values))


def paired(values: Mapping[int, float], others: Mapping[int, float]) -> Estimate | None:
    """Of the differences, over the seeds that both have."""
    return estimate({seed: values[seed] - others[seed] for seed in values if seed in others})


@cache
def _quantile(freedom: int) -> float:
    """t(0.975) with so many degrees of freedom."""
    from scipy.stats import t

    return float(t.ppf(0.975, freedom))
