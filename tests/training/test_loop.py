import gc
import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from training.tiny import SIZES, federation_of, samples_of, spec_of, task_of

from fedsift.methods.base import Client, Evidence, Losses, Method, Selection, Signals, Update
from fedsift.specs import TrainSpec
from fedsift.training.loop import Federation
from fedsift.training.streams import clients_by_round

State = dict[str, Tensor]


def equal(a: State, b: State) -> bool:
    return all(torch.equal(a[name], b[name]) for name in a)


def copy(state: Any) -> State:
    return {name: value.clone() for name, value in state.items()}


class Tuned(Method):
    """Does what a test tells it."""

    def __init__(self, spec: TrainSpec, **hooks: Any) -> None:
        super().__init__(Method.Options(), task_of(spec))
        self.hooks = hooks
        self.evidence: list[Evidence] = []

    def admit(self, round_: int, rng: np.random.Generator) -> Sequence[int] | None:
        return self.hooks.get("admit")

    def select(self, round_: int, client: Client, signals: Signals, rng: np.random.Generator) -> Selection | None:
        return self.hooks["select"](client) if "select" in self.hooks else None

    def observe(self, round_: int, evidence: Evidence) -> None:
        self.evidence.append(evidence)


class Choosing(Tuned):
    """Also screens the updates."""

    def keep(self, round_: int, updates: Sequence[Update], losses: Losses) -> Any:
        self.updates = updates
        return self.hooks["keep"]


def run(spec: TrainSpec, method: Method | None = None, rounds: int = 1) -> tuple[Federation, list[dict[str, Any]]]:
    federation = federation_of(spec, method, samples_of(list(SIZES)))
    return federation, [dict(federation.round(round_)) for round_ in range(rounds)]


def test_average_weighs_by_the_samples_used() -> None:
    """The slow twin averages the clients' models in exact fractions."""
    spec = spec_of()

    def some(client: Client) -> Selection:
        return Selection(keep=np.arange(len(client.labels)) % 3 != client.number % 3)

    method = Choosing(spec, admit=[0, 1, 3], select=some, keep=None)
    federation, (row,) = run(spec, method)
    used = [update.used for update in method.updates]
    assert used == [int((np.arange(SIZES[k]) % 3 != k % 3).sum()) for k in (0, 1, 3)]
    assert row["used"] == sum(used)
    assert row["samples"] == SIZES[0] + SIZES[1] + SIZES[3]
    for name, value in federation.state.items():
        parts = [update.state[name].flatten().tolist() for update in method.updates]
        for index in range(0, value.numel(), 101):
            exact = sum(Fraction(part[index]) * n for part, n in zip(parts, used, strict=True)) / sum(used)
            assert value.flatten()[index].item() == pytest.approx(float(exact), rel=1e-7, abs=1e-12)


def test_order_of_admission_changes_nothing() -> None:
    spec = spec_of()
    results = [run(spec, Tuned(spec, admit=order), rounds=2) for order in ([3, 0, 4, 1], [0, 1, 3, 4])]
    assert equal(results[0][0].state, results[1][0].state)
    assert results[0][1] == results[1][1]


def test_admission_may_be_an_array() -> None:
    spec = spec_of()
    method = Tuned(spec, admit=np.array([4, 2]))
    run(spec, method)
    assert method.evidence[0].clients == [2, 4]


def test_nobody_admitted_leaves_the_model() -> None:
    spec = spec_of()
    federation = federation_of(spec, Tuned(spec, admit=[]), samples_of(list(SIZES)))
    before = copy(federation.state)
    row = federation.round(1)
    assert equal(before, federation.state)
    assert (row["status"], row["clients"], row["used"]) == ("ok", 0, 0)


@pytest.mark.parametrize(
    ("share", "clients", "count"), [(0.1, 1000, 100), (0.29, 100, 29), (0.58, 100, 58), (0.1, 5, 1)]
)
def test_number_of_clients_in_a_round(share: float, clients: int, count: int) -> None:
    """The share as it is written: 0.29 * 100 is less than 29 in doubles."""
    spec = spec_of(clients=clients, sampling={"share": share})
    federation = federation_of(spec, samples=samples_of([1] * clients))
    assert len(federation._admit(0, federation.method)) == count


def test_sampling_by_round_is_fedmls_whatever_the_seed() -> None:
    chosen = []
    for seed in (0, 1):
        spec = spec_of(clients=50, seed=seed, sampling={"share": 0.2, "rule": "by-round"})
        chosen.append(federation_of(spec, samples=samples_of([1] * 50))._admit(7, Tuned(spec)))
    assert chosen[0] == chosen[1] == sorted(clients_by_round(7, 50, 10).tolist())


