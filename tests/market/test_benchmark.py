from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from market.drawn import BUDGET, MECHANISMS, B, Q, drawn_log, rng_of
from market.twins import density

from fedsift.errors import FedsiftError
from fedsift.market.benchmark import knapsack_bound, proportional_share
from fedsift.market.log import BidLog
from fedsift.market.play import play
from fedsift.market.tender import Tender


def log_of(q: list[float], b: list[float]) -> BidLog:
    n = len(q)
    return BidLog(np.arange(1, n + 1), np.zeros(n, dtype=np.int64), np.array(b), np.array(q))


@given(st.lists(st.tuples(Q, B), min_size=1, max_size=7), BUDGET)
@settings(max_examples=200, deadline=None)
def test_no_set_paid_in_proportion_is_worth_one_client_more(bids: list[tuple[float, float]], budget: float) -> None:
    """Slow twin: of all sets S in which everybody accepts q_i B / V(S), the best is worth less than one client more."""
    q, b = [q for q, _ in bids], [b for _, b in bids]
    made = proportional_share(log_of(q, b), budget)
    best = 0.0
    for size in range(1, len(q) + 1):
        for S in combinations(range(len(q)), size):
            V = sum(q[i] for i in S)
            if all(b[i] * V <= q[i] * budget * (1 + 1e-12) for i in S):
                best = max(best, V)
    left_out = [q[i] for i in sorted(range(len(q)), key=lambda i: -density(q[i], b[i])) if not made.hired[i]]
    assert made.value <= best * (1 + 1e-9)
    assert best < made.value + (left_out[0] if left_out else 1e-9)
    if made.hired.any():
        assert (np.array(q)[made.hired] / made.rho).sum() == pytest.approx(budget)


def test_by_hand() -> None:
    made = proportional_share(log_of([0.5, 1, 0.4, 0.8], [0.25, 0.1, 0.4, 0.2]), 1.0)
    assert made.hired.tolist() == [False, True, False, True]
    assert (made.value, made.rho) == pytest.approx((1.8, 1.8))
    nothing = proportional_share(log_of([1.0], [0.9]), 0.5)
    assert (nothing.value, nothing.rho, nothing.hired.any()) == (0.0, 0.0, False)


@pytest.mark.parametrize("name", MECHANISMS)
def test_mechanisms_stay_below_it(name: str) -> None:
    """Not by definition, since prices differ from round to round, but on an ordinary log by a wide margin."""
    q = np.random.default_rng(0).uniform(1e-3, 1, 40)
    log = drawn_log(128, q, 0)
    mechanism = MECHANISMS[name](Tender(128, 64.0, 40))
    value = sum(q[outcome.client].sum() for outcome in play(mechanism, log, q, rng_of(0)))
    assert 0 < value < proportional_share(log, 64.0).value


@given(st.lists(st.tuples(Q, B), min_size=1, max_size=9), BUDGET)
@settings(max_examples=300, deadline=None)
def test_no_affordable_set_beats_the_bound(bids: list[tuple[float, float]], budget: float) -> None:
    """Slow twin: the best of all sets whose bids fit the budget is worth at most the bound and less than one fewer."""
    q, b = [q for q, _ in bids], [b for _, b in bids]
    bound = knapsack_bound(log_of(q, b), budget)
    best = max(
        sum(q[i] for i in S)
        for size in range(len(q) + 1)
        for S in combinations(range(len(q)), size)
        if sum(b[i] for i in S) <= budget * (1 + 1e-12)
    )
    assert best <= bound * (1 + 1e-9)
    assert bound < best + max(q) * (1 + 1e-9)
    assert proportional_share(log_of(q, b), budget).value <= bound * (1 + 1e-9)


def test_the_bound_by_hand() -> None:
    """Densities 10, 4, 2, 1: the first two cost 0.3, two fifths of the third the rest."""
    assert knapsack_bound(log_of([0.5, 1, 0.4, 0.8], [0.25, 0.1, 0.4, 0.2]), 0.4) == pytest.approx(1.8 + 0.4 * 0.5)
    assert knapsack_bound(log_of([0.5, 1.0], [0.0, 0.3]), 5.0) == 1.5


@pytest.mark.parametrize("name", MECHANISMS)
@given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.integers(1, 8))
@settings(max_examples=30, deadline=None)
def test_no_mechanism_beats_the_bound(name: str, seed: int, T: int, N: int) -> None:
    q = np.random.default_rng(seed).uniform(1e-3, 1, N)
    budget = float(np.random.default_rng(seed + 1).uniform(0.1, 1.5)) * T
    try:
        log = drawn_log(T, q, seed)
    except FedsiftError:
        return
    value = sum(
        q[outcome.client].sum() for outcome in play(MECHANISMS[name](Tender(T, budget, N)), log, q, rng_of(seed))
    )
    assert value <= knapsack_bound(log, budget) * (1 + 1e-9)


@pytest.mark.parametrize("of", [knapsack_bound, proportional_share])
@pytest.mark.parametrize("budget", [0.0, -1.0, float("nan"), float("inf")])
def test_a_budget_that_is_none(of: Callable[[BidLog, float], object], budget: float) -> None:
    with pytest.raises(FedsiftError, match=f"the benchmark has the budget {budget}; give it a number above 0."):
        of(log_of([1.0], [0.5]), budget)
