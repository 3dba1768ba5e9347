"""Outlier detectors that the server fits on what clients upload (MTAE spec, 5.2), with scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Protocol

import numpy as np

MIN_SAMPLES = 10
"""With fewer vectors a detector calls nearly everything an outlier, so none is fitted."""


BLOCK = 2**20
"""A support vector machine scores so many vectors at once that no array holds more numbers than this (8 MiB)."""


class Detector(Protocol):
    """A fitted outlier detector."""

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """[n, d] -> [n], negative for outliers."""


Fit = Callable[[np.ndarray, int], Detector]
"""(vectors [n, d], seed) -> fitted detector; the same arguments give the same detector."""


def fit_ocsvm(nu: float) -> Fit:
    """One-class SVM with an RBF kernel and gamma = 1 / (d Var(X)), scikit-learn's defaults."""

    def fit(v: np.ndarray, seed: int) -> Detector:
        from sklearn.svm import OneClassSVM

        v = np.ascontiguousarray(v, dtype=np.float64)
        gamma, origin = scale_gamma(v), v.mean(axis=0)
        # The kernel knows differences alone, but libsvm computes them from squares, and fails on vectors that lie close
        # together far from zero.
        svm = OneClassSVM(nu=nu, kernel="rbf", gamma=gamma).fit(v - origin)
        return RbfDecision(svm.support_vectors_, svm.dual_coef_[0], -float(svm.intercept_[0]), gamma, origin)

    return fit


def scale_gamma(v: np.ndarray) -> float:
    """1 / (d Var(all entries of v)), and 1 where nothing varies: scikit-learn's `gamma="scale"`."""
    variance = float(v.var())
    return 1 / (v.shape[1] * variance) if variance else 1.0


@dataclass(frozen=True)
class RbfDecision:
    """f(x) = sum_i alpha_i exp(-gamma |x - s_i|^2) - rho, as scikit-learn's OneClassSVM but by matrix products.

    |x - s|^2 = |x|^2 + |s|^2 - 2 <x, s>, with x and s counted from ``origin``: gamma is about 1 / spread^2 of the
    fitted vectors, so seen from their mean all terms are of the size of the spread, and nothing that counts cancels.

    Attributes:
        s: [m, d] support vectors, from ``origin``.
        alpha: [m].
        rho: offset.
        gamma: of the kernel.
        origin: [d] mean of the fitted vectors.
    """

    s: np.ndarray
    alpha: np.ndarray
    rho: float
    gamma: float
    origin: np.ndarray

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """[n, d] -> [n], negative for outliers."""
        rows = max(1, BLOCK // max(self.s.shape))
        blocks = [self._decide(X[begin : begin + rows]) for begin in range(0, len(X), rows)]
        f = np.concatenate([np.empty(0), *blocks])
        # Of equal vectors libsvm's f is exactly 0, which is no outlier; a sum in another order is off by its rounding.
        f[np.abs(f) <= 1e-12 * self.rho] = 0.0
        return f

    def _decide(self, X: np.ndarray) -> np.ndarray:
        x = X.astype(np.float64) - self.origin
        K = x @ self.s.T
        K *= -2
        K += np.einsum("md,md->m", self.s, self.s)
        K += np.einsum("nd,nd->n", x, x)[:, None]
        np.maximum(K, 0, out=K)
        K *= -self.gamma
        np.exp(K, out=K)
        f: np.ndarray = K @ self.alpha - self.rho
        return f


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
