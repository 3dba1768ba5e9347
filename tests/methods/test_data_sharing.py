from typing import Any

import numpy as np
import pytest
import torch
from training.tiny import SIZES, federation_of, samples_of, spec_of, task_of

from fedsift.methods.base import Client, Method, Task
from fedsift.methods.data_sharing import DataSharing

TASK = Task(rounds=10, clients=4, classes=2, seed=1, participants=4)
CLIENTS = [Client(k, torch.tensor([k % 2] * 50), None) for k in range(4)]


def method(**options: Any) -> DataSharing:
    m = DataSharing(DataSharing.Options.model_validate(options), TASK)
    m.prepare(CLIENTS)
    return m


def test_the_common_set_has_equally_many_of_every_class() -> None:
    m = method(beta=0.1)
    assert len(m.G) == 20
    assert len(np.unique(m.G)) == 20
    labels = np.concatenate([client.labels.numpy() for client in CLIENTS])
    assert np.bincount(labels[m.G]).tolist() == [10, 10]


def test_a_client_gets_its_share_without_its_own_samples() -> None:
    m = method(beta=0.2, alpha=0.5)
    for client in range(4):
        lent = m.borrowed(client)
        assert lent is not None
        assert set(lent) <= set(m.G)
        assert not set(lent) & set(range(50 * client, 50 * client + 50))
        assert 0 < len(lent) <= 20
        assert np.array_equal(lent, m.borrowed(client))
    everything = method(beta=0.2)
    own = [row for row in everything.G if 50 <= row < 100]
    assert sorted([*everything.borrowed(1), *own]) == everything.G.tolist()  # type: ignore[misc]


def test_all_processes_draw_the_same() -> None:
    assert np.array_equal(method().G, method().G)


def test_warm_up() -> None:
    assert method(warm_up=0).warm_up() is None
    warm = method(warm_up=3).warm_up()
    assert warm is not None
    assert warm.epochs == 3


def test_in_the_loop() -> None:
    """The clients train on more samples, and the model of round 0 has seen the common set."""
    spec = spec_of(sampling={"share": 1.0})
    plain = federation_of(spec, Method(Method.Options(), task_of(spec)), samples_of(list(SIZES)))
    m = DataSharing(DataSharing.Options(beta=0.5), task_of(spec))
    shared = federation_of(spec, m, samples_of(list(SIZES)))
    before = {name: value.clone() for name, value in shared.state.items()}
    shared.warm_up()
    assert not all(torch.equal(before[name], shared.state[name]) for name in before)
    lent = [m.borrowed(client) for client in range(len(SIZES))]
    used = sum(SIZES) + sum(len(rows) for rows in lent if rows is not None)
    assert shared.round(0)["used"] == used > plain.round(0)["used"]


@pytest.mark.parametrize("options", [{"beta": 0}, {"beta": 1.5}, {"alpha": 0}, {"warm_up": -1}])
def test_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="1 validation error"):
        DataSharing.Options.model_validate(options)
