"""Selection and critical payment of one round, before and with the budget (incentive spec, 6 and 12)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from market import twins
from market.drawn import BUDGET, B, Q, rounds

from fedsift.market.iaofl import Iaofl, IaoflOptions
from fedsift.market.selection import Rule, affordable, select
from fedsift.market.tender import Tender

RHO = st.one_of(st.integers(1, 40).map(lambda n: n / 4), st.floats(0.05, 20))
LIMITS = st.tuples(st.integers(1, 4), st.integers(0, 4)).map(lambda x: (x[0], x[0] + x[1]))
RULES: list[Rule] = ["skip", "fill"]
VECTOR = np.array([1, 0.8, 0.5, 0.4]), np.array([0.1, 0.2, 0.25, 0.4])


def choice(
    q: list[float], b: list[float], rho: list[float], left: float, limits: tuple[int, int], rule: Rule
) -> dict[int, float]:
    """Place -> price of the hired."""
    options = IaoflOptions(min_num=limits[0], max_num=limits[1], rule=rule)
    made = Iaofl(options, Tender(1, 1.0, 1)).choose(np.array(q), np.array(b), np.array(rho), 0.0, left)
    return dict(zip(made.places.tolist(), made.price.tolist(), strict=True))


@pytest.mark.parametrize(
    ("rho", "left", "limits", "rule", "prices"),
    [
        (1.8, 2, (1, 2), "skip", [0.5, 0.4]),
        (1.8, 2, (1, 4), "skip", [0.5556, 0.4444, 0.2778]),
        (1.8, 0.6, (1, 4), "skip", [0.5556]),
        (5, 2, (2, 3), "fill", [0.5, 0.4]),
        (5, 2, (2, 3), "skip", []),
    ],
)
def test_vectors(rho: float, left: float, limits: tuple[int, int], rule: Rule, prices: list[float]) -> None:
    got = choice(VECTOR[0].tolist(), VECTOR[1].tolist(), [rho] * 4, left, limits, rule)
    assert list(got) == list(range(len(prices)))
    assert list(got.values()) == pytest.approx(prices, abs=5e-5)


@st.composite
def thresholds(draw: st.DrawFn, n: int) -> list[float]:
    """One for all, or one for each bidder."""
    return draw(st.one_of(RHO.map(lambda rho: [rho] * n), st.lists(RHO, min_size=n, max_size=n)))


@given(rounds(), st.data(), LIMITS, st.sampled_from(RULES))
@settings(max_examples=300, deadline=None)
def test_winners_and_prices_equal_the_slow_twins(
    made: tuple[list[float], list[float]], data: st.DataObject, limits: tuple[int, int], rule: Rule
) -> None:
    q, b = made
    rho = data.draw(thresholds(len(q)))
    won, price = select(np.array(q), np.array(b), np.array(rho), *limits, rule)
    assert won.tolist() == twins.winners(q, b, rho, *limits, rule)
    for i, p in zip(won.tolist(), price.tolist(), strict=True):
        assert p == pytest.approx(twins.critical(i, q, b, rho, *limits, rule), abs=1e-9)


@given(rounds(), RHO, LIMITS)
@settings(max_examples=300)
def test_the_closed_forms_of_the_spec(
    made: tuple[list[float], list[float]], rho: float, limits: tuple[int, int]
) -> None:
    q, b = made
    n, (min_num, max_num) = len(q), limits
    won, price = select(np.array(q), np.array(b), np.full(n, rho), *limits, "fill")
    for i, p in zip(won.tolist(), price.tolist(), strict=True):
        assert p == pytest.approx(max(twins.median_price(i, q, b, rho, min_num, max_num), b[i]))
    won, price = select(np.array(q), np.array(b), np.full(n, rho), *limits, "skip")
    for i, p in zip(won.tolist(), price.tolist(), strict=True):
        d = sorted((twins.density(q[k], b[k]) for k in range(n) if k != i), reverse=True)
        rho_star = max(rho, d[max_num - 1] if max_num <= len(d) else 0.0)
        assert p == pytest.approx(max(min(q[i] / rho_star, 1.0), b[i]))


@given(st.lists(st.floats(0, 1), max_size=20), BUDGET)
def test_budget_check_equals_the_slow_twin(prices: list[float], budget: float) -> None:
    kept, spent = affordable(np.array(prices), 0.0, budget)
    slow = twins.in_budget(prices, budget)
    # Adding up and taking off may part on the last bit.
    if not any(abs(sum(prices[j] for j in slow if j <= k) - budget) < 1e-9 for k in slow):
        assert np.flatnonzero(kept).tolist() == slow
    assert spent == sum(p for p, k in zip(prices, kept, strict=True) if k) <= budget


@given(rounds(), st.data(), BUDGET, LIMITS, st.sampled_from(RULES))
@settings(max_examples=400, deadline=None)
def test_a_round_keeps_all_promises(
    made: tuple[list[float], list[float]], data: st.DataObject, left: float, limits: tuple[int, int], rule: Rule
) -> None:
    """Budget, individual rationality, count, truthfulness, monotonicity and critical payment at once."""
    q, cost = made
    rho = data.draw(thresholds(len(q)))
    honest = choice(q, cost, rho, left, limits, rule)
    assert sum(honest.values()) <= left
    assert all(cost[i] <= p <= 1 for i, p in honest.items())
    assert len(honest) == 0 or limits[0] <= len(honest) <= limits[1]
    i = data.draw(st.integers(0, len(q) - 1))
    critical = twins.critical(i, q, cost, rho, *limits, rule)
    near = [critical + eta for eta in (-1e-3, -1e-6, 0.0, 1e-6, 1e-3)]
    for lie in [0.0, 1.0, data.draw(B), *(bid for bid in near if 0 <= bid <= 1)]:
        lied = choice(q, [*cost[:i], lie, *cost[i + 1 :]], rho, left, limits, rule)
        assert utility(lied, i, cost[i]) - utility(honest, i, cost[i]) <= 1e-9
        if i in honest and lie <= cost[i]:
            assert lied[i] == pytest.approx(honest[i], rel=1e-12)
        if i in honest and abs(lie - honest[i]) > 1e-8:
            assert (i in lied) == (lie < honest[i])


def utility(prices: dict[int, float], i: int, cost: float) -> float:
    return prices[i] - cost if i in prices else 0.0


def naive(q: list[float], b: list[float], rho: float, left: float, max_num: int) -> dict[int, float]:
    """The naive reading: the max_num densest above the threshold, each paid q / rho."""
    ranked = sorted(range(len(q)), key=lambda i: (-twins.density(q[i], b[i]), i))
    won = sorted([i for i in ranked if twins.density(q[i], b[i]) >= rho][:max_num])
    price = [min(q[i] / rho, 1.0) for i in won]
    return {won[k]: price[k] for k in twins.in_budget(price, left)}


def test_the_naive_price_is_not_truthful() -> None:
    """The same search finds lies that pay under the naive price, and none under the critical one."""
    rng = np.random.default_rng(0)
    paying, most = 0, 0.0
    for _ in range(2000):
        n = int(rng.integers(3, 20))
        q, cost = rng.uniform(0.05, 1, n).tolist(), rng.random(n).tolist()
        rho, left, max_num = float(rng.uniform(0.3, 3)), float(rng.uniform(0.5, 4)), int(rng.integers(1, 6))
        i, c = (k := int(rng.integers(n))), cost[k]
        honest = naive(q, cost, rho, left, max_num)
        truths = {rule: choice(q, cost, [rho] * n, left, (1, max_num), rule) for rule in RULES}
        gains = [0.0]
        for lie in (0.0, c / 2, float(rng.random())):
            lying = [*cost[:i], lie, *cost[i + 1 :]]
            gains.append(utility(naive(q, lying, rho, left, max_num), i, c) - utility(honest, i, c))
            for rule, truth in truths.items():
                lied = choice(q, lying, [rho] * n, left, (1, max_num), rule)
                assert utility(lied, i, c) - utility(truth, i, c) <= 1e-9
        paying, most = paying + (max(gains) > 1e-9), max(most, *gains)
    assert paying > 100
    assert most > 0.8


def test_free_bids() -> None:
    """A density without bounds: the free bidders come first, and there is nothing to pay for beating them."""
    won, price = select(np.array([0.1, 1.0, 0.5]), np.array([0.0, 0.5, 0.0]), np.full(3, 1.0), 1, 1, "skip")
    assert won.tolist() == [0]
    assert price.tolist() == [0.0]
    won, price = select(np.array([0.1, 1.0, 0.5]), np.array([0.0, 0.5, 0.0]), np.full(3, 1.0), 1, 2, "skip")
    assert won.tolist() == [0, 2]
    assert price.tolist() == pytest.approx([0.05, 0.25])


@given(Q, B)
def test_nobody_else_is_there(q: float, b: float) -> None:
    won, price = select(np.array([q]), np.array([b]), np.array([1e9]), 1, 3, "fill")
    assert won.tolist() == [0]
    assert price.tolist() == [1.0]
