from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from market import twins
from market.drawn import BUDGET, B, Q

from fedsift.market.own_bids import thresholds_without_own
from fedsift.market.running import FRESH, RunningThreshold
from fedsift.market.threshold import ThresholdOptions, prefix, threshold

SAMPLES = st.lists(st.tuples(st.integers(0, 3), Q, B), max_size=25)
OPTIONS = st.builds(ThresholdOptions, threshold=st.sampled_from(["T1", "T2"]), delta=st.sampled_from([1.0, 1.0, 2.5]))
VECTOR = np.array([1, 0.8, 0.5, 0.4]), np.array([0.1, 0.2, 0.25, 0.4])


@pytest.mark.parametrize(
    ("budget", "variant", "rho"),
    [(1, "T1", 1.8), (2, "T1", 1.15), (0.5, "T1", 3.6), (1, "T2", 2.0), (2, "T2", 1.15), (0.5, "T2", 3.6)],
)
def test_vectors(budget: float, variant: Literal["T1", "T2"], rho: float) -> None:
    assert threshold(*VECTOR, budget, ThresholdOptions(threshold=variant)) == pytest.approx(rho)


@given(SAMPLES, BUDGET, OPTIONS)
@settings(max_examples=300)
def test_equals_the_slow_twin(samples: list[tuple[int, float, float]], budget: float, how: ThresholdOptions) -> None:
    v, b = [v for _, v, _ in samples], [b for _, _, b in samples]
    slow = twins.threshold(v, b, budget, how.threshold, how.delta)
    assert threshold(np.array(v), np.array(b), budget, how) == (None if slow is None else pytest.approx(slow))


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.floats(0.05, 5), st.floats(0.01, 100), OPTIONS)
def test_scale_laws(seed: int, n: int, budget: float, s: float, how: ThresholdOptions) -> None:
    rng = np.random.default_rng(seed)
    v, b = rng.uniform(0.01, 1, n), rng.random(n)
    rho = threshold(v, b, budget, how)
    dearer, better = threshold(v, s * b, s * budget, how), threshold(s * v, b, budget, how)
    if rho is None:
        assert dearer is None and better is None
    else:
        assert dearer == pytest.approx(rho / s)
        assert better == pytest.approx(rho * s)


@given(SAMPLES.filter(bool), BUDGET)
def test_posted_prices_over_the_prefix_cost_the_budget(samples: list[tuple[int, float, float]], budget: float) -> None:
    v, b = np.array([v for _, v, _ in samples]), np.array([b for _, _, b in samples])
    rho = threshold(v, b, budget)
    order, k = prefix(v, b, budget)
    J = order[:k]
    if rho is None:
        assert k == 0
        return
    assert (v[J] / rho).sum() == pytest.approx(budget)
    assert (b[J] <= v[J] / rho * (1 + 1e-9)).all()


@given(SAMPLES.filter(bool), BUDGET)
def test_posted_prices_of_t2_fit_the_budget(samples: list[tuple[int, float, float]], budget: float) -> None:
    """All that lie above the threshold can be paid; those on it share it with one that cannot."""
    v, b = np.array([v for _, v, _ in samples]), np.array([b for _, _, b in samples])
    rho = threshold(v, b, budget, ThresholdOptions(threshold="T2"))
    if rho is not None:
        above = b * rho < v * (1 - 1e-9)
        assert (v[above] / rho).sum() <= budget * (1 + 1e-9)


@pytest.mark.parametrize(("q", "b", "budget"), [(0.3, 0.7, 0.7), (0.1, 0.3, 0.3), (0.9, 0.1, 0.1)])
def test_a_sample_that_asks_for_the_whole_budget_gets_it(q: float, b: float, budget: float) -> None:
    assert threshold(np.array([q]), np.array([b]), budget) == pytest.approx(q / b)
    assert threshold(np.array([q]), np.array([b]), budget * 0.999) is None


def test_empty() -> None:
    assert threshold(np.empty(0), np.empty(0), 1.0) is None
    assert thresholds_without_own(np.empty(0, dtype=np.int64), np.empty(0), np.empty(0), 1.0, ThresholdOptions()) == {}


@given(SAMPLES, BUDGET, OPTIONS)
@settings(max_examples=400)
def test_without_own_bids_equals_the_slow_twin(
    samples: list[tuple[int, float, float]], budget: float, how: ThresholdOptions
) -> None:
    client, v, b = (np.array(x) for x in zip(*samples, strict=True)) if samples else (np.empty(0),) * 3
    found = thresholds_without_own(client.astype(np.int64), v, b, budget, how)
    assert sorted(found) == sorted({i for i, _, _ in samples})
    for i, rho in found.items():
        others = [(v, b) for j, v, b in samples if j != i]
        slow = twins.threshold([v for v, _ in others], [b for _, b in others], budget, how.threshold, how.delta)
        assert rho == (None if slow is None else pytest.approx(slow))


def test_without_own_bids_on_many() -> None:
    rng = np.random.default_rng(0)
    client, v, b = rng.integers(0, 200, 20_000), rng.uniform(1e-3, 1, 20_000), rng.random(20_000)
    found = thresholds_without_own(client, v, b, 300.0, ThresholdOptions())
    for i in range(200):
        others = client != i
        assert found[i] == pytest.approx(threshold(v[others], b[others], 300.0))


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 700), min_size=1, max_size=8), OPTIONS)
@settings(max_examples=60, deadline=None)
def test_running_equals_all_at_once(seed: int, steps: list[int], how: ThresholdOptions) -> None:
    rng = np.random.default_rng(seed)
    running, q = RunningThreshold(how), rng.uniform(1e-3, 1, 50)
    for n in steps:
        running.samples.add(rng.integers(0, 50, n), np.round(rng.random(n), int(rng.integers(1, 4))))
        if rng.random() < 0.3:
            q = rng.uniform(1e-3, 1, 50)
        running.settle(q)
        assert len(running.samples) - running.settled <= FRESH
        budget = float(rng.uniform(0.1, 100))
        whole = threshold(q[running.samples.client], running.samples.b, budget, how)
        assert running.threshold(budget) == (None if whole is None else pytest.approx(whole))
        resumed = RunningThreshold(how)
        resumed.resume(running.samples.client, running.samples.b, running.settled, q)
        assert resumed.threshold(budget) == running.threshold(budget)
