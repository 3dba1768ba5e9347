"""Models by name: `mtae-mnist` is `mtae_mnist.py`. This module stays light; torch is imported when a model is built.

What the configuration has to know of them is in `fedsift.models.info`, which training does not import, so a new model
re-trains nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn


def module_name(name: str) -> str:
    """The module that defines model ``name``, as `build(classes)`."""
    return f"fedsift.models.{name.replace('-', '_')}"


def build(name: str, classes: int, seed: int) -> nn.Module:
    """Model ``name`` with PyTorch's default initialisation, drawn from ``seed`` alone."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model: nn.Module = importlib.import_module(module_name(name)).build(classes)
    return model
