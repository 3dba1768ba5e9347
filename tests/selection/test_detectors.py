import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import IsolationForest
from sklearn.svm import OneClassSVM

from fedsift.selection.detectors import Fit, fit_iforest, fit_ocsvm, thin

FITS = [fit_ocsvm(0.4), fit_iforest(0.4)]


def points(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).gamma(2.0, 0.1, size=(n, 2))


def test_svm_is_scikit_learns_default() -> None:
    v = points(200)
    detector = fit_ocsvm(0.3)(v, 1)
    reference = OneClassSVM(nu=0.3).fit(v)
    np.testing.assert_array_equal(detector.decision_function(v), reference.decision_function(v))
    assert detector.gamma == "scale"
    assert detector._gamma == pytest.approx(1 / (2 * v.var()))


@pytest.mark.parametrize(("n", "trees"), [(100, 10), (101, 11), (5000, 71)])
def test_forest_has_as_many_trees_as_the_root_of_n(n: int, trees: int) -> None:
    """MTAE spec, 5.2: ceil(sqrt(n)), about 71 for 5,000."""
    detector = fit_iforest(0.4)(points(n), 1)
    assert len(detector.estimators_) == trees
    assert detector.max_samples_ == min(256, n)


def test_forest_is_scikit_learns() -> None:
    v = points(144)
    reference = IsolationForest(n_estimators=12, contamination=0.3, random_state=5).fit(v)
    detector = fit_iforest(0.3)(v, 5 + 2**32)
    np.testing.assert_array_equal(detector.decision_function(v), reference.decision_function(v))


@pytest.mark.parametrize("fit", FITS)
def test_calls_about_the_assumed_share_outliers(fit: Fit) -> None:
    v = points(500)
    assert (fit(v, 1).decision_function(v) < 0).mean() == pytest.approx(0.4, abs=0.02)


@pytest.mark.parametrize("fit", FITS)
def test_far_points_are_outliers(fit: Fit) -> None:
    assert fit(points(500), 1).decision_function(np.array([[5.0, 5.0]]))[0] < 0


@pytest.mark.parametrize("fit", FITS)
def test_sign_agrees_with_scikit_learns_own_decision(fit: Fit) -> None:
    v, other = points(300), points(300, 1)
    detector = fit(v, 1)
    np.testing.assert_array_equal(detector.decision_function(other) >= 0, detector.predict(other) == 1)


@pytest.mark.parametrize("fit", FITS)
def test_same_arguments_give_the_same_detector(fit: Fit) -> None:
    v = points(300)
    np.testing.assert_array_equal(fit(v, 1).decision_function(v), fit(v.copy(), 1).decision_function(v))


def test_forest_depends_on_its_seed() -> None:
    v = points(300)
    first, second = (fit_iforest(0.4)(v, seed).decision_function(v) for seed in (1, 2))
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize(
    "special",
    [
        np.full((50, 2), 0.3),
        np.zeros((10, 2)),
        np.vstack([points(49), [[1e6, 1e6]]]),
        np.vstack([points(49), [[3e38, 0.0]]]),  # the largest that a float32 loss can be
    ],
)
def test_constant_and_huge_losses_do_not_crash(fit: Fit, special: np.ndarray) -> None:
    """gamma = 1 / (d Var) is undefined where nothing varies."""
    decision = fit(special, 1).decision_function(special)
    assert np.isfinite(decision).all()


def test_tiny_nu_and_the_fewest_samples() -> None:
    """SK#4195: libsvm calls nearly everything an outlier, but it ends and its decisions are numbers."""
    decision = fit_ocsvm(0.01)(points(10), 1).decision_function(points(10, 1))
    assert np.isfinite(decision).all()


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 60), st.integers(10, 40), st.integers(0, 2**62))
def test_thin(n: int, cap: int, seed: int) -> None:
    v = np.arange(2.0 * n).reshape(n, 2)
    kept = thin(v, cap, seed)
    assert len(kept) == min(n, cap)
    assert (np.diff(kept[:, 0]) > 0).all()
    assert {tuple(row) for row in kept} <= {tuple(row) for row in v}
    np.testing.assert_array_equal(kept, thin(v, cap, seed))


def test_thin_draws_from_everywhere() -> None:
    v = np.arange(1000.0)[:, None]
    assert thin(v, 100, 1).mean() == pytest.approx(500, abs=100)
    assert not np.array_equal(thin(v, 100, 1), thin(v, 100, 2))
