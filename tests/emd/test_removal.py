import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedsift.emd.removal import too_far

DISTANCES = st.lists(st.integers(0, 20).map(lambda n: n / 10), min_size=1, max_size=60)


@given(DISTANCES)
def test_quartile(distances: list[float]) -> None:
    D = np.array(distances)
    gone = too_far(D, "quartile")
    m = len(D)
    assert (~gone).sum() >= int(0.75 * (m - 1)) + 1
    if gone.any():
        assert D[gone].min() > D[~gone].max()
    order = np.random.default_rng(0).permutation(m)
    assert np.array_equal(too_far(D[order], "quartile"), gone[order])


@pytest.mark.parametrize(("m", "kept"), [(1, 1), (2, 1), (3, 2), (4, 3), (10, 7), (20, 15), (100, 75)])
def test_quartile_of_distinct_distances(m: int, kept: int) -> None:
    assert (~too_far(np.random.default_rng(0).permutation(m) / 7, "quartile")).sum() == kept


@pytest.mark.parametrize("rule", ["quartile", "rank"])
def test_nobody_goes_alone(rule: str) -> None:
    assert not too_far(np.array([1.0]), rule).any()  # type: ignore[arg-type]


def test_ties_stay_by_quartile_and_part_by_rank() -> None:
    D = np.array([1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0])
    assert not too_far(D, "quartile").any()
    assert np.flatnonzero(too_far(D, "rank")).tolist() == [6, 7]


@given(DISTANCES)
def test_rank(distances: list[float]) -> None:
    D = np.array(distances)
    gone = too_far(D, "rank")
    assert gone.sum() == len(D) // 4
    if gone.any():
        assert D[gone].min() >= D[~gone].max()
