import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedsift.contributions.shares import shares

CONTRIBUTIONS = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20)


@given(CONTRIBUTIONS, st.floats(0, 1e6))
def test_shares_are_not_negative_and_add_up_to_the_budget(u: list[float], budget: float) -> None:
    got = shares(np.array(u), budget)
    assert (got >= 0).all()
    assert math.fsum(got) == pytest.approx(budget, rel=1e-12, abs=sys.float_info.min * len(u))
    assert len(got) == len(u)


@given(CONTRIBUTIONS)
def test_who_contributes_more_gets_no_less(u: list[float]) -> None:
    got = shares(np.array(u))
    order = np.argsort(u, kind="stable")
    assert (np.diff(got[order]) >= 0).all()


@given(st.lists(st.floats(0.001, 1000), min_size=1, max_size=20), st.floats(0.001, 1000), st.floats(0.1, 10))
def test_only_proportions_count(u: list[float], factor: float, budget: float) -> None:
    slow = [one / math.fsum(u) * budget for one in u]
    assert shares(np.array(u), budget) == pytest.approx(slow)
    assert shares(factor * np.array(u), budget) == pytest.approx(slow)


def test_negative_contributions_get_nothing_and_take_nothing() -> None:
    assert shares(np.array([-5.0, 1.0, 3.0]), 8).tolist() == [0, 2, 6]


@pytest.mark.parametrize("u", [[0.0, 0.0], [-1.0, -2.0], [-0.0, 0.0]])
def test_where_nobody_contributes_all_get_the_same(u: list[float]) -> None:
    assert shares(np.array(u), 3).tolist() == [1.5, 1.5]


@pytest.mark.parametrize(
    ("u", "budget", "words"),
    [([], 1, "one a participant"), ([np.nan, 1], 1, "finite"), ([np.inf], 1, "finite"), ([1], -1, "budget -1"),
     ([1], np.nan, "budget nan")],
)  # fmt: skip
def test_refuses_what_cannot_be_shared(u: list[float], budget: float, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        shares(np.array(u), budget)
