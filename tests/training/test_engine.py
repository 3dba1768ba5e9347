from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from training.tiny import federation_of, samples_of, spec_of

from fedsift import models
from fedsift.config.model import MtaeObjective, Training
from fedsift.methods.base import Client, Method, Selection, Signals, Task
from fedsift.models.dropout import seed_dropout
from fedsift.models.info import MODELS
from fedsift.training.engine import LocalResult, ReferenceEngine
from fedsift.training.objective import sample_errors
from fedsift.training.streams import seed_of, stream
from fedsift.training.tensors import Samples

State = dict[str, Tensor]

OBJECTIVE = MtaeObjective(lambda_rec=1.0, lambda_cls=0.5)
TASK = Task(rounds=12, clients=3, classes=10, seed=3, participants=3)


def equal(a: State, b: State) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def copy(state: Any) -> State:
    return {name: value.clone() for name, value in state.items()}


class Spy(Method):
    """Notes the labels of every batch and does what it is told."""

    def __init__(self, keep: Callable[[Tensor], np.ndarray | None] = lambda labels: None) -> None:
        super().__init__(Method.Options(), TASK)
        self.keep_of = keep
        self.batches: list[list[int]] = []
        self.clients: list[Client] = []
        self.seen: list[Signals] = []

    def select(self, round_: int, client: Client, signals: Signals, rng: np.random.Generator) -> Selection | None:
        self.clients.append(client)
        self.seen.append(signals)
        keep = self.keep_of(client.labels)
        return None if keep is None else Selection(keep=keep)

    def loss(self, round_: int, output: Any, labels: Tensor, model: nn.Module, start: State) -> None:
        self.batches.append(labels.tolist())


class Setting:
    """A model with as many classes as samples, each sample with its own label, so that batches can be told apart."""

    def __init__(self, sizes: list[int], **training: Any) -> None:
        n = sum(sizes)
        self.samples = samples_of(sizes, y=torch.arange(n))
        self.model = models.build("mtae-digits", n, 1).to(memory_format=torch.channels_last)
        self.state = copy(self.model.state_dict())
        self.training = Training(objective=OBJECTIVE, **({"epochs": 2, "batch_size": 8, "lr": 0.1} | training))

    def run(self, round_: int, clients: list[int], method: Method, samples: Samples | None = None) -> list[LocalResult]:
        engine = ReferenceEngine(self.model, samples or self.samples, self.training, seed=3, chunk=5)
        return [
            replace(result, update=replace(result.update, state=copy(result.update.state)))
            for result in engine.local(round_, clients, self.state, method)
        ]


def plain_sgd(name: str, samples: Samples, training: Training, seed: int, rounds: int) -> State:
    """The slow twin of one client with all data: PyTorch's own SGD and nothing federated."""
    model = models.build(name, 10, seed_of(seed, "init")).to(memory_format=torch.channels_last)
    for round_ in range(rounds):
        order = torch.from_numpy(stream(seed, "order", 0, round_).permutation(len(samples.y)))
        x = samples.x[order].float().div(samples.scale).permute(0, 3, 1, 2)
        y = samples.y[order]
        model.train()
        seed_dropout(model, seed_of(seed, "dropout", round_, 0))
        optimiser = torch.optim.SGD(
            model.parameters(), lr=training.lr, momentum=training.momentum, weight_decay=training.weight_decay
        )
        for _ in range(training.epochs):
            for begin in range(0, len(y), training.batch_size):
                xb, yb = x[begin : begin + training.batch_size], y[begin : begin + training.batch_size]
                output = model(xb)
                loss = nn.functional.cross_entropy(output.logits, yb)
                if training.objective:
                    loss = (
                        training.objective.lambda_rec * nn.functional.mse_loss(output.reconstruction, xb)
                        + training.objective.lambda_cls * loss
                    )
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
    return copy(model.state_dict())


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("mtae-digits", {}),
        ("mtae-digits", {"momentum": 0.9, "weight_decay": 1e-3}),
        ("mtae-cifar10", {}),  # batch normalisation, and a last batch of one sample
        ("cnn-small", {}),  # dropout
    ],
)
def test_one_client_with_all_data_is_plain_sgd_bit_for_bit(name: str, options: dict[str, float]) -> None:
    samples = samples_of([65], MODELS[name].shape)
    objective = OBJECTIVE.model_dump() if MODELS[name].multitask else None
    local = {"epochs": 2, "batch_size": 64, "lr": 0.1, "objective": objective, **options}
    spec = spec_of(model=name, clients=1, training=local)
    federation = federation_of(spec, samples=samples)
    for round_ in range(2):
        federation.round(round_)
    assert equal(federation.state, plain_sgd(name, samples, spec.training, spec.seed, 2))


