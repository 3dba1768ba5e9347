"""The controls: oracle, random-drop, top-loss."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fedsift.methods.base import Client, Selection, Signals, Step, Task
from fedsift.methods.from_start import FromStart
from fedsift.methods.oracle import Oracle
from fedsift.methods.random_drop import RandomDrop, drop_highest
from fedsift.methods.top_loss import TopLoss

TASK = Task(rounds=1000, clients=100, classes=10, seed=0, participants=10)
CONTROLS = [Oracle, RandomDrop, TopLoss]


def select(cls: type[FromStart], losses: list[float], seed: int = 0, noisy: Any = None, **options: Any) -> Selection:
    method = cls(cls.Options.model_validate(options), TASK)
    client = Client(0, torch.zeros(len(losses), dtype=torch.int64), noisy)
    signals = Signals(losses=torch.tensor([[0.0, value] for value in losses])) if method.signals(400) else Signals()
    chosen = method.select(400, client, signals, np.random.default_rng(seed))
    assert chosen is not None
    assert chosen.keep is not None
    assert chosen.keep.dtype == bool
    return chosen


@settings(deadline=None)
@given(st.lists(st.integers(-5, 5), max_size=40), st.integers(0, 100))
def test_drop_highest(scores: list[int], percent: int) -> None:
    keep = drop_highest(np.array(scores, float), percent / 100)
    dropped = [score for score, kept in zip(scores, keep, strict=True) if not kept]
    kept = [score for score, kept in zip(scores, keep, strict=True) if kept]
    assert len(dropped) == percent * len(scores) // 100
    assert not dropped or not kept or min(dropped) >= max(kept)


def test_of_equal_ones_the_later_are_dropped() -> None:
    assert drop_highest(np.array([1.0, 2.0, 2.0, 2.0]), 0.5).tolist() == [True, True, False, False]
    many = drop_highest(np.tile([1.0, 2.0], 200), 0.25)
    assert np.flatnonzero(~many).tolist() == list(range(201, 400, 2))


def test_top_loss_drops_the_highest() -> None:
    chosen = select(TopLoss, [0.3, 0.9, 0.1, 0.8, 0.2])
    assert chosen.keep.tolist() == [True, False, True, False, True]
    assert chosen.suspicion == pytest.approx([0.3, 0.9, 0.1, 0.8, 0.2])


def test_top_loss_drops_what_is_not_a_number_first() -> None:
    chosen = select(TopLoss, [0.3, float("nan"), 0.1, 0.2, 0.2], rate=0.2)
    assert chosen.keep.tolist() == [True, False, True, True, True]


def test_top_loss_adds_the_terms() -> None:
    method = TopLoss(TopLoss.Options(rate=0.5), TASK)
    signals = Signals(losses=torch.tensor([[0.5, 0.1], [0.1, 0.4]]))
    chosen = method.select(400, Client(0, torch.zeros(2), None), signals, np.random.default_rng(0))
    assert chosen.keep.tolist() == [False, True]


@pytest.mark.parametrize("cls", [RandomDrop, TopLoss])
@pytest.mark.parametrize(("n", "dropped"), [(1, 0), (2, 0), (3, 1), (5, 2), (10, 4), (35, 14)])
def test_floor_of_the_rate(cls: type[FromStart], n: int, dropped: int) -> None:
    assert (~select(cls, [0.1] * n).keep).sum() == dropped


@pytest.mark.parametrize("cls", [RandomDrop, TopLoss])
def test_rate_1_leaves_nothing(cls: type[FromStart]) -> None:
    assert not select(cls, [0.1] * 5, rate=1).keep.any()


def test_random_drop_is_uniform() -> None:
    kept = np.mean([select(RandomDrop, [0.1] * 10, seed).keep for seed in range(2000)], axis=0)
    assert kept == pytest.approx(np.full(10, 0.6), abs=0.06)


def test_random_drop_is_drawn_by_its_stream() -> None:
    draws = [select(RandomDrop, [0.1] * 30, seed).keep.tolist() for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]


def test_oracle_keeps_the_clean_ones() -> None:
    chosen = select(Oracle, [0.1] * 4, noisy=torch.tensor([True, False, False, True]))
    assert chosen.keep.tolist() == [False, True, True, False]
    assert chosen.suspicion.tolist() == [1, 0, 0, 1]


def test_oracle_without_the_truth_is_a_fault() -> None:
    with pytest.raises(AssertionError, match="sees_truth"):
        select(Oracle, [0.1] * 4)


def test_only_the_oracle_sees_the_truth() -> None:
    assert [cls.sees_truth for cls in CONTROLS] == [True, False, False]


@pytest.mark.parametrize("cls", CONTROLS)
def test_timing(cls: type[FromStart]) -> None:
    method = cls(cls.Options(), TASK)
    assert [method.acts(round_) for round_ in (0, 399, 400, 999)] == [False, False, True, True]
    assert cls.lineage(cls.Options(), 1000) == [Step("fedavg", {}, 400)]
    assert cls.lineage(cls.Options(start=7), 1000) == [Step("fedavg", {}, 7)]
    assert method.state_dict() == {}
