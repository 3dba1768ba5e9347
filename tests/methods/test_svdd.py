"""The method svdd; its formulas are tested in selection/test_svdd.py."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from torch import Tensor
from training.tiny import SIZES, federation_of, samples_of, spec_of, task_of

from fedsift.methods.base import Client, Evidence, Losses, Signals, Step, Task, Trained, Update
from fedsift.methods.svdd import Svdd
from fedsift.models.output import Output
from fedsift.training.engine import load
from fedsift.training.streams import stream

TASK = Task(rounds=1000, clients=100, classes=3, seed=0, participants=10)
T_S = 500

PUBLIC_Z = torch.tensor([[1.0, 0.0], [3.0, 0.0], [10.0, 0.0], [10.0, 4.0], [0.0, 5.0]])
PUBLIC_Y = torch.tensor([0, 0, 1, 1, 2])
"""Centres (2, 0), (10, 2), (0, 5); distances 1 1, 2 2, 0."""


def method(**options: Any) -> Svdd:
    return Svdd(Svdd.Options.model_validate(options), TASK)


def public() -> tuple[Tensor, Tensor]:
    return PUBLIC_Z, PUBLIC_Y


def begun(**options: Any) -> Svdd:
    """After round t_s."""
    m = method(**options)
    m.observe(T_S, Evidence([0], [{}], [1], public))
    return m


def reports(*clients: tuple[list[float], list[int]]) -> Evidence:
    sent = [{"distances": np.array(d), "classes": np.array(y, dtype=np.int64)} for d, y in clients]
    return Evidence(range(len(sent)), sent, [len(d) for d, _ in clients], public)


def loss(m: Svdd, round_: int, z: Tensor, y: Tensor) -> Tensor | None:
    return m.loss(round_, Output(torch.zeros(len(y), 3), None, z), y, torch.nn.Identity(), {})


def test_centres_and_radii_after_round_t_s() -> None:
    m = begun()
    assert m.state_dict()["mu"].tolist() == [[2.0, 0.0], [10.0, 2.0], [0.0, 5.0]]
    assert m.state_dict()["R"].tolist() == [1.0, 2.0, 0.0]
    assert begun(radii_at_start="zero").state_dict()["R"].tolist() == [0.0, 0.0, 0.0]


def test_centres_stay_and_radii_follow_the_clients() -> None:
    """Class 0: 0, 1, ..., 10 over two clients, 0.9 quantile 9. Class 1 is not reported. Class 2: one sample."""
    m = begun()
    m.observe(T_S + 1, reports(([0, 2, 4, 6, 8, 10], [0] * 6), ([1, 3, 5, 7, 9, 7.5], [0] * 5 + [2])))
    assert m.state_dict()["mu"].tolist() == [[2.0, 0.0], [10.0, 2.0], [0.0, 5.0]]
    assert m.state_dict()["R"].tolist() == pytest.approx([9.0, 2.0, 7.5])
    m.observe(T_S + 2, reports(([1.0], [0])))
    assert m.state_dict()["R"].tolist() == pytest.approx([1.0, 2.0, 7.5])
    m.observe(T_S + 3, Evidence([], [], [], public))
    assert m.state_dict()["R"].tolist() == pytest.approx([1.0, 2.0, 7.5])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 0.5 * ((1 + 10 * 4) + (4 + 10 * 5))),  # C_B = {0, 1}
        ({"factor": "one"}, 0.5 * ((1 + 4) + (4 + 5))),
        ({"average": "all-classes"}, (1 + 4 + 0 + 10 * (4 + 5)) / 3),
        ({"factor": "one", "average": "all-classes"}, (1 + 4 + 0 + 4 + 5) / 3),
        ({"nu": 0.5}, 0.5 * ((1 + 2 * 4) + (4 + 2 * 5))),
        ({"radii_at_start": "zero", "factor": "one"}, 0.5 * (10 / 2 + 9)),
    ],
)
def test_loss_by_hand(options: dict[str, Any], expected: float) -> None:
    """Distances squared 9 and 1 of class 0, 9 of class 1; over R^2 of 1 and 4 that is 8, 0 and 5."""
    m = begun(lambda_reg=0.01, **options)
    z = torch.tensor([[5.0, 0.0], [2.0, 1.0], [10.0, 5.0]])
    value = loss(m, T_S + 1, z, torch.tensor([0, 0, 1]))
    assert value is not None
    assert value.item() == pytest.approx(0.01 * expected)


def test_loss_begins_after_round_t_s() -> None:
    m = begun()
    assert loss(m, T_S, torch.ones(1, 2), torch.tensor([0])) is None
    assert loss(m, T_S + 1, torch.ones(1, 2), torch.tensor([0])) is not None


def test_class_that_the_server_does_not_have() -> None:
    """It has no centre, is not reported, and its samples add nothing."""
    m = method(lambda_reg=1.0, factor="one")
    m.observe(T_S, Evidence([0], [{}], [1], lambda: (PUBLIC_Z[:4], PUBLIC_Y[:4])))
    z = torch.tensor([[5.0, 0.0], [7.0, 7.0]], requires_grad=True)
    y = torch.tensor([0, 2])
    value = loss(m, T_S + 1, z, y)
    assert value is not None
    assert value.item() == 1 + 8
    value.backward()
    assert z.grad is not None
    assert z.grad[1].tolist() == [0.0, 0.0]
    reply = m.reply(T_S + 1, Client(0, y, None), Signals(embedding=z.detach()))
    assert {name: array.tolist() for name, array in reply.items()} == {"distances": [3.0], "classes": [0]}
    m.observe(T_S + 1, Evidence([0], [reply], [2], public))
    assert m.state_dict()["R"].tolist() == [3.0, 2.0, 0.0]


def test_last_batches_by_hand() -> None:
    """Class 0 was in batches 0 and 1, class 1 in batch 0 alone, class 2 in none."""
    m = begun(reported="last-batches")
    z = torch.tensor([[2.0, 9.0], [10.0, 2.0], [10.0, 5.0], [2.0, 1.0], [2.0, 3.0]])
    trained = Trained(z, torch.tensor([0, 1, 1, 0, 0]), torch.tensor([0, 0, 0, 1, 1]))
    sent = m.reply(T_S + 1, Client(0, torch.tensor([0, 0, 0, 1, 1, 2]), None), Signals(trained=trained))
    assert sent["distances"].tolist() == [0.0, 3.0, 1.0, 3.0]
    assert sent["classes"].tolist() == [1, 1, 0, 0]
    nothing = m.reply(T_S + 1, Client(1, torch.tensor([0]), None), Signals())
    assert {name: len(values) for name, values in nothing.items()} == {"distances": 0, "classes": 0}
    m.observe(T_S + 1, Evidence([1], [nothing], [0], public))
    assert m.state_dict()["R"].tolist() == [1.0, 2.0, 0.0]


def test_timing() -> None:
    m = method()
    assert [m.acts(round_) for round_ in (0, 499, 500, 999)] == [False, False, True, True]
    assert [m.reply_signals(round_) for round_ in (500, 501)] == [set(), {"embedding"}]
    assert m.signals(501) == set()
    assert m.trains(500)
    assert Svdd.lineage(m.options, 1000) == [Step("fedavg", {}, 500)]
    assert Svdd.lineage(m.options, 100) == [Step("fedavg", {}, 50)]


def test_defaults() -> None:
    """D9 to D11."""
    assert method().options.model_dump() == {
        "start": 0.5,
        "nu": 0.1,
        "lambda_reg": 1e-5,
        "factor": "inverse-nu",
        "average": "batch-classes",
        "radii_at_start": "test-quantile",
        "reported": "all",
    }


@pytest.mark.parametrize("wrong", [{"nu": 0}, {"nu": 1.0}, {"lambda_reg": -1}, {"factor": "two"}, {"surprise": 1}])
def test_impossible_options(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        method(**wrong)


def test_state_continues_exactly() -> None:
    first, second = begun(), method()
    first.observe(T_S + 1, reports(([0.1, 0.7, 0.3], [0, 0, 1])))
    second.load_state_dict(first.state_dict())
    rng = np.random.default_rng(0)
    z, y = torch.from_numpy(rng.normal(size=(9, 2))).float(), torch.from_numpy(rng.integers(3, size=9))
    for m in (first, second):
        m.observe(T_S + 2, reports(([0.2, 0.9], [2, 2])))
    assert torch.equal(loss(first, T_S + 3, z, y), loss(second, T_S + 3, z, y))
    states = first.state_dict(), second.state_dict()
    assert states[0].keys() == states[1].keys() == {"mu", "R"}
    assert all(np.array_equal(states[0][name], states[1][name]) for name in states[0])
    assert all(state.dtype == np.float32 for state in states[0].values())


def test_state_of_fedavg_is_a_fresh_start() -> None:
    m = method()
    m.load_state_dict({})
    assert m.state_dict() == {}


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 20), st.integers(2, 40))
def test_a_reply_is_distances_and_classes_and_does_not_determine_the_embedding(seed: int, n: int, d: int) -> None:
    """Any rotation about the centres gives the same reply, so nothing but the distances can have left the client."""
    rng = np.random.default_rng(seed)
    m = Svdd(Svdd.Options(), TASK)
    public_z, public_y = torch.from_numpy(rng.normal(size=(9, d))), torch.arange(9) % 3
    m.observe(T_S, Evidence([0], [{}], [1], lambda: (public_z, public_y)))
    mu = m.state_dict()["mu"]
    z, y = rng.normal(size=(n, d)), rng.integers(3, size=n)
    rotation = np.linalg.qr(rng.normal(size=(d, d)))[0]
    other = mu[y] + (z - mu[y]) @ rotation
    client = Client(0, torch.from_numpy(y), None)
    sent, again = (m.reply(T_S + 1, client, Signals(embedding=torch.from_numpy(v))) for v in (z, other))
    assert sent.keys() == {"distances", "classes"}
    assert all(array.shape == (n,) for array in sent.values())
    assert sent["classes"].tolist() == y.tolist()
    assert not np.allclose(z, other)
    np.testing.assert_allclose(sent["distances"], again["distances"], rtol=1e-9)


class Watched(Svdd):
    """Notes what reaches the server, and the clients' models."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.seen: dict[int, Evidence] = {}
        self.models: dict[int, Sequence[Update]] = {}
        self.states: dict[int, dict[str, np.ndarray]] = {}

    def keep(self, round_: int, updates: Sequence[Update], losses: Losses) -> None:
        self.models[round_] = updates

    def observe(self, round_: int, evidence: Evidence) -> None:
        super().observe(round_, evidence)
        self.seen[round_], self.states[round_] = evidence, self.state_dict()


