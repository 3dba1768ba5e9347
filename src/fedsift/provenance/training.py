"""What only training finds out for its record: the device, and the round at which it took over an interrupted run."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from fedsift.provenance.recording import Remarks
from fedsift.specs import TrainSpec
from fedsift.training.failures import STATE


@contextmanager
def watched(spec: TrainSpec, wanted_device: str, remarks: Remarks) -> Iterator[None]:
    """Train the phase of ``spec`` inside; ``remarks`` are filled in afterwards.

    Seen from outside, so that what a record says is no part of the code that training depends on: a resume point was
    used exactly if the finished phase has its key (specification, code, inputs and device).
    """
    point = _note(STATE / spec.phase / "resume.safetensors")
    yield
    end = _note(Path(spec.phase) / "checkpoint.safetensors")
    remarks.resumed_from = point["round"] if point and point.get("key") == end.get("key") else None
    remarks.device = device_name(wanted_device)


def device_name(wanted: str) -> str:
    """`cpu`, or the name of the GPU that training chooses for ``wanted``."""
    import torch

    from fedsift.training.device import choose

    chosen = choose(wanted)
    return "cpu" if chosen.type == "cpu" else torch.cuda.get_device_name(chosen)


def _note(path: Path) -> dict[str, Any]:
    """The note in a checkpoint's header; empty where there is none that can be read, which training ignores too."""
    try:
        with safe_open(path, framework="np") as file:
            return dict(json.loads(file.metadata()["fedsift"]))
    except (SafetensorError, OSError, KeyError, TypeError, ValueError):
        return {}