def test_batch_of_one_sample_and_batch_normalisation() -> None:
    """65 samples in batches of 64."""
    samples = samples_of([65], (32, 32, 3))
    local = {"epochs": 1, "batch_size": 64, "objective": OBJECTIVE.model_dump()}
    federation = federation_of(spec_of(model="mtae-cifar10", clients=1, training=local), samples=samples)
    row = federation.round(0)
    assert row["status"] == "ok"
    assert federation.state["encoder.2.num_batches_tracked"].item() == 2
    assert all(torch.isfinite(value).all() for value in federation.state.values())


def epochs_of(method: Spy, samples: int) -> list[list[int]]:
    """The labels of each epoch of one client, in order."""
    flat = [label for batch in method.batches for label in batch]
    return [flat[begin : begin + samples] for begin in range(0, len(flat), samples)]


def test_batches_are_of_the_size_and_a_short_last_one_is_kept() -> None:
    method = Spy()
    Setting([17]).run(0, [0], method)
    assert [len(batch) for batch in method.batches] == [8, 8, 1, 8, 8, 1]


@pytest.mark.parametrize(
    ("reshuffle", "epochs_alike", "rounds_alike"),
    [("round", True, False), ("epoch", False, False), ("never", True, True)],
)
def test_reshuffle(reshuffle: str, epochs_alike: bool, rounds_alike: bool) -> None:
    setting, orders = Setting([3, 17], reshuffle=reshuffle), []
    for round_ in (0, 1):
        method = Spy()
        setting.run(round_, [1], method)
        orders.append(epochs_of(method, 17))
    assert all(sorted(epoch) == list(range(3, 20)) for epochs in orders for epoch in epochs)
    assert (orders[0][0] == orders[0][1]) == epochs_alike
    assert (orders[0][0] == orders[1][0]) == rounds_alike
    assert orders[0][0] != sorted(orders[0][0])


def test_clients_of_equal_size_have_orders_of_their_own() -> None:
    method = Spy()
    Setting([12, 12], epochs=1, reshuffle="never").run(0, [0, 1], method)
    first, second = epochs_of(method, 12)
    assert first != [label - 12 for label in second]


@pytest.mark.parametrize("reshuffle", ["round", "epoch", "never"])
def test_trains_on_the_kept_samples_alone(reshuffle: str) -> None:
    method = Spy(lambda labels: labels.numpy() % 3 != 0)
    results = Setting([17], reshuffle=reshuffle).run(4, [0], method)
    wanted = [label for label in range(17) if label % 3]
    assert [sorted(epoch) for epoch in epochs_of(method, len(wanted))] == [wanted, wanted]
    assert results[0].update.used == len(wanted)


def test_keeping_all_is_the_same_as_not_selecting() -> None:
    setting = Setting([17], reshuffle="epoch")
    every = setting.run(0, [0], Spy(lambda labels: np.ones(len(labels), bool)))
    none = setting.run(0, [0], Method(Method.Options(), TASK))
    assert equal(every[0].update.state, none[0].update.state)


