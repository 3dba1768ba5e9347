from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from fedsift.methods.base import Client, Evidence, Method, Signals, Task, floor_share, start_round

TASK = Task(rounds=10, clients=3, classes=10, seed=0, participants=10)


@given(st.integers(0, 1000), st.integers(0, 20_000))
def test_floor_share_is_that_of_the_written_number(thousandths: int, count: int) -> None:
    assert floor_share(thousandths / 1000, count) == thousandths * count // 1000


def test_floor_share_where_doubles_fall_short() -> None:
    assert int(0.29 * 100) == 28
    assert floor_share(0.29, 100) == 29


@given(st.floats(0, 1), st.integers(0, 10**6))
def test_floor_share_of_any_double_is_next_to_exact(share: float, count: int) -> None:
    exact = Fraction(share) * count
    assert -1 < floor_share(share, count) - exact <= Fraction(1, 10**8)


@pytest.mark.parametrize(
    ("start", "rounds", "expected"),
    [(400, 1000, 400), (0.4, 1000, 400), (0.4, 100, 40), (0.4, 12, 5), (0.01, 10, 1), (0.29, 100, 29), (1, 10, 1)],
)
def test_start_round(start: int | float, rounds: int, expected: int) -> None:
    assert start_round(start, rounds) == expected


def test_defaults_are_fedavg() -> None:
    method = Method(Method.Options(), TASK)
    rng = np.random.default_rng(0)
    assert method.lineage(method.options, 10) == []
    assert method.acts(0)
    assert method.admit(0, rng) is None
    assert method.trains(0)
    assert method.signals(0) == frozenset()
    assert method.select(0, Client(0, None, None), Signals(), rng) is None
    assert method.loss(0, None, None, None, None) is None
    assert method.keep(0, [], None) is None  # type: ignore[arg-type]
    method.observe(0, Evidence([], [], []))
    assert method.state_dict() == {}
    assert not method.sees_truth


def test_unknown_options_are_errors() -> None:
    with pytest.raises(ValidationError):
        Method.Options.model_validate({"surprise": 1})
