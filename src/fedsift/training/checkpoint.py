"""Checkpoints: one safetensors file with the model, the method's state and a JSON note. No pickle; whole or not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from fedsift.errors import FedsiftError
from fedsift.files import atomic


@dataclass(frozen=True)
class Checkpoint:
    """A run between two rounds.

    Attributes:
        model: the global model, name -> tensor.
        method: the method's state, name -> array.
        note: JSON values: `key` (what made it), `round` (the next one), `status`, and for resume points `history`.
    """

    model: Mapping[str, Tensor]
    method: Mapping[str, np.ndarray]
    note: Mapping[str, Any]


def save(path: Path, checkpoint: Checkpoint) -> None:
    """Write atomically; equal checkpoints have equal bytes."""
    tensors = {f"model/{name}": value.detach().cpu().contiguous() for name, value in checkpoint.model.items()}
    tensors |= {f"method/{name}": torch.from_numpy(np.array(value)) for name, value in checkpoint.method.items()}
    # One metadata key, because safetensors does not fix the order of several.
    with atomic(path) as temporary:
        save_file(tensors, temporary, metadata={"fedsift": json.dumps(checkpoint.note, sort_keys=True)})


def load(path: Path) -> Checkpoint:
    """Read what ``save`` wrote, on the CPU.

    Raises:
        FedsiftError: the file is missing, cut short or something else.
    """
    try:
        with safe_open(path, framework="pt") as file:
            note = dict(json.loads(file.metadata()["fedsift"]))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no mapping
    except FileNotFoundError:
        raise FedsiftError(f"{path}: no such checkpoint; run the phase before it first.") from None
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise FedsiftError(f"{path}: not a readable checkpoint ({error}); delete it and run again.") from error
    model = {name.removeprefix("model/"): value for name, value in tensors.items() if name.startswith("model/")}
    method = {
        name.removeprefix("method/"): value.numpy() for name, value in tensors.items() if name.startswith("method/")
    }
    return Checkpoint(model, method, note)
