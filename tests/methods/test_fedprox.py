import pytest
import torch
from torch import nn
from training.tiny import SIZES, federation_of, samples_of, spec_of, task_of

from fedsift.methods.base import Method
from fedsift.methods.fedprox import Fedprox
from fedsift.models.output import Output


def test_by_hand() -> None:
    model = nn.Linear(2, 1)
    # Drawn weights may not come back exactly from a difference.
    nn.init.constant_(model.weight, 0.5)
    nn.init.constant_(model.bias, 0.25)
    start = {"weight": model.weight.detach() - 2.0, "bias": model.bias.detach() + 3.0}
    m = Fedprox(Fedprox.Options(mu=0.5), task_of(spec_of()))
    loss = m.loss(0, Output(torch.zeros(1, 1), None, torch.zeros(1, 1)), torch.zeros(1), model, start)
    assert loss is not None
    assert loss.item() == pytest.approx(0.25 * (4 + 4 + 9))
    loss.backward()  # type: ignore[no-untyped-call]
    assert model.weight.grad is not None
    assert model.weight.grad.tolist() == [[1.0, 1.0]]
    assert model.bias.grad is not None
    assert model.bias.grad.tolist() == [-1.5]


def test_a_strong_pull_keeps_the_clients_near() -> None:
    spec = spec_of()
    moves = []
    for method in (Method(Method.Options(), task_of(spec)), Fedprox(Fedprox.Options(mu=1.5), task_of(spec))):
        federation = federation_of(spec, method, samples_of(list(SIZES)))
        before = {name: value.clone() for name, value in federation.state.items()}
        federation.round(0)
        moves.append(sum(float((federation.state[name] - before[name]).square().sum()) for name in before))
    assert moves[1] < 0.7 * moves[0]
