"""Games on a value function v(S): what coalitions of a round's participants are worth (EMFedAvg spec, 5)."""

from collections.abc import Callable, Sequence

import numpy as np


class Game:
    """v for all sets S of the participants 0 to m-1, each valued once and remembered.

    ``v`` gets the members in ascending order; a set is written as the sum of 2^i over its members.
    """

    def __init__(self, m: int, v: Callable[[tuple[int, ...]], float]) -> None:
        if m < 1:
            raise ValueError("a game needs at least one participant.")
        self.m = m
        self.everybody = (1 << m) - 1
        """F."""
        self._v = v
        self._known: dict[int, float] = {}

    @property
    def evaluations(self) -> int:
        """Coalitions that were valued so far."""
        return len(self._known)

    def v(self, coalition: int) -> float:
        """Value of a coalition S."""
        if coalition not in self._known:
            members = tuple(i for i in range(self.m) if coalition >> i & 1)
            self._known[coalition] = float(self._v(members))
        return self._known[coalition]


def union(game: Game, order: Sequence[int] | None = None) -> np.ndarray:
    """u_i = v(F + i) - v(F), [m], where F are those who joined before i.

    Args:
        game: v.
        order: the participants as they join; ascending by default.

    Raises:
        ValueError: the order does not name every participant once.
    """
    joining = range(game.m) if order is None else order
    if sorted(joining) != list(range(game.m)):
        raise ValueError(f"the joining order must name each of the {game.m} participants once.")
    return marginals(game, joining)


def fair_value(game: Game) -> np.ndarray:
    """u_i = v(F) - v(F without i), [m], where F is everybody."""
    full = game.v(game.everybody)
    return np.array([full - game.v(game.everybody & ~(1 << i)) for i in range(game.m)])


def equal(game: Game) -> np.ndarray:
    """u_i = 1, [m]: the baseline that looks at nobody."""
    return np.ones(game.m)


def marginals(game: Game, order: Sequence[int]) -> np.ndarray:
    """What each participant adds to those before it in ``order``, [m] by participant."""
    u, coalition = np.zeros(game.m), 0
    for i in order:
        u[i] = game.v(coalition | 1 << i) - game.v(coalition)
        coalition |= 1 << i
    return u