def test_client_with_nothing_left_sends_the_global_model_with_weight_zero() -> None:
    setting = Setting([9, 9])
    method = Spy(lambda labels: np.zeros(len(labels), bool) if labels.min() == 0 else None)
    trained, empty = setting.run(0, [1, 0], method)
    assert trained.update.used == 9
    assert empty.update.used == 0
    assert equal(empty.update.state, setting.state)


def test_free_rider_sends_the_global_model_with_the_weight_of_its_samples() -> None:
    setting = Setting([9, 11, 9])
    samples = replace(setting.samples, free_rider=[False, True, False])
    method = Spy(lambda labels: labels.numpy() % 2 == 0)
    _, rider, _ = setting.run(0, [0, 1, 2], method, samples)
    assert rider.update.used == 5  # even ones of 9 to 19
    assert equal(rider.update.state, setting.state)
    assert all(min(batch) < 9 or min(batch) >= 20 for batch in method.batches)


def test_round_without_training() -> None:
    class Collecting(Spy):
        def trains(self, round_: int) -> bool:
            return round_ != 5

    setting, method = Setting([9]), Collecting()
    assert setting.run(5, [0], method)[0].update.used == 0
    assert method.batches == []
    assert len(method.clients) == 1
    assert setting.run(6, [0], method)[0].update.used == 9


@pytest.mark.parametrize("name", ["mtae-cifar10", "cnn-small"])
def test_order_of_clients_changes_nothing(name: str) -> None:
    """With batch statistics, dropout and momentum, all of which could leak from one client to the next."""
    samples = samples_of([9, 5, 12], MODELS[name].shape)
    model = models.build(name, 10, 1).to(memory_format=torch.channels_last)
    state = copy(model.state_dict())
    engine = ReferenceEngine(model, samples, Training(epochs=2, batch_size=8, momentum=0.9), seed=3, chunk=5)

    def run(clients: list[int]) -> dict[int, State]:
        results: Iterator[LocalResult] = engine.local(2, clients, state, Method(Method.Options(), TASK))
        return {result.update.client: copy(result.update.state) for result in results}

    forward, backward, alone = run([0, 1, 2]), run([2, 1, 0]), run([1])
    assert all(equal(forward[client], backward[client]) for client in forward)
    assert equal(forward[1], alone[1])
    assert not equal(forward[0], forward[1])


def test_working_model_may_hold_anything_before() -> None:
    setting = Setting([9])
    first = setting.run(0, [0], Spy())[0].update.state
    for value in setting.model.state_dict().values():
        value.fill_(torch.nan)
    assert equal(setting.run(0, [0], Spy())[0].update.state, first)


@pytest.mark.parametrize("wanted", [set(), {"losses"}, {"embedding"}, {"losses", "embedding"}])
def test_signals_are_of_the_global_model_in_the_order_of_the_labels(wanted: set[str]) -> None:
    class Asking(Spy):
        def signals(self, round_: int) -> frozenset[Any]:
            return frozenset(wanted)

    samples = samples_of([4, 13], (32, 32, 3))
    samples = replace(samples, y=torch.arange(17) % 10)
    model = models.build("mtae-cifar10", 10, 1).to(memory_format=torch.channels_last)
    state = copy(model.state_dict())
    method = Asking()
    training = Training(epochs=1, batch_size=8, objective=OBJECTIVE)
    engine = ReferenceEngine(model, samples, training, seed=3, chunk=5)
    for _ in engine.local(2, [0, 1], state, method):
        pass
    signals, labels = method.seen[1], method.clients[1].labels
    assert (signals.losses is not None) == ("losses" in wanted)
    assert (signals.embedding is not None) == ("embedding" in wanted)
    order = torch.from_numpy(stream(3, "order", 1, 2).permutation(13))
    assert labels.tolist() == samples.y[4:][order].tolist()
    model.load_state_dict(state)
    model.eval()
    x = samples.images(samples.x[4:][order])
    with torch.no_grad():
        output = model(x)
    if signals.losses is not None:
        errors = sample_errors(output, x, labels)
        expected = torch.stack((0.5 * errors[:, 0], errors[:, 1]), 1)
        assert torch.allclose(signals.losses, expected, rtol=1e-5)
    if signals.embedding is not None:
        assert torch.allclose(signals.embedding, output.embedding, rtol=1e-4, atol=1e-5)


