import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedsift.data.schemes.shards import shards
from fedsift.emd.labels import label_emd
from fedsift.emd.removal import too_far

MNIST = np.array([5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949])
"""Training images of each digit."""
COUNTS = st.lists(st.lists(st.integers(0, 600), min_size=4, max_size=4).filter(any), min_size=1, max_size=12)


def test_by_hand() -> None:
    p = np.array([0.5, 0.25, 0.25])
    assert label_emd(np.array([[2, 1, 1], [3, 0, 0], [0, 1, 1]]), p).tolist() == [0.0, 1.0, 1.0]


def test_one_and_two_digits_against_uniform() -> None:
    one, two = np.zeros(10), np.zeros(10)
    one[3], two[[2, 9]] = 600, 300
    assert label_emd(np.array([one, two]), np.full(10, 0.1)).tolist() == [1.8, 1.6]


@given(COUNTS)
def test_range_zero_and_slow_twin(counts: list[list[int]]) -> None:
    c = np.array(counts)
    p = c.sum(axis=0) / c.sum()
    got = label_emd(c, p)
    assert np.all((got >= 0) & (got < 2))
    for row, distance in zip(counts, got, strict=True):
        slow = sum(abs(n / sum(row) - share) for n, share in zip(row, p, strict=True))
        assert distance == pytest.approx(slow, abs=1e-11)
        assert (distance == 0) == (slow < 1e-12)


@given(st.permutations(range(10)))
def test_equal_participants_tie_whatever_their_classes(order: list[int]) -> None:
    """Sums in another order differ in the last bits: not here."""
    counts = np.zeros((2, 10))
    counts[0, [0, 1, 2]] = counts[1, order[:3]] = [100, 200, 300]
    first, second = label_emd(counts, np.full(10, 0.1))
    assert first == second


def dealt(seed: int) -> np.ndarray:
    """[100, 10] images of each digit of each participant: MNIST's in 200 shards of 300."""
    labels = np.repeat(np.arange(10), MNIST)
    hands = shards(labels, 100, 200, 300, np.random.default_rng(seed))
    return np.stack([np.bincount(labels[hand], minlength=10) for hand in hands])


def removed(counts: np.ndarray, p: np.ndarray) -> np.ndarray:
    return too_far(label_emd(counts, p), "quartile")


def test_what_the_rule_removes_on_mnist() -> None:
    """The figures of the EMFedAvg spec, 3 and 4 (A2), over random draws."""
    draws = [dealt(seed) for seed in range(60)]
    p = MNIST / MNIST.sum()
    ones = [((counts > 0).sum(axis=1) == 1).sum() for counts in draws]
    assert np.mean(ones) == pytest.approx(8.8, abs=1.0)
    distances = np.concatenate([label_emd(counts, p) for counts in draws])
    assert distances.min() > 1.16
    assert distances.max() < 1.82
    assert distances.mean() == pytest.approx(1.606, abs=0.003)
    true = [removed(counts, p) for counts in draws]
    assert np.mean([gone.sum() for gone in true]) == pytest.approx(24.3, abs=0.5)
    lost = sum(counts[gone].sum(axis=0) for counts, gone in zip(draws, true, strict=True)) / (len(draws) * MNIST)
    assert np.argmax(lost) == 5
    assert lost[5] == pytest.approx(0.82, abs=0.03)
    assert lost[1] == pytest.approx(0.10, abs=0.03)
    uniform = [removed(counts, np.full(10, 0.1)) for counts in draws]
    assert np.mean([gone.sum() for gone in uniform]) == pytest.approx(9.1, abs=1.0)
    lost = sum(counts[gone].sum(axis=0) for counts, gone in zip(draws, uniform, strict=True)) / (len(draws) * MNIST)
    assert lost.max() < 0.13
