import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from market.drawn import rng_of

from fedsift.errors import FedsiftError
from fedsift.market.arrivals import ArrivalOptions, arriving, draw_bids, draw_log, mean_share, rate


@given(st.floats(1e-6, 1 - 1e-6), st.floats(0, 1))
def test_rate_hits_the_mean_over_eta(share: float, w: float) -> None:
    lambda_ = rate(share, w)
    assert mean_share(lambda_, w) == pytest.approx(share, rel=1e-6, abs=1e-12)


@given(st.floats(0.01, 30), st.floats(0, 1))
@settings(max_examples=50)
def test_mean_share_is_the_integral_over_eta(lambda_: float, w: float) -> None:
    nodes, weights = np.polynomial.legendre.leggauss(200)
    integral = (weights * (1 - np.exp(-lambda_ * (1 + w * nodes)))).sum() / 2
    assert mean_share(lambda_, w) == pytest.approx(integral, rel=1e-9)


def test_the_mean_is_not_that_of_the_mean_rate() -> None:
    """P(Poisson(lambda) >= 1) at eta = 1 would be too few in the mean: the chance is concave in eta."""
    assert rate(0.3, 0.0) == pytest.approx(-math.log(0.7))
    assert mean_share(rate(0.3, 0.0), 0.5) < 0.2975
    assert rate(0.3, 0.5) == pytest.approx(0.3619, abs=5e-4)


def test_thirty_of_a_hundred_arrive() -> None:
    how = ArrivalOptions()
    n = [len(arriving(100, how, rng_of(0)(t))) for t in range(20_000)]
    assert np.mean(n) == pytest.approx(30, abs=0.25)
    # Poisson arrivals alone have 4.6; the noise on each round widens it.
    still = [len(arriving(100, ArrivalOptions(w=0.0), rng_of(0)(t))) for t in range(5_000)]
    assert np.std(still) == pytest.approx(math.sqrt(21), rel=0.05)
    assert np.std(n) > 1.8 * np.std(still)


def test_all_arrive_at_a_share_of_one() -> None:
    for w in (0.0, 0.5, 1.0):
        assert sorted(arriving(20, ArrivalOptions(share=1.0, w=w), rng_of(1)(1))) == list(range(20))


def test_bids_are_uniform_and_the_order_is_random() -> None:
    q = np.linspace(0.1, 1, 100)
    bids = [draw_bids(q, ArrivalOptions(), rng_of(2)(t)) for t in range(2000)]
    b = np.concatenate([of.b for of in bids])
    assert np.histogram(b, 10, (0, 1))[0] / len(b) == pytest.approx(np.full(10, 0.1), abs=0.006)
    first = np.array([of.client[0] for of in bids])
    assert first.mean() == pytest.approx(49.5, abs=2.5)
    assert all((of.q == q[of.client]).all() for of in bids)


def test_a_log_is_made_of_the_rounds_and_repeats() -> None:
    q = np.full(30, 0.5)
    log = draw_log(40, q, ArrivalOptions(), rng_of(3))
    again = draw_log(40, q, ArrivalOptions(), rng_of(3))
    assert all(np.array_equal(getattr(log, name), getattr(again, name)) for name in ("t", "client", "b", "q"))
    for t, bids in log.rounds(40):
        alone = draw_bids(q, ArrivalOptions(), rng_of(3)(t))
        assert np.array_equal(bids.client, alone.client) and np.array_equal(bids.b, alone.b)


def test_a_log_of_nobody() -> None:
    with pytest.raises(FedsiftError, match="the bid log is empty"):
        draw_log(1, np.ones(1), ArrivalOptions(share=1e-9), rng_of(0))
