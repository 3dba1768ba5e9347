import pytest
import torch
from training.tiny import samples_of

from fedsift import models
from fedsift.config.model import MtaeObjective, Training
from fedsift.models.info import MODELS
from fedsift.training.objective import batch_loss
from fedsift.training.sgd import Sgd

OBJECTIVE = MtaeObjective(lambda_rec=1.0, lambda_cls=0.5)


@pytest.mark.parametrize("name", ["mtae-digits", "mtae-cifar10"])
@pytest.mark.parametrize("weight_decay", [0.0, 1e-3])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_is_pytorchs_bit_for_bit(name: str, weight_decay: float, momentum: float) -> None:
    training = Training(lr=0.1, momentum=momentum, weight_decay=weight_decay)
    samples = samples_of([24], MODELS[name].shape)
    ours, theirs = (models.build(name, 10, 1).to(memory_format=torch.channels_last) for _ in range(2))
    sgd = Sgd(ours, training)
    reference = torch.optim.SGD(theirs.parameters(), lr=0.1, momentum=momentum, weight_decay=weight_decay)
    for rows in torch.arange(24).split(8):
        x, y = samples.images(samples.x[rows]), samples.y[rows]
        sgd.step(batch_loss(ours(x), x, y, OBJECTIVE))
        reference.zero_grad()
        batch_loss(theirs(x), x, y, OBJECTIVE).backward()
        reference.step()
    expected = theirs.state_dict()
    assert all(torch.equal(value, expected[key]) for key, value in ours.state_dict().items())


def test_momentum_by_hand() -> None:
    """w = 1, loss = 2 w, lr = 0.5, momentum 0.5, decay 1: v = 3, w = -0.5; v = 1.5 + 1.5, w = -2."""
    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.ones_(model.weight)
    sgd = Sgd(model, Training(lr=0.5, momentum=0.5, weight_decay=1.0))
    seen = []
    for _ in range(2):
        sgd.step(model(torch.tensor([2.0])).sum())
        seen.append(model.weight.item())
    assert seen == [-0.5, -2.0]


def test_parameters_without_gradient_stay() -> None:
    """The decoder, where the objective is the cross-entropy alone, in spite of weight decay."""
    model = models.build("mtae-digits", 10, 1)
    before = [parameter.clone() for parameter in model.decoder.parameters()]
    x = torch.rand(4, 1, 8, 8)
    loss = batch_loss(model(x), x, torch.zeros(4, dtype=torch.int64), None)
    Sgd(model, Training(lr=0.1, weight_decay=0.1)).step(loss)
    assert all(torch.equal(a, b) for a, b in zip(before, model.decoder.parameters(), strict=True))
