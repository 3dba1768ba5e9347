import pytest
import torch
from torch import nn

from fedsift.models.dropout import StreamDropout, seed_dropout


def test_keeps_the_mean_and_drops_the_share() -> None:
    layer = StreamDropout(0.3)
    layer.generator.manual_seed(0)
    out = layer(torch.ones(1000, 200))
    assert out.mean().item() == pytest.approx(1, abs=0.005)
    assert (out == 0).float().mean().item() == pytest.approx(0.3, abs=0.005)
    assert torch.allclose(out[out != 0], torch.tensor(1 / 0.7))


def test_channels_are_dropped_whole() -> None:
    layer = StreamDropout(0.5, channels=True)
    layer.generator.manual_seed(0)
    out = layer(torch.ones(200, 50, 3, 3)).flatten(2)
    assert torch.equal(out.amin(2), out.amax(2))
    assert (out[:, :, 0] == 0).float().mean().item() == pytest.approx(0.5, abs=0.02)


def test_is_off_in_evaluation() -> None:
    x = torch.rand(5, 5)
    assert torch.equal(StreamDropout(0.5).eval()(x), x)


def test_seed_decides_and_layers_differ() -> None:
    model = nn.ModuleList([StreamDropout(0.5), StreamDropout(0.5)])
    seed_dropout(model, 5)
    first = [layer(torch.ones(100)) for layer in model]
    seed_dropout(model, 5)
    again = [layer(torch.ones(100)) for layer in model]
    seed_dropout(model, 2**63 - 1)  # the largest that streams give
    other = [layer(torch.ones(100)) for layer in model]
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not torch.equal(first[0], first[1])
    assert not torch.equal(first[0], other[0])


def test_gradient_is_that_of_the_kept_values() -> None:
    layer = StreamDropout(0.5)
    layer.generator.manual_seed(0)
    x = torch.ones(50, requires_grad=True)
    out = layer(x)
    out.sum().backward()
    assert torch.equal(x.grad, out.detach())
