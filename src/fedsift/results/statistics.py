"""Means over seeds and their intervals."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scipy.special import stdtrit

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds with its two-sided 95 % Student-t interval, in the unit of the values."""

    values: tuple[float, ...]
    mean: float
    low: float | None
    """None where n = 1: one seed says nothing about the spread."""
    high: float | None

    @property
    def n(self) -> int:
        """Number of seeds."""
        return len(self.values)

    @property
    def half(self) -> float | None:
        """Half the width of the interval."""
        return None if self.low is None else self.mean - self.low


def estimate(values: Sequence[float]) -> Estimate | None:
    """Mean and interval mean +- t(0.975, n-1) s / sqrt(n); None without values.

    The interval is not cut off at 0 or 1: values are shares, but the interval rests on a normal model.
    """
    n = len(values)
    if n == 0:
        return None
    mean = math.fsum(values) / n
    if n == 1:
        return Estimate(tuple(values), mean, None, None)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    half = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2)) * deviation / math.sqrt(n)
    return Estimate(tuple(values), mean, mean - half, mean + half)


def paired(values: Mapping[int, float], baseline: Mapping[int, float]) -> Estimate | None:
    """The gain of ``values`` over ``baseline``, both by seed, over the seeds that both have."""
    return estimate([values[seed] - baseline[seed] for seed in sorted(values.keys() & baseline.keys())])
