import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedsift.contributions.from_emd import Form, contribution
from fedsift.contributions.shares import shares

DISTANCES = st.lists(st.floats(0, 2), min_size=1, max_size=12)
FORMS = st.sampled_from(["linear", "inverse"])


@given(DISTANCES, FORMS, st.floats(0.01, 10), st.floats(0, 10))
def test_falls_with_the_distance(emd: list[float], form: Form, alpha: float, b: float) -> None:
    u = contribution(np.array(emd), alpha, b, form)
    order = np.argsort(emd, kind="stable")
    assert (np.diff(u[order]) <= 0).all()
    got = shares(u)
    assert (np.diff(got[order]) <= 0).all()
    assert got.sum() == pytest.approx(1)


@given(DISTANCES)
def test_by_default_nobody_is_clipped(emd: list[float]) -> None:
    assert (contribution(np.array(emd)) >= 0).all()


def test_by_hand() -> None:
    emd = np.array([0.0, 0.5, 1.6])
    assert contribution(emd) == pytest.approx([2, 1.5, 0.4])
    assert contribution(emd, alpha=2, b=1) == pytest.approx([1, 0, -2.2])
    assert shares(contribution(emd, alpha=2, b=1)).tolist() == [1, 0, 0]
    assert contribution(emd, alpha=2, b=1, form="inverse", nearest=0.1) == pytest.approx([21, 5, 2.25])


def test_distance_zero_is_no_infinity() -> None:
    assert np.isfinite(contribution(np.zeros(3), form="inverse")).all()


@pytest.mark.parametrize("bad", [-0.1, np.nan, np.inf])
def test_refuses_what_is_no_distance(bad: float) -> None:
    with pytest.raises(ValueError, match="finite and at least 0"):
        contribution(np.array([0.5, bad]))
