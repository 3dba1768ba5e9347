"""Games at random, as a table of all coalitions' values."""

import numpy as np
from hypothesis import strategies as st

from fedsift.contributions.games import Game

Values = dict[tuple[int, ...], float]


def members(coalition: int) -> tuple[int, ...]:
    return tuple(i for i in range(coalition.bit_length()) if coalition >> i & 1)


@st.composite
def tables(draw: st.DrawFn, least: int = 1, most: int = 5) -> tuple[int, Values]:
    m = draw(st.integers(least, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return m, {members(coalition): float(rng.normal()) for coalition in range(1 << m)}


def game_of(m: int, values: Values) -> Game:
    return Game(m, values.__getitem__)