def test_sampling_by_seed_differs_between_seeds_and_rounds() -> None:
    chosen = set()
    for seed in (0, 1):
        spec = spec_of(clients=50, seed=seed, sampling={"share": 0.2, "rule": "by-seed"})
        federation = federation_of(spec, samples=samples_of([1] * 50))
        again = federation_of(spec, samples=samples_of([1] * 50))
        for round_ in (0, 1):
            clients = federation._admit(round_, Tuned(spec))
            assert clients == again._admit(round_, Tuned(spec))
            assert len(set(clients)) == 10
            chosen.add(tuple(clients))
    assert len(chosen) == 4


@pytest.mark.parametrize("answer", [[True, False, True], np.array([True, False, True])])
def test_keep_hook_screens_updates(answer: Any) -> None:
    spec = spec_of()
    screened, _ = run(spec, Choosing(spec, admit=[0, 1, 3], keep=answer))
    without, _ = run(spec, Tuned(spec, admit=[0, 3]))
    assert equal(screened.state, without.state)


def test_keep_hook_that_keeps_all_is_the_plain_average() -> None:
    spec = spec_of()
    states = [
        run(spec, method)[0].state
        for method in (
            Tuned(spec, admit=[0, 1, 3]),
            Choosing(spec, admit=[0, 1, 3], keep=None),
            Choosing(spec, admit=[0, 1, 3], keep=[True] * 3),
        )
    ]
    assert equal(states[0], states[1])
    assert equal(states[0], states[2])


def test_keep_hook_that_keeps_none_leaves_the_model() -> None:
    spec = spec_of()
    federation = federation_of(spec, Choosing(spec, keep=[False] * 4), samples_of(list(SIZES)))
    before = copy(federation.state)
    assert federation.round(0)["status"] == "ok"
    assert equal(before, federation.state)


def test_updates_shown_to_the_keep_hook_are_the_clients_own() -> None:
    spec = spec_of()
    method = Choosing(spec, admit=[0, 1], keep=None)
    run(spec, method)
    first, second = (update.state["encoder.0.weight"] for update in method.updates)
    assert not torch.equal(first, second)


def test_nothing_left_anywhere_leaves_the_model() -> None:
    spec = spec_of()
    method = Tuned(spec, select=lambda client: Selection(keep=np.zeros(len(client.labels), bool)))
    federation = federation_of(spec, method, samples_of(list(SIZES)))
    before = copy(federation.state)
    row = federation.round(0)
    assert equal(before, federation.state)
    assert (row["clients"], row["used"]) == (0, 0)


def test_client_with_nothing_left_has_no_weight() -> None:
    spec = spec_of()

    def not_zero(client: Client) -> Selection:
        return Selection(keep=np.full(len(client.labels), client.number != 0))

    federation, (row,) = run(spec, Tuned(spec, admit=[0, 1, 2], select=not_zero))
    assert equal(federation.state, run(spec, Tuned(spec, admit=[1, 2]))[0].state)
    assert row["clients"] == 2


def test_evidence_is_in_ascending_order_of_clients() -> None:
    spec = spec_of()
    method = Tuned(spec, admit=[4, 0, 2], select=lambda client: Selection(upload={"number": np.array(client.number)}))
    run(spec, method)
    (evidence,) = method.evidence
    assert list(evidence.clients) == [0, 2, 4]
    assert [int(upload["number"]) for upload in evidence.uploads] == [0, 2, 4]
    assert list(evidence.used) == [SIZES[0], SIZES[2], SIZES[4]]


def test_method_that_does_not_act_is_not_asked() -> None:
    class Sleeping(Choosing):
        def acts(self, round_: int) -> bool:
            return False

        def admit(self, round_: int, rng: np.random.Generator) -> Any:
            raise AssertionError

        select = keep = loss = signals = trains = admit

    spec = spec_of()
    method = Sleeping(spec)
    asleep, rows = run(spec, method, rounds=2)
    plain, expected = run(spec, rounds=2)
    assert equal(asleep.state, plain.state)
    assert rows == expected
    assert method.evidence == []


def test_evaluates_every_so_often_and_in_the_last_round() -> None:
    _, rows = run(spec_of(), rounds=12)
    assert [row["round"] for row in rows if "accuracy" in row] == [0, 4, 8, 11]


def test_evaluation_does_not_disturb_the_run() -> None:
    spec = spec_of()
    often, _ = run(spec.model_copy(update={"evaluation": spec.evaluation.model_copy(update={"every": 1})}), rounds=3)
    rarely, _ = run(spec, rounds=3)
    assert equal(often.state, rarely.state)


def test_model_that_is_no_longer_finite_ends_the_round() -> None:
    spec = spec_of(training={"lr": 1e30})
    method = Tuned(spec)
    federation, _ = run(spec, method, rounds=0)
    row = federation.round(0)
    assert row["status"] == "diverged"
    assert "accuracy" not in row
    assert method.evidence == []


