import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import IsolationForest
from sklearn.svm import OneClassSVM

from fedsift.selection import detectors
from fedsift.selection.detectors import Detector, Fit, fit_iforest, fit_ocsvm, scale_gamma, thin

FITS = [fit_ocsvm(0.4), fit_iforest(0.4)]


def points(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).gamma(2.0, 0.1, size=(n, 2))


def scikit_learns(fit: Fit, v: np.ndarray) -> Detector:
    """The slow twin: the same detector of scikit-learn, undisguised."""
    if fit is FITS[0]:
        return OneClassSVM(nu=0.4).fit(v)
    return fit(v, 1)


def test_svm_is_scikit_learns_default() -> None:
    v = points(200)
    detector = fit_ocsvm(0.3)(v, 1)
    reference = OneClassSVM(nu=0.3).fit(v)
    np.testing.assert_allclose(detector.decision_function(v), reference.decision_function(v), atol=1e-10)
    assert detector.gamma == reference._gamma == pytest.approx(1 / (2 * v.var()))


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32),
    st.integers(10, 80),
    st.integers(1, 30),
    st.integers(1, 50),
    st.sampled_from([1e-6, 1.0, 1e6]),
    st.sampled_from([0.0, 1.0, -1e3]),
    st.sampled_from([np.float32, np.float64]),
)
def test_decisions_are_scikit_learns(
    seed: int, n: int, d: int, others: int, spread: float, shift: float, dtype: type
) -> None:
    """With tiny and with huge spread, off the origin, for vectors that were fitted and for others."""
    rng = np.random.default_rng(seed)
    v = (spread * (shift + rng.gamma(2.0, 1.0, size=(n, d)))).astype(dtype)
    x = np.vstack([v, (spread * (shift + rng.gamma(2.0, 2.0, size=(others, d)))).astype(dtype)])
    reference = OneClassSVM(nu=0.4).fit(v)
    decision = fit_ocsvm(0.4)(v, 1).decision_function(x)
    assert decision.dtype == np.float64
    np.testing.assert_allclose(decision, reference.decision_function(x), atol=1e-5)


@pytest.mark.parametrize("value", [0.0, 0.1, 0.3, 1 / 3, 1e6])
@pytest.mark.parametrize("n", [10, 50, 101, 333])
def test_equal_vectors_are_no_outliers(n: int, value: float) -> None:
    """As in scikit-learn, where the decision is exactly 0 and gamma is 1 or, by rounding, enormous."""
    v = np.full((n, 3), value)
    assert OneClassSVM(nu=0.4).fit(v).decision_function(v).tolist() == [0.0] * n
    assert fit_ocsvm(0.4)(v, 1).decision_function(v).tolist() == [0.0] * n


def test_close_together_and_far_from_zero() -> None:
    """scikit-learn refuses these; the kernel sees differences alone, so they are what they are around zero."""
    far = 1000 + 1e-6 * np.random.default_rng(0).gamma(2.0, 1.0, size=(10, 6))
    v = far - 1000  # without rounding
    with pytest.raises(ValueError, match="not finite"):
        OneClassSVM(nu=0.4).fit(far)
    reference = OneClassSVM(nu=0.4).fit(v).decision_function(v)
    np.testing.assert_allclose(fit_ocsvm(0.4)(far, 1).decision_function(far), reference, atol=1e-5)


def test_gamma_where_nothing_varies() -> None:
    assert scale_gamma(np.zeros((10, 2))) == 1.0


@pytest.mark.parametrize("block", [1, 7, 300, 10**6])
def test_blocks_bound_the_memory_and_change_nothing(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    v, x = points(60), points(50, 1)
    detector = fit_ocsvm(0.4)(v, 1)
    whole = detector.decision_function(x)
    monkeypatch.setattr(detectors, "BLOCK", block)
    shapes = []
    plain = type(detector)._decide

    def watched(self: Detector, X: np.ndarray) -> np.ndarray:
        shapes.append(len(X) * len(detector.s))
        return plain(self, X)

    monkeypatch.setattr(type(detector), "_decide", watched)
    np.testing.assert_allclose(detector.decision_function(x), whole, rtol=1e-12)
    assert max(shapes) <= max(block, len(detector.s))


def test_no_vectors() -> None:
    assert fit_ocsvm(0.4)(points(50), 1).decision_function(np.empty((0, 2))).shape == (0,)


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
    predicted = scikit_learns(fit, v).predict(other)
    np.testing.assert_array_equal(fit(v, 1).decision_function(other) >= 0, predicted == 1)


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
