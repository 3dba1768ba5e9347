import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedsift.market.history import QualityHistory
from fedsift.market.quality import QualityOptions, flagged, judge, quality

LOSSES = st.lists(st.one_of(st.floats(-1e300, 1e300), st.integers(0, 3).map(float)), min_size=1, max_size=12)


@given(LOSSES, st.floats(1e-6, 0.5))
def test_range_and_twin(losses: list[float], epsilon: float) -> None:
    q = quality(np.array(losses), epsilon)
    low, high = min(losses), max(losses)
    if low == high:
        assert q is None
        return
    assert q is not None
    assert q.min() == epsilon and q.max() == 1
    for q_i, loss in zip(q, losses, strict=True):
        assert q_i == pytest.approx(max((loss / 2 - low / 2) / (high / 2 - low / 2), epsilon), rel=1e-9)


def test_by_hand() -> None:
    q = quality(np.array([2.0, 3.0, 2.5, 2.0]), 1e-3)
    assert q is not None and q.tolist() == [1e-3, 1.0, 0.5, 1e-3]
    two = quality(np.array([0.7, 0.2]), 1e-3)
    assert two is not None and two.tolist() == [1.0, 1e-3]


@pytest.mark.parametrize("losses", [[0.5], [0.5, 0.5], [np.nan, np.inf]])
def test_nothing_to_compare(losses: list[float]) -> None:
    verdict = judge(np.array(losses), 0.1, QualityOptions())
    assert verdict.q is None
    assert verdict.keep.all()


def test_screening() -> None:
    loss = np.array([0.9, 1.1, 0.8, 1.0])
    assert flagged(loss, 1.0, "all").tolist() == [True, False, True, False]
    assert flagged(loss, 1.0, "worst").tolist() == [False, False, True, False]
    assert not flagged(loss, 1.0, "off").any()
    assert not flagged(loss, 0.5, "worst").any()


def test_flagged_clients_get_epsilon_and_leave_the_average() -> None:
    verdict = judge(np.array([0.9, 1.1, 0.8, 1.0]), 1.0, QualityOptions(epsilon=0.01))
    assert verdict.keep.tolist() == [False, True, False, True]
    assert verdict.q is not None and verdict.q == pytest.approx([0.01, 1.0, 0.01, 2 / 3])
    worst = judge(np.array([0.9, 1.1, 0.8, 1.0]), 1.0, QualityOptions(screen="worst"))
    assert worst.q is not None and worst.q[0] == pytest.approx(1 / 3)
    off = judge(np.array([0.9, 1.1, 0.8, 1.0]), 1.0, QualityOptions(screen="off"))
    assert off.keep.all() and not off.M.any()


def test_where_all_are_flagged_all_are_kept() -> None:
    verdict = judge(np.array([0.1, 0.2]), 1.0, QualityOptions())
    assert verdict.M.all() and verdict.keep.all()
    alone = judge(np.array([0.1]), 1.0, QualityOptions())
    assert alone.M.all() and alone.keep.all() and alone.q is None


@pytest.mark.parametrize("broken", [np.nan, np.inf])
def test_a_client_that_breaks_the_model_is_screened_out(broken: float) -> None:
    verdict = judge(np.array([broken, 0.4, broken]), broken, QualityOptions())
    assert verdict.keep.tolist() == [True, False, True]
    assert verdict.q is not None and verdict.q.tolist() == [1.0, 1e-3, 1.0]


@given(st.lists(st.lists(st.tuples(st.integers(0, 4), st.floats(1e-3, 1)), unique_by=lambda x: x[0]), max_size=8))
def test_latest_is_the_mean_of_the_history(rounds: list[list[tuple[int, float]]]) -> None:
    known = QualityHistory(5, QualityOptions(initial=0.5))
    qualities: list[list[float]] = [[] for _ in range(5)]
    for made in rounds:
        known.record(np.array([i for i, _ in made], dtype=np.int64), np.array([q for _, q in made]))
        for i, q in made:
            qualities[i].append(q)
    assert known.latest() == pytest.approx([np.mean(q) if q else 0.5 for q in qualities])
    assert ((known.latest() > 0) & (known.latest() <= 1)).all()
    other = QualityHistory(5, QualityOptions(initial=0.5))
    other.load_state_dict(known.state_dict())
    assert np.array_equal(other.latest(), known.latest())


def test_initial_quality() -> None:
    mean = QualityHistory(3, QualityOptions(initial="mean"))
    assert mean.initial == 1.0
    mean.record(np.array([0, 1]), np.array([0.2, 0.6]))
    mean.record(np.array([0]), np.array([0.4]))
    assert mean.latest() == pytest.approx([0.3, 0.6, 0.45])
    assert QualityHistory(2, QualityOptions()).latest().tolist() == [1.0, 1.0]
