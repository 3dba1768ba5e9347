"""Two modes in the losses: clean samples low, noisy ones high, as a mixture of two Gaussians."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fedsift.selection.detectors import MIN_SAMPLES, Detector, Fit
from fedsift.selection.vectors import LIMIT

RATES = (0.01, 0.5)
"""A rate estimated lower or higher than this counts as this; isolation forests take no more than a half."""

TOLERANCE = 1e-6
"""Gain in the mean log-likelihood at which fitting ends. scikit-learn's 1e-3 stops while small modes still shrink."""

SAME = 1e-6
"""Losses that differ by less than this share of the largest are one value: float32 rounding is no mode."""


@dataclass(frozen=True)
class Modes:
    """A mixture of two Gaussians, the low mode first.

    Attributes:
        weight, mean, precision: [2] each; the precision is 1 / variance.
        gain: by how much its Bayesian information criterion is better than that of one Gaussian.
    """

    weight: np.ndarray
    mean: np.ndarray
    precision: np.ndarray
    gain: float

    def log_odds(self, l: np.ndarray) -> np.ndarray:
        """Logarithm of p(high | l) / p(low | l) [n], never falling in l.

        The wider mode has the larger density in both tails. So the odds turn at one point beyond the narrower mode, and
        the lowest losses would count as high ones (or the highest as low ones). Beyond it they stay as they are there.
        """
        low, high = self.precision
        if low != high:
            turn = (low * self.mean[0] - high * self.mean[1]) / (low - high)
            l = np.maximum(l, turn) if low > high else np.minimum(l, turn)
        log_p = np.log(self.weight) + (np.log(self.precision) - self.precision * (l[:, None] - self.mean) ** 2) / 2
        odds: np.ndarray = log_p[:, 1] - log_p[:, 0]
        return odds


def fit_modes(l: np.ndarray, seed: int) -> Modes | None:
    """Fit by expectation maximisation from a seeded k-means; scale and origin of ``l`` [n] make no difference.

    None where there is nothing to tell apart: fewer than ``MIN_SAMPLES`` values, or all (but for rounding) the same.
    """
    if len(l) < MIN_SAMPLES or np.ptp(l) <= SAME * np.abs(l).max():
        return None
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    mean, deviation = l.mean(), l.std()
    z = ((l - mean) / deviation)[:, None]
    with warnings.catch_warnings():
        # Not quite converged after a thousand steps is good enough.
        warnings.simplefilter("ignore", ConvergenceWarning)
        mixture = GaussianMixture(2, tol=TOLERANCE, max_iter=1000, random_state=seed % 2**32).fit(z)
    order = np.argsort(mixture.means_[:, 0], kind="stable")
    one = len(z) * (np.log(2 * np.pi) + 1) + 2 * np.log(len(z))
    return Modes(
        weight=np.maximum(mixture.weights_[order], np.finfo(float).tiny),
        mean=mean + deviation * mixture.means_[order, 0],
        precision=mixture.precisions_[order, 0, 0] / deviation**2,
        gain=float(one - mixture.bic(z)),
    )


def estimated_rate(losses: np.ndarray, seed: int) -> float:
    """The share of noisy samples, guessed from ``losses`` [n]: the weight of the high mode, within ``RATES``.

    Losses of ``LIMIT`` and more (not finite ones) are high whatever the others say. The rest has no high part if it has
    fewer than ``MIN_SAMPLES`` values, if all are the same, or if one Gaussian explains them better than two do
    (Bayesian information criterion). Fewer than ``MIN_SAMPLES`` losses altogether tell nothing: the lowest rate.

    The bias is that of the model (means of 8 draws of 5,000). Two unit Gaussians: 4 or more apart, rates from 0.05 to
    0.5 come back within 0.01; 3 apart, 0.05 gives 0.10 and from 0.2 on it is within 0.02; 2 apart, everything from 0.05
    to 0.4 gives 0.34 to 0.45; a single one gives 0.01. Skewed losses look like two modes, so their rate is overrated:
    exponential ones without any noise give 0.4, with 0.2 of gamma distributed noise 0.33.
    """
    if len(losses) < MIN_SAMPLES:
        return RATES[0]
    usual = losses[np.abs(losses) < LIMIT]
    high = float((losses >= LIMIT).sum())
    modes = fit_modes(usual, seed)
    if modes is not None and modes.gain > 0:
        high += float(modes.weight[1]) * len(usual)
    return float(np.clip(high / len(losses), *RATES))


def fit_mixture(threshold: float) -> Fit:
    """Outliers are the losses [n, 1] whose posterior of the high mode exceeds ``threshold``."""

    def fit(v: np.ndarray, seed: int) -> Detector:
        l = v[:, 0]
        return MixtureDetector(fit_modes(l[np.abs(l) < LIMIT], seed), threshold)

    return fit


def fit_estimated(fit_with: Callable[[float], Fit]) -> Fit:
    """The detector that ``fit_with`` makes of the share of outliers, with the share guessed from its own vectors.

    The vectors hold the terms of the loss.
    """

    def fit(v: np.ndarray, seed: int) -> Detector:
        return fit_with(estimated_rate(v.sum(axis=1), seed))(v, seed)

    return fit


@dataclass(frozen=True)
class MixtureDetector:
    """Decides by the log-odds of the high mode, which order samples where posteriors are all 1."""

    modes: Modes | None
    threshold: float

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """[n, 1] -> [n], negative above the threshold; losses that are not finite are the worst. No modes: zero."""
        l = X[:, 0]
        decision = np.zeros(len(l))
        if self.modes is not None:
            decision = np.log(self.threshold / (1 - self.threshold)) - self.modes.log_odds(l)
        decision[l >= LIMIT] = -LIMIT
        return np.clip(decision, -LIMIT, LIMIT)