def test_asking_for_signals_does_not_change_the_training() -> None:
    """The forward pass is in evaluation mode and must not touch the batch statistics."""

    class Asking(Method):
        def signals(self, round_: int) -> frozenset[Any]:
            return frozenset({"losses", "embedding"})

    samples = samples_of([13], (32, 32, 3))
    model = models.build("mtae-cifar10", 10, 1).to(memory_format=torch.channels_last)
    state = copy(model.state_dict())
    engine = ReferenceEngine(model, samples, Training(epochs=1, batch_size=8, objective=OBJECTIVE), seed=3, chunk=5)
    states = []
    for cls in (Method, Asking):
        (result,) = engine.local(0, [0], state, cls(Method.Options(), TASK))
        states.append(copy(result.update.state))
    assert equal(*states)


def test_only_controls_see_the_truth() -> None:
    class Control(Spy):
        sees_truth = True

    setting = Setting([9])
    noisy = torch.arange(9) % 2 == 0
    samples = replace(setting.samples, noisy=noisy)
    method, control = Spy(), Control()
    (result,) = setting.run(0, [0], method, samples)
    setting.run(0, [0], control, samples)
    assert method.clients[0].noisy is None
    labels = control.clients[0].labels
    assert torch.equal(control.clients[0].noisy, noisy[labels])
    assert torch.equal(result.noisy, noisy[labels])


def test_loss_hook_adds_a_term() -> None:
    """FedProx's pull towards zero is weight decay: mu/2 |w|^2 adds mu w to the gradient."""

    class Pull(Method):
        def loss(self, round_: int, output: Any, labels: Tensor, model: nn.Module, start: State) -> Tensor:
            return 0.05 * sum(w.square().sum() for w in model.parameters())

    setting = Setting([9])
    pulled = setting.run(0, [0], Pull(Method.Options(), TASK))[0].update.state
    setting.training = setting.training.model_copy(update={"weight_decay": 0.1})
    decayed = setting.run(0, [0], Method(Method.Options(), TASK))[0].update.state
    assert all(torch.allclose(pulled[name], decayed[name], atol=1e-5) for name in pulled)
    assert not all(torch.allclose(pulled[name], setting.state[name], atol=1e-3) for name in pulled)


@pytest.mark.parametrize(
    ("reshuffle", "epochs_alike", "rounds_alike"),
    [("round", True, False), ("epoch", False, False), ("never", True, True)],
)
def test_augmentation_is_drawn_as_often_as_the_order(reshuffle: str, epochs_alike: bool, rounds_alike: bool) -> None:
    samples = samples_of([8], (32, 32, 3))
    model = models.build("cnn-three", 10, 1).to(memory_format=torch.channels_last)
    images: list[Tensor] = []
    model.register_forward_pre_hook(lambda _, args: images.append(args[0].clone()))
    training = Training(epochs=2, batch_size=8, augment="one-of-six", reshuffle=reshuffle)
    engine = ReferenceEngine(model, samples, training, seed=3, chunk=5)
    state = copy(model.state_dict())
    for round_ in (0, 1):
        for _ in engine.local(round_, [0], state, Method(Method.Options(), TASK)):
            pass

    def drawn(x: Tensor) -> Tensor:
        """Independent of the order."""
        return x.flatten(1).sum(1).sort().values

    assert len(images) == 4
    assert torch.equal(drawn(images[0]), drawn(images[1])) == epochs_alike
    assert torch.equal(drawn(images[0]), drawn(images[2])) == rounds_alike
    plain = samples.images(samples.x)
    assert not torch.allclose(drawn(images[0]), drawn(plain))
