"""Means, intervals and paired gains against scipy and hand values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fedsift.results.statistics import estimate, paired

SHARES = st.floats(0, 1, allow_nan=False)


def test_hand_value() -> None:
    ours = estimate([0.40, 0.41, 0.42])
    assert ours is not None
    assert ours.mean == pytest.approx(0.41)
    # t(0.975, 2) = 4.302653, s = 0.01
    assert ours.half == pytest.approx(4.302653 * 0.01 / np.sqrt(3), abs=1e-8)
    assert ours.n == 3


@given(st.lists(SHARES, min_size=2, max_size=10))
def test_interval_is_scipys(values: list[float]) -> None:
    ours = estimate(values)
    assert ours is not None
    error = stats.sem(values)
    low, high = stats.t.interval(0.95, len(values) - 1, np.mean(values), error) if error > 0 else (ours.mean,) * 2
    assert (ours.low, ours.high) == pytest.approx((low, high), abs=1e-12)


def test_one_value_has_no_interval_and_none_has_no_estimate() -> None:
    ours = estimate([0.5])
    assert ours is not None
    assert (ours.mean, ours.low, ours.high, ours.half, ours.n) == (0.5, None, None, None, 1)
    assert estimate([]) is None


def test_gain_is_paired_by_seed() -> None:
    gain = paired({0: 0.5, 1: 0.7, 3: 0.9}, {1: 0.6, 0: 0.4, 2: 0.0})
    assert gain is not None
    assert gain.values == pytest.approx((0.1, 0.1))
    # Seeds vary more than the gain does; only pairing sees that.
    assert gain.half == pytest.approx(0, abs=1e-12)
    assert paired({0: 0.5}, {1: 0.5}) is None


@given(st.dictionaries(st.integers(0, 9), SHARES, min_size=2, max_size=6))
def test_gain_is_the_one_sample_interval_of_the_differences(values: dict[int, float]) -> None:
    gain = paired(values, dict.fromkeys(values, 0.25))
    assert gain == estimate([values[seed] - 0.25 for seed in sorted(values)])
