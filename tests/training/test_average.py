from fractions import Fraction

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from fedsift.training.average import Average

FLOATS = st.floats(-1e6, 1e6, width=32)
CLIENTS = st.lists(st.tuples(FLOATS, st.integers(0, 60_000)), min_size=1, max_size=8)


def average(values: list[Tensor], weights: list[int], start: Tensor) -> Tensor:
    made, state = Average(), {"w": start.clone()}
    for value, weight in zip(values, weights, strict=True):
        made.add({"w": value}, weight)
    return made.of(state)["w"]


@given(CLIENTS)
def test_is_the_weighted_mean(clients: list[tuple[float, int]]) -> None:
    """The slow twin calculates in exact fractions."""
    total = sum(weight for _, weight in clients)
    got = average([torch.tensor(w) for w, _ in clients], [n for _, n in clients], torch.tensor(7.0))
    if total == 0:
        assert got.item() == 7.0
        return
    exact = sum(Fraction(w) * n for w, n in clients) / total
    # The sum is in doubles: its error is relative to the largest term.
    largest = max(abs(w) * n for w, n in clients) / total
    assert abs(float(exact) - got.item()) <= np.spacing(np.float32(abs(float(exact)))) + 1e-14 * largest


@given(FLOATS, st.integers(1, 2**28))
def test_one_client_comes_back_bit_for_bit(w: float, n: int) -> None:
    value = torch.tensor([w, -0.0, 1e-45, 3e38])
    got = average([value], [n], torch.zeros(4))
    assert torch.equal(got.view(torch.int32), value.view(torch.int32))


def test_integers_are_rounded_and_keep_their_type() -> None:
    counter = average([torch.tensor(10), torch.tensor(11)], [1, 2], torch.tensor(0))
    assert counter.dtype == torch.int64
    assert counter.item() == 11
    big = average([torch.tensor(2**40 + 1)], [5], torch.tensor(0))
    assert big.item() == 2**40 + 1


def test_weight_zero_is_left_out_even_if_it_is_not_finite() -> None:
    got = average([torch.tensor(1.0), torch.tensor(torch.nan)], [3, 0], torch.tensor(0.0))
    assert got.item() == 1.0


def test_nothing_leaves_the_model_alone() -> None:
    start = torch.tensor([1.5, -2.0])
    assert torch.equal(average([torch.zeros(2)], [0], start), start)
    assert torch.equal(average([], [], start), start)


def test_does_not_keep_the_clients_tensors() -> None:
    """The engine reuses one model for all clients."""
    made, working, state = Average(), torch.tensor([1.0]), {"w": torch.zeros(1)}
    made.add({"w": working}, 1)
    working.fill_(3.0)
    made.add({"w": working}, 1)
    working.fill_(99.0)
    state = made.of(state)
    assert state["w"].item() == 2.0


def test_memory_format_and_type_of_the_model_stay() -> None:
    state = {"w": torch.zeros(2, 3, 4, 4).to(memory_format=torch.channels_last)}
    made = Average()
    made.add({"w": torch.rand(2, 3, 4, 4)}, 2)
    state = made.of(state)
    assert state["w"].is_contiguous(memory_format=torch.channels_last)
    assert state["w"].dtype == torch.float32
