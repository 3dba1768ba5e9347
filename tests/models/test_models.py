import pytest
import torch

from fedsift.models import build
from fedsift.models.dropout import StreamDropout
from fedsift.models.info import MODELS


def count(module: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("mtae-mnist", 832 + 51_264 + 1_606_144 + 5_130 + 3_168 + 1_569),  # MTAE spec, 1.1
        ("mtae-cifar10", 1_303_309),  # MTAE spec, 1.2
        ("cnn-mcmahan", 1_663_370),  # EMFedAvg spec, 6
        ("cnn-small", 21_840),  # EMFedAvg spec, 6
    ],
)
def test_has_as_many_parameters_as_the_papers_model(name: str, parameters: int) -> None:
    assert count(build(name, 10, 0)) == parameters


def test_cifar10_parts_have_the_sizes_of_the_sheet() -> None:
    model = build("mtae-cifar10", 10, 0)
    assert [count(part) for part in (model.encoder, model.classifier, model.decoder)] == [519_552, 264_970, 518_787]


@pytest.mark.parametrize("name", MODELS)
def test_table_agrees_with_what_is_built(name: str) -> None:
    info = MODELS[name]
    model = build(name, 10, 0).eval()
    height, width, channels = info.shape
    x = torch.rand(3, channels, height, width)
    output = model(x)
    assert count(model) == info.parameters
    assert output.logits.shape == (3, 10)
    assert output.embedding.ndim == 2
    assert (output.reconstruction is not None) == info.multitask
    if output.reconstruction is not None:
        assert output.reconstruction.shape == x.shape
        assert 0 <= output.reconstruction.min() <= output.reconstruction.max() <= 1


@pytest.mark.parametrize(("name", "width"), [("mtae-mnist", 512), ("mtae-cifar10", 1024), ("mtae-digits", 64)])
def test_embedding_is_what_the_classifier_gets(name: str, width: int) -> None:
    model = build(name, 10, 0).eval()
    height, breadth, channels = MODELS[name].shape
    output = model(torch.rand(2, channels, height, breadth))
    assert output.embedding.shape == (2, width)
    assert torch.equal(output.logits, model.classifier(output.embedding))


def test_mnist_embedding_is_after_the_relu() -> None:
    embedding = build("mtae-mnist", 10, 0)(torch.rand(4, 1, 28, 28)).embedding
    assert embedding.min() == 0
    assert embedding.max() > 0


def test_cifar10_normalises_after_the_relu() -> None:
    kinds = [type(layer).__name__ for layer in build("mtae-cifar10", 10, 0).encoder]
    assert kinds == ["Conv2d", "ReLU", "BatchNorm2d"] * 4 + ["Flatten"]


@pytest.mark.parametrize("name", MODELS)
def test_number_of_classes_reaches_the_logits(name: str) -> None:
    height, width, channels = MODELS[name].shape
    assert build(name, 47, 0).eval()(torch.rand(2, channels, height, width)).logits.shape == (2, 47)


@pytest.mark.parametrize("name", MODELS)
def test_initial_values_depend_on_the_seed_alone(name: str) -> None:
    torch.manual_seed(1)
    first = build(name, 10, 7).state_dict()
    torch.manual_seed(2)
    torch.rand(5)
    second, other = build(name, 10, 7).state_dict(), build(name, 10, 8).state_dict()
    assert all(torch.equal(first[key], second[key]) for key in first)
    assert not all(torch.equal(first[key], other[key]) for key in first)


def test_building_leaves_the_global_generator_alone() -> None:
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    build("mtae-digits", 10, 7)
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize("name", MODELS)
def test_no_model_draws_from_the_global_generator(name: str) -> None:
    model = build(name, 10, 0).train()
    assert not any(isinstance(layer, torch.nn.modules.dropout._DropoutNd) for layer in model.modules())
    height, width, channels = MODELS[name].shape
    before = torch.random.get_rng_state()
    model(torch.rand(2, channels, height, width, generator=torch.Generator()))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_small_cnn_drops_channels_then_units() -> None:
    layers = [layer for layer in build("cnn-small", 10, 0).modules() if isinstance(layer, StreamDropout)]
    assert [(layer.p, layer.channels) for layer in layers] == [(0.5, True), (0.5, False)]
