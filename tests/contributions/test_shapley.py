"""Shapley's four axioms, which together have one solution only, and the definition by joining orders."""

import itertools
import math

import numpy as np
import pytest
from contributions.made import Values, game_of, members, tables
from hypothesis import given, settings
from hypothesis import strategies as st

from fedsift.contributions.games import Game
from fedsift.contributions.shapley import exact, sampled


def by_orders(m: int, v: Values) -> np.ndarray:
    """The slow twin: the mean gain over all m! joining orders."""
    u = np.zeros(m)
    for order in itertools.permutations(range(m)):
        for place, i in enumerate(order):
            u[i] += v[tuple(sorted(order[: place + 1]))] - v[tuple(sorted(order[:place]))]
    return u / math.factorial(m)


@given(tables())
@settings(deadline=None)
def test_exact_is_the_mean_over_all_joining_orders(made: tuple[int, Values]) -> None:
    m, v = made
    assert exact(game_of(m, v)) == pytest.approx(by_orders(m, v), abs=1e-12)


@given(tables(most=8))
@settings(deadline=None)
def test_efficiency(made: tuple[int, Values]) -> None:
    m, v = made
    assert exact(game_of(m, v)).sum() == pytest.approx(v[tuple(range(m))] - v[()])


@given(tables(most=6), st.data())
@settings(deadline=None)
def test_symmetry(made: tuple[int, Values], data: st.DataObject) -> None:
    """New numbers for the participants change nothing but the numbers; exchangeable ones get the same."""
    m, v = made
    new = data.draw(st.permutations(range(m)))
    renamed = {tuple(sorted(new[i] for i in coalition)): value for coalition, value in v.items()}
    assert exact(game_of(m, renamed))[list(new)] == pytest.approx(exact(game_of(m, v)), abs=1e-12)
    sizes = [v[tuple(range(size))] for size in range(m + 1)]
    u = exact(Game(m, lambda coalition: sizes[len(coalition)]))
    assert u == pytest.approx(np.full(m, (sizes[m] - sizes[0]) / m), abs=1e-12)


@given(tables(most=6), st.data())
@settings(deadline=None)
def test_null_player(made: tuple[int, Values], data: st.DataObject) -> None:
    m, v = made
    null = data.draw(st.integers(0, m - 1))
    game = Game(m, lambda coalition: v[tuple(i for i in coalition if i != null)])
    assert exact(game)[null] == 0
    assert sampled(game, 4, np.random.default_rng(0)).u[null] == 0


@given(tables(most=5), st.integers(0, 2**32 - 1), st.floats(-3, 3), st.floats(-3, 3))
@settings(deadline=None)
def test_linearity(made: tuple[int, Values], seed: int, a: float, b: float) -> None:
    m, v = made
    rng = np.random.default_rng(seed)
    w = {coalition: float(rng.normal()) for coalition in v}
    both = {coalition: a * v[coalition] + b * w[coalition] for coalition in v}
    expected = a * exact(game_of(m, v)) + b * exact(game_of(m, w))
    assert exact(game_of(m, both)) == pytest.approx(expected, abs=1e-9)


def test_by_hand() -> None:
    # A left glove and two right ones; a pair is worth 1.
    game = Game(3, lambda members: float(0 in members and len(members) > 1))
    assert exact(game) == pytest.approx([2 / 3, 1 / 6, 1 / 6])


def test_residues_of_rounding_earn_nothing() -> None:
    # 0.1 + 0.2 - 0.3 is not 0 in doubles.
    v = {(): 0.0, (0,): 0.1, (1,): 0.0, (0, 1): 0.0}
    v[(1,)] = (0.1 + 0.2) - 0.3 + 0.1
    assert exact(game_of(2, v)).tolist() == [0, 0]


@given(tables(least=2, most=6), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=50)
def test_sampled_is_within_a_few_standard_errors_and_efficient(made: tuple[int, Values], seed: int) -> None:
    m, v = made
    game = game_of(m, v)
    u, error = sampled(game, 400, np.random.default_rng(seed))
    assert (np.abs(u - exact(game)) <= 6 * error + 1e-12).all()
    assert u.sum() == pytest.approx(v[tuple(range(m))] - v[()])


def test_standard_errors_tell_the_spread_of_repetitions() -> None:
    rng = np.random.default_rng(0)
    v = {members(coalition): float(rng.normal()) for coalition in range(1 << 6)}
    game = game_of(6, v)
    found = [sampled(game, 40, np.random.default_rng(seed)) for seed in range(400)]
    spread = np.std([one.u for one in found], axis=0, ddof=1)
    stated = np.sqrt(np.mean([one.error**2 for one in found], axis=0))
    assert stated == pytest.approx(spread, rel=0.15)
    assert np.mean([one.u for one in found], axis=0) == pytest.approx(exact(game), abs=5 * spread.max() / 20)


def test_pairs_are_better_than_plain_orders_where_gains_diminish() -> None:
    """Accuracy rises steeply with the first participants; the reason for drawing in pairs."""
    strength = np.arange(1, 13)
    game = Game(12, lambda members: float(1 - math.exp(-strength[list(members)].sum() / 15)))
    truth = exact(game)
    paired, plain = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        paired.append(sampled(game, 40, rng).u - truth)
        orders = [rng.permutation(12) for _ in range(40)]
        gains = np.zeros((40, 12))
        for row, order in zip(gains, orders, strict=True):
            v = [game.v(sum(1 << int(i) for i in order[:place])) for place in range(13)]
            row[order] = np.diff(v)
        plain.append(gains.mean(axis=0) - truth)
    assert np.std(paired) < 0.8 * np.std(plain)


def test_sampled_is_a_matter_of_the_stream_alone_and_values_at_most_what_it_must() -> None:
    game = Game(8, lambda members: float(sum(members) ** 2))
    first = sampled(game, 10, np.random.default_rng(3))
    assert game.evaluations <= 10 * 7 + 2
    again = sampled(Game(8, lambda members: float(sum(members) ** 2)), 10, np.random.default_rng(3))
    assert first.u.tolist() == again.u.tolist()
    assert first.error.tolist() == again.error.tolist()


@pytest.mark.parametrize("permutations", [0, 2, 5])
def test_sampling_needs_two_pairs(permutations: int) -> None:
    with pytest.raises(ValueError, match="even number from 4 on"):
        sampled(Game(3, lambda members: 0.0), permutations, np.random.default_rng(0))


def test_exact_refuses_what_never_ends() -> None:
    with pytest.raises(ValueError, match="sample permutations instead"):
        exact(Game(21, lambda members: 0.0))