def test_in_the_round_loop() -> None:
    """Centres from the new global model on the test set, radii from the clients' own models on all their samples."""
    spec = spec_of()
    m = Watched(Watched.Options(start=1, lambda_reg=0.1), task_of(spec))
    samples = samples_of(list(SIZES))
    federation = federation_of(spec, m, samples)
    federation.round(0)
    federation.round(1)
    federation.model.eval()

    @torch.no_grad()
    def embedding(state: Any, x: Tensor) -> np.ndarray:
        load(federation.model, state)
        return federation.model(samples.images(x)).embedding.double().numpy()

    z, y = embedding(federation.state, samples.x_test), samples.y_test.numpy()
    mu = np.array([z[y == i].mean(axis=0) if (y == i).any() else np.full(z.shape[1], np.inf) for i in range(10)])
    R = np.array([np.quantile(np.linalg.norm(z - mu[y], axis=1)[y == i], 0.9) if i in y else 0.0 for i in range(10)])
    np.testing.assert_allclose(m.states[1]["mu"], mu, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(m.states[1]["R"], R, rtol=1e-4, atol=1e-6)
    federation.round(2)
    federation.model.eval()
    d, labels = [], []
    for update, upload in zip(m.models[2], m.seen[2].uploads, strict=True):
        rows = samples.rows(update.client)
        order = torch.from_numpy(stream(spec.seed, "order", update.client, 2).permutation(SIZES[update.client]))
        known = np.isin(samples.y[rows][order].numpy(), y)
        labels.append(samples.y[rows][order].numpy()[known])
        d.append(np.linalg.norm(embedding(update.state, samples.x[rows][order])[known] - mu[labels[-1]], axis=1))
        assert upload.keys() == {"distances", "classes"}
        assert upload["classes"].tolist() == labels[-1].tolist()
        np.testing.assert_allclose(upload["distances"], d[-1], rtol=1e-3, atol=1e-5)
    for i in np.unique(np.concatenate(labels)):
        R[i] = np.quantile(np.concatenate(d)[np.concatenate(labels) == i], 0.9)
    np.testing.assert_allclose(m.states[2]["R"], R, rtol=1e-3, atol=1e-5)
    assert np.array_equal(m.states[2]["mu"], m.states[1]["mu"])


class Listening(Watched):
    """Notes every batch of the local training, too."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.batches: list[tuple[np.ndarray, list[int]]] = []

    def loss(self, round_: int, output: Output, labels: Tensor, model: Any, start: Any) -> Tensor | None:
        self.batches.append((output.embedding.detach().double().numpy(), labels.tolist()))
        return super().loss(round_, output, labels, model, start)


@pytest.mark.parametrize("reshuffle", ["round", "epoch"])
def test_last_batches_in_the_round_loop(reshuffle: str) -> None:
    """Only the last pass counts, in training mode, before the step of each batch."""
    spec = spec_of(training={"epochs": 2, "batch_size": 4, "reshuffle": reshuffle})
    m = Listening(Listening.Options(start=1, reported="last-batches"), task_of(spec))
    federation = federation_of(spec, m, samples_of(list(SIZES)))
    federation.round(0)
    federation.round(1)
    m.batches.clear()
    federation.round(2)
    mu, at = m.states[1]["mu"].astype(float), 0
    for client, upload in zip(m.seen[2].clients, m.seen[2].uploads, strict=True):
        count = -(-SIZES[client] // 4)
        passes, at = m.batches[at : at + 2 * count], at + 2 * count
        d, classes = [], []
        for number, (z, labels) in enumerate(passes[count:], count):
            for z_j, y_j in zip(z, labels, strict=True):
                if np.isfinite(mu[y_j]).all() and not any(y_j in later for _, later in passes[number + 1 :]):
                    d.append(np.linalg.norm(z_j - mu[y_j]))
                    classes.append(y_j)
        assert upload["classes"].tolist() == classes
        np.testing.assert_allclose(upload["distances"], d, rtol=1e-4, atol=1e-6)
    assert at == len(m.batches)


def test_strong_weight_draws_the_embedding_to_the_centres() -> None:
    """With R = 0 in the first round, all distances count."""
    shrunk = []
    for lambda_reg in (0.0, 0.01):
        spec = spec_of()
        m = Watched(Watched.Options(start=1, lambda_reg=lambda_reg, radii_at_start="zero"), task_of(spec))
        federation = federation_of(spec, m, samples_of(list(SIZES)))
        for round_ in range(5):
            federation.round(round_)
        shrunk.append(np.mean(np.concatenate([upload["distances"] for upload in m.seen[4].uploads])))
    assert shrunk[1] < 0.9 * shrunk[0]
