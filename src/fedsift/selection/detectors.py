"""Outlier detectors that the server fits on what clients upload (MTAE spec, 5.2), with scikit-learn."""

from collections.abc import Callable
from math import ceil, sqrt
from typing import Protocol

import numpy as np

MIN_SAMPLES = 10
"""With fewer vectors a detector calls nearly everything an outlier, so none is fitted."""


class Detector(Protocol):
    """A fitted scikit-learn outlier detector."""

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """[n, d] -> [n], negative for outliers."""


Fit = Callable[[np.ndarray, int], Detector]
"""(vectors [n, d], seed) -> fitted detector; the same arguments give the same detector."""


def fit_ocsvm(nu: float) -> Fit:
    """One-class SVM with an RBF kernel and gamma = 1 / (d Var(X)), scikit-learn's defaults."""

    def fit(v: np.ndarray, seed: int) -> Detector:
        from sklearn.svm import OneClassSVM

        detector: Detector = OneClassSVM(nu=nu, kernel="rbf", gamma="scale").fit(v)
        return detector

    return fit


def fit_iforest(contamination: float) -> Fit:
    """Isolation forest of ceil(sqrt(n)) trees (authors' code); the seed makes it repeatable."""

    def fit(v: np.ndarray, seed: int) -> Detector:
        from sklearn.ensemble import IsolationForest

        trees = ceil(sqrt(len(v)))
        detector: Detector = IsolationForest(
            n_estimators=trees, contamination=contamination, random_state=seed % 2**32, n_jobs=1
        ).fit(v)
        return detector

    return fit


def thin(v: np.ndarray, cap: int, seed: int) -> np.ndarray:
    """At most ``cap`` rows of ``v``, drawn by ``seed``, in their order."""
    if len(v) <= cap:
        return v
    rng = np.random.Generator(np.random.PCG64(seed))
    return v[np.sort(rng.choice(len(v), cap, replace=False))]
