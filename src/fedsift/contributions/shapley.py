"""The Shapley value: what a participant adds on average over all joining orders (EMFedAvg spec, 5)."""

import math
from typing import NamedTuple

import numpy as np

from fedsift.contributions.games import Game, marginals

LIMIT = 20
"""Most participants of the exact value: a million coalitions."""
_RESIDUE = 1e-13
"""Of the largest value in the sum."""


class Estimate(NamedTuple):
    """Sampled values.

    Attributes:
        u: [m].
        error: standard errors, [m].
    """

    u: np.ndarray
    error: np.ndarray


def exact(game: Game) -> np.ndarray:
    """u_i = sum over P without i of |P|! (m - |P| - 1)! / m! (v(P + i) - v(P)), [m]. Values all 2^m coalitions.

    Raises:
        ValueError: more than ``LIMIT`` participants.
    """
    m = game.m
    if m > LIMIT:
        raise ValueError(f"{m} participants form 2^{m} coalitions; sample permutations instead.")
    v = np.array([game.v(coalition) for coalition in range(1 << m)])
    coalitions = np.arange(1 << m)
    weight = np.array([1 / (m * math.comb(m - 1, size)) for size in range(m)])
    u = np.empty(m)
    for i in range(m):
        without = coalitions[coalitions >> i & 1 == 0]
        u[i] = (weight[np.bitwise_count(without)] * (v[without | 1 << i] - v[without])).sum()
    return _rid_of_residues(u, float(np.abs(v).max()))


def sampled(game: Game, permutations: int, rng: np.random.Generator) -> Estimate:
    """The mean over joining orders that are drawn at random, in pairs of an order and its reverse.

    Whoever joins early in one of a pair joins late in the other. Where the first participants add most, as in the
    accuracy of an average, the two errors are of opposite sign; the cost is that of plain sampling. Pairs are
    independent, so the standard errors are those of the means of pairs. Each order's gains add up to v(F) - v(nobody),
    so the estimates do too.

    Args:
        game: v.
        permutations: how many orders, an even number of at least 4.
        rng: draws them.

    Raises:
        ValueError: another number of permutations.
    """
    if permutations < 4 or permutations % 2:
        raise ValueError(f"{permutations} permutations are no two or more pairs; choose an even number from 4 on.")
    pairs = permutations // 2
    means = np.empty((pairs, game.m))
    for pair in range(pairs):
        order = rng.permutation(game.m).tolist()
        means[pair] = (marginals(game, order) + marginals(game, order[::-1])) / 2
    u = _rid_of_residues(means.mean(axis=0), float(np.abs(means).max()))
    return Estimate(u, means.std(axis=0, ddof=1) / math.sqrt(pairs))


def _rid_of_residues(u: np.ndarray, scale: float) -> np.ndarray:
    """Gains that cancel leave rounding errors, which must not earn a share where nobody else earns one."""
    return np.where(np.abs(u) <= _RESIDUE * scale, 0.0, u)
