"""Models by name. This module stays light: a model's file (and torch) is imported when the model is built."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class ModelInfo:
    """What the configuration has to know of a model.

    Attributes:
        module: where it is defined, as `build(classes)`.
        shape: images that it takes, (H, W, C).
        multitask: it returns a reconstruction and an embedding beside the logits.
        parameters: how many it has with 10 classes, for forecasts.
    """

    module: str
    shape: tuple[int, int, int]
    multitask: bool
    parameters: int


MODELS = {
    "mtae-mnist": ModelInfo("fedsift.models.mtae_mnist", (28, 28, 1), True, 1_668_107),
    "mtae-cifar10": ModelInfo("fedsift.models.mtae_cifar10", (32, 32, 3), True, 1_303_309),
    "mtae-digits": ModelInfo("fedsift.models.mtae_digits", (8, 8, 1), True, 22_891),
    "cnn-mcmahan": ModelInfo("fedsift.models.cnn_mcmahan", (28, 28, 1), False, 1_663_370),
    "cnn-small": ModelInfo("fedsift.models.cnn_small", (28, 28, 1), False, 21_840),
    "cnn-three": ModelInfo("fedsift.models.cnn_three", (32, 32, 3), False, 1_312_842),
}


def build(name: str, classes: int, seed: int) -> nn.Module:
    """Model ``name`` with PyTorch's default initialisation, drawn from ``seed`` alone."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model: nn.Module = importlib.import_module(MODELS[name].module).build(classes)
    return model
