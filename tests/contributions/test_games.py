import itertools

import numpy as np
import pytest
from contributions.made import Values, game_of, tables
from hypothesis import given
from hypothesis import strategies as st

from fedsift.contributions.games import Game, equal, fair_value, union


def without(everybody: tuple[int, ...], i: int) -> tuple[int, ...]:
    return tuple(j for j in everybody if j != i)


@given(tables(), st.data())
def test_union_game_is_the_definition_in_any_joining_order(made: tuple[int, Values], data: st.DataObject) -> None:
    m, v = made
    order = data.draw(st.permutations(range(m)))
    u = union(game_of(m, v), order)
    for place, i in enumerate(order):
        before = tuple(sorted(order[:place]))
        assert u[i] == v[tuple(sorted((*before, i)))] - v[before]
    assert u.sum() == pytest.approx(v[tuple(range(m))] - v[()])
    assert union(game_of(m, v)).tolist() == union(game_of(m, v), list(range(m))).tolist()


@given(tables())
def test_fair_value_is_the_definition(made: tuple[int, Values]) -> None:
    m, v = made
    full = tuple(range(m))
    assert fair_value(game_of(m, v)).tolist() == [v[full] - v[without(full, i)] for i in full]


@given(tables())
def test_in_an_additive_game_all_agree(made: tuple[int, Values]) -> None:
    m, v = made
    own = np.array([v[(i,)] for i in range(m)])
    game = Game(m, lambda members: float(sum(own[i] for i in members)))
    for u in (union(game), union(game, list(range(m))[::-1]), fair_value(game)):
        assert u == pytest.approx(own)


def test_every_coalition_is_valued_once_and_members_come_in_order() -> None:
    asked: list[tuple[int, ...]] = []
    game = Game(4, lambda members: float(len(asked.append(members) or asked)))
    for order in itertools.permutations(range(4)):
        union(game, order)
    fair_value(game)
    assert len(asked) == len(set(asked)) == 16 == game.evaluations
    assert all(members == tuple(sorted(members)) for members in asked)
    assert game.v(0b1010) == 1 + asked.index((1, 3))


def test_equal_split_asks_for_nothing() -> None:
    game = Game(3, lambda members: 1 / 0)
    assert equal(game).tolist() == [1, 1, 1]


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 1], [0, 1, 3], [0, 1, 2, 2]])
def test_a_joining_order_names_everybody_once(order: list[int]) -> None:
    with pytest.raises(ValueError, match="each of the 3 participants once"):
        union(Game(3, lambda members: 0.0), order)


def test_a_game_needs_somebody() -> None:
    with pytest.raises(ValueError, match="at least one participant"):
        Game(0, lambda members: 0.0)