def test_detection_counts_clients_that_selected() -> None:
    spec = spec_of()

    def drop_first(client: Client) -> Selection:
        keep = np.arange(len(client.labels)) > 0
        return Selection(keep=keep if client.number == 0 else None, suspicion=1.0 - keep)

    noisy = torch.zeros(sum(SIZES), dtype=torch.bool)
    noisy[: SIZES[0]] = True
    samples = samples_of(list(SIZES), noisy=noisy)
    row = federation_of(spec, Tuned(spec, admit=[0, 1], select=drop_first), samples).round(1)
    assert row["detection_precision"] == 1.0
    assert row["detection_recall"] == pytest.approx(1 / SIZES[0])
    assert "detection_auc" not in row


def test_learns(world: Path) -> None:
    """Ten classes with a pattern each: chance is 0.1."""
    federation = federation_of(spec_of(training={"epochs": 5}, sampling={"share": 1.0}))
    rows = [federation.round(round_) for round_ in range(9)]
    assert rows[8]["accuracy"] > 0.4
    assert rows[8]["loss"] < 0.8 * rows[0]["loss"]


def test_memory_does_not_grow_over_rounds(world: Path) -> None:
    """FLW#1376. Counts live tensors and arrays, with a method that keeps a state."""

    def alive() -> int:
        gc.collect()
        return sum(issubclass(type(thing), torch.Tensor) for thing in gc.get_objects())

    federation = federation_of(spec_of("loss-ocsvm", {"start": 1, "refit_every": 2}))
    counts = []
    for round_ in range(8):
        federation.round(round_)
        counts.append(alive())
    assert counts[3] == counts[5] == counts[7]


def test_losses_that_are_not_finite_end_the_run_as_diverged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights can be finite and so large that what they compute is not."""
    monkeypatch.setattr("fedsift.training.loop.evaluate", lambda *_: {"accuracy": 0.1, "loss": math.nan})
    federation, _ = run(spec_of(), rounds=0)
    row = federation.round(0)
    assert row["status"] == "diverged"
    assert "accuracy" not in row


@pytest.mark.parametrize(("count_from", "tested"), [(0, [0, 4, 8, 11]), (1, [3, 7, 11])])
def test_rounds_that_are_evaluated(count_from: int, tested: list[int]) -> None:
    spec = spec_of(evaluation={"every": 4, "count_from": count_from})
    federation = federation_of(spec, samples=samples_of(list(SIZES)))
    assert [round_ for round_ in range(12) if "accuracy" in federation.round(round_)] == tested


def test_averaged_counts_the_models_that_made_it() -> None:
    spec = spec_of()
    _, (row,) = run(spec, Choosing(spec, admit=[0, 1, 3], keep=[True, False, True]))
    assert (row["clients"], row["averaged"]) == (3, 2)


def test_weight_divergence_is_logged_and_changes_nothing_else() -> None:
    rows, states = [], []
    for logged in (False, True):
        spec = spec_of(evaluation={"every": 2, "weight_divergence": logged})
        federation, played = run(spec, rounds=3)
        rows.append(played)
        states.append(copy(federation.state))
    assert equal(*states)
    assert [row.pop("weight_divergence", None) is not None for row in rows[1]] == [True, False, True]
    assert rows[0] == rows[1]


def test_weight_divergence_of_a_lone_client_is_the_noise_of_its_order() -> None:
    """Same samples and one batch a step: only rounding is left. Clients that differ part."""
    spec = spec_of(training={"batch_size": 64}, evaluation={"every": 1, "weight_divergence": True})
    alone = federation_of(spec, Tuned(spec, admit=[3]), samples_of(list(SIZES)))
    assert alone.round(0)["weight_divergence"] < 1e-5
    apart = federation_of(spec, Tuned(spec, admit=[1, 3]), samples_of(list(SIZES)))
    assert apart.round(0)["weight_divergence"] > 1e-4


def test_training_on_the_server_is_a_clients() -> None:
    """The twin is a client that owns these very samples; with one batch their order is no matter."""
    spec = spec_of(training={"batch_size": 64})
    federation = federation_of(spec, samples=samples_of(list(SIZES)))
    rows = federation.samples.rows(2)
    central = federation.engine.server(0, np.arange(rows.start, rows.stop), 2, federation.state, federation.plain)
    single = federation_of(spec, Tuned(spec, admit=[2]), samples_of(list(SIZES)))
    single.round(0)
    assert all(torch.allclose(central[name], single.state[name], atol=1e-6) for name in central)


def test_free_riders_may_disguise_themselves() -> None:
    """They send the model back as it is, or with noise of the deviation that is asked for, the same whenever asked."""
    sent = []
    for noise in (0.0, 0.1, 0.1):
        spec = spec_of(training={"free_rider_noise": noise})
        federation = federation_of(spec, Tuned(spec, admit=[1]), samples_of(list(SIZES), free_rider=[False, True] * 3))
        before = copy(federation.state)
        federation.round(0)
        moved = torch.cat(
            [(federation.state[name] - before[name]).flatten() for name, _ in federation.model.named_parameters()]
        )
        sent.append(moved)
    assert not sent[0].any()
    assert sent[1].std().item() == pytest.approx(0.1, rel=0.05)
    assert torch.equal(sent[1], sent[2])
