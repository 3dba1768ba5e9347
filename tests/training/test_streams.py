from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedsift.training.streams import clients_by_round, seed_of, stream


def test_clients_by_round_are_fedmls() -> None:
    """MTAE spec, 4: r = 0, K = 1000."""
    chosen = clients_by_round(0, 1000, 100)
    assert chosen[:5].tolist() == [993, 859, 298, 553, 672]
    assert len(set(chosen.tolist())) == 100


def test_clients_by_round_are_drawn_anew_every_round() -> None:
    assert not np.array_equal(clients_by_round(1, 1000, 100), clients_by_round(2, 1000, 100))
    assert sorted(clients_by_round(7, 10, 10).tolist()) == list(range(10))


def test_values_never_change() -> None:
    """Every result rests on these; a change of them has to be meant."""
    assert seed_of(0, "init") == 3598610026517748695
    assert seed_of(0, "order", 17, 400) == 108705755576306879
    assert seed_of(4, "select", 400, 17) == 3577625326227754048
    assert stream(3, "augment", 17, 400).random(2).tolist() == [0.21946373306926903, 0.7382884043171736]
    assert stream(0, "order", 0, 0).permutation(8).tolist() == [2, 6, 1, 0, 5, 7, 3, 4]


def test_streams_differ_in_every_part() -> None:
    seeds = {seed_of(*parts) for parts in product((0, 1), ("order", "select"), (0, 1, 10, 11), (0, 1, 10, 11))}
    assert len(seeds) == 2 * 2 * 4 * 4
    assert len({seed_of(1, "order", 1, 11), seed_of(1, "order", 11, 1), seed_of(1, "order", 111)}) == 3


def test_streams_do_not_depend_on_the_order_in_which_they_are_made() -> None:
    keys = [("order", 3, 1), ("order", 3, 2), ("select", 3, 1)]
    forward = [stream(5, *key).random(3).tolist() for key in keys]
    backward = [stream(5, *key).random(3).tolist() for key in reversed(keys)]
    assert forward == backward[::-1]


@pytest.mark.parametrize("purpose", ["order", "select"])
def test_neighbouring_streams_are_uncorrelated(purpose: str) -> None:
    draws = np.stack([stream(0, purpose, round_, 0).random(2000) for round_ in range(8)])
    correlations = np.corrcoef(draws)[np.triu_indices(8, 1)]
    assert np.abs(correlations).max() < 0.1


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 10**6), max_size=3))
def test_seeds_fit_every_generator(seed: int, index: list[int]) -> None:
    value = seed_of(seed, "order", *index)
    assert 0 <= value < 2**63
    assert value == seed_of(seed, "order", *index)
