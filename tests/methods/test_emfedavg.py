from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from training.tiny import SIZES, federation_of, samples_of, spec_of, task_of

from fedsift.methods.base import Client, Method, Task, Update
from fedsift.methods.emfedavg import Emfedavg
from fedsift.training.loop import Federation

TASK = Task(rounds=100, clients=8, classes=4, seed=0, participants=4)
RNG = np.random.default_rng(0)
NONE: Any = None
"""Distances do not need losses."""


def client(number: int, *counts: int) -> Client:
    return Client(number, torch.repeat_interleave(torch.arange(4), torch.tensor(counts)), None)


CLIENTS = [
    client(0, 2, 2, 2, 2),
    client(1, 4, 4, 0, 0),
    client(2, 0, 0, 4, 4),
    client(3, 8, 0, 0, 0),
    client(4, 2, 2, 2, 2),
    client(5, 0, 8, 0, 0),
    client(6, 4, 0, 4, 0),
    client(7, 0, 4, 0, 4),
]
"""Of 64 samples 20, 20, 12, 12 of each class; EMD 0.25, 0.75, 1.25, 1.375, 0.25, 1.375, 1.0, 1.0 against all."""


def method(**options: Any) -> Emfedavg:
    m = Emfedavg(Emfedavg.Options.model_validate(options), TASK)
    m.prepare(CLIENTS)
    return m


def updates(*numbers: int) -> list[Update]:
    return [Update(k, {"w": torch.full((3,), float(k))}, 8) for k in numbers]


def test_distances() -> None:
    assert method().D.tolist() == [0.25, 0.75, 1.25, 1.375, 0.25, 1.375, 1.0, 1.0]
    assert method(p="uniform").D.tolist() == [0.0, 1.0, 1.0, 1.5, 0.0, 1.5, 1.0, 1.0]


def test_a_round_removes_those_beyond_the_third_quartile_of_its_own_participants() -> None:
    """Q3 of (0.25, 0.75, 1.25, 1.375) is 1.28125; of all eight it is 1.28125 too, and two lie beyond."""
    m = method()
    assert m.admit(0, RNG) is None
    assert m.keep(0, updates(0, 1, 2, 3), NONE) == [True, True, True, False]
    assert m.keep(1, updates(*range(8)), NONE) == [True, True, True, False, True, False, True, True]
    assert m.admit(2, RNG) is None
    assert m.keep(2, updates(3, 5), NONE) == [True, True]


def test_by_rank_the_last_quarter_goes_even_in_a_tie() -> None:
    assert method(rule="rank").keep(0, updates(3, 5, 3, 5), NONE) == [True, True, True, False]


def test_by_weights() -> None:
    """Average 5; distances 5, 4, 3, 12; Q3 = 6.75."""
    m = method(emd_on="weights")
    assert m.keep(0, [Update(k, {"w": torch.full((3,), w)}, 8) for k, w in enumerate((0.0, 1.0, 2.0, 17.0))], NONE) == [
        True,
        True,
        True,
        False,
    ]


def test_once_by_labels_is_known_before_round_0() -> None:
    m = method(remove="once")
    assert np.flatnonzero(m.removed).tolist() == [3, 5]
    for round_ in range(20):
        admitted = m.admit(round_, np.random.default_rng(round_))
        assert admitted is not None
        assert len(set(admitted)) == 4
        assert not {3, 5} & set(admitted)
        assert m.keep(round_, updates(*admitted), NONE) is None


@pytest.mark.parametrize(("options", "kept"), [({}, [True] * 7 + [False]), ({"average": "participants"}, None)])
def test_once_by_weights_is_decided_in_round_0_by_all(options: dict[str, Any], kept: list[bool] | None) -> None:
    m = method(emd_on="weights", remove="once", **options)
    assert m.admit(0, RNG) == list(range(8))
    far = [*updates(*range(7)), Update(7, {"w": torch.full((3,), 900.0)}, 8)]
    got = m.keep(0, far, NONE)
    # The quartile leaves six of eight; the far one pulls the average, so that who is near it changes.
    assert (got is None) == (kept is None)
    assert m.removed.sum() == 2
    assert m.removed[7]
    later = m.admit(1, RNG)
    assert later is not None
    assert 7 not in later


def test_cumulative_removal_ends_with_one_participant() -> None:
    """100, 75, 56, 42, 31, 23, ..., 1 in the spec (A3), where all distances differ and all take part."""
    task = Task(rounds=100, clients=100, classes=4, seed=0, participants=100)
    m = Emfedavg(Emfedavg.Options(remove="cumulative", participants="all"), task)
    m.D = RNG.permutation(100) / 100
    left = []
    for round_ in range(16):
        admitted = m.admit(round_, RNG)
        assert admitted is not None
        left.append(len(admitted))
        m.keep(round_, updates(*admitted), NONE)
    assert left == [100, 75, 56, 42, 31, 23, 17, 13, 10, 7, 5, 4, 3, 2, 1, 1]


def test_participants_all() -> None:
    assert method(participants="all").admit(0, RNG) == list(range(8))


def test_average_before_the_removal_has_no_effect_within_a_round() -> None:
    with pytest.raises(ValidationError, match="is FedAvg itself"):
        Emfedavg.Options(average="participants")
    m = method(average="participants", remove="cumulative")
    assert m.keep(0, updates(0, 1, 2, 3), NONE) is None
    assert np.flatnonzero(m.removed).tolist() == [3]


def test_a_step_a_shard() -> None:
    training = spec_of().training
    assert method().local_training(training) is training
    changed = method(shard_steps=300).local_training(training)
    assert (changed.batch_size, changed.reshuffle) == (300, "none")


def test_who_is_gone_survives_an_interruption() -> None:
    m = method(remove="cumulative")
    m.keep(0, updates(0, 1, 2, 3), NONE)
    again = method(remove="cumulative")
    again.load_state_dict(m.state_dict())
    again.prepare(CLIENTS)
    assert np.array_equal(again.removed, m.removed)


def rounds(m: Method, count: int = 3) -> tuple[Federation, list[Any]]:
    spec = spec_of(sampling={"share": 1.0})
    federation = federation_of(spec, m, samples_of(list(SIZES)))
    return federation, [federation.round(round_) for round_ in range(count)]


def in_loop(**options: Any) -> Emfedavg:
    return Emfedavg(Emfedavg.Options.model_validate(options), task_of(spec_of(sampling={"share": 1.0})))


def test_without_removal_it_is_fedavg_bit_for_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, _ = rounds(Method(Method.Options(), task_of(spec_of(sampling={"share": 1.0}))))
    monkeypatch.setattr("fedsift.methods.emfedavg.too_far", lambda D, rule: np.zeros(len(D), dtype=bool))
    same, rows = rounds(in_loop())
    assert all(torch.equal(plain.state[name], same.state[name]) for name in plain.state)
    assert [row["averaged"] for row in rows] == [row["clients"] for row in rows]


@pytest.mark.parametrize("emd_on", ["labels", "weights"])
def test_in_the_loop(emd_on: str) -> None:
    """Six clients with distances that differ: four stay, all have trained."""
    _, rows = rounds(in_loop(emd_on=emd_on))
    assert [row["clients"] for row in rows] == [6, 6, 6]
    assert [row["averaged"] for row in rows] == [4, 4, 4]
