"""A tiny federation of synthetic 8x8 images, small enough that a round takes a few milliseconds."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from fedsift import models
from fedsift.data.catalog import get
from fedsift.data.clients import load_federation
from fedsift.data.packed import Arrays, write_arrays
from fedsift.methods import registry
from fedsift.methods.base import Method, Task, floor_share
from fedsift.specs import TrainSpec
from fedsift.training.loop import Federation
from fedsift.training.streams import seed_of
from fedsift.training.tensors import Samples

SIZES = (9, 14, 12, 17, 1, 13)
"""Samples of each client; batches are of 8, so the first client's last batch has one sample."""
TEST = 20
FREE_RIDER = 5

CPU = torch.device("cpu")
torch.set_num_threads(1)


def write_inputs(folder: Path, seed: int = 0) -> None:
    """The files that a training specification names: a quarter of the labels is wrong, one client does not train."""
    rng = np.random.default_rng(seed)
    total = sum(SIZES)
    y = rng.integers(10, size=total + TEST).astype(np.int32)
    pattern = rng.integers(0, 17, size=(10, 8, 8, 1))
    x = np.clip(pattern[y] + rng.integers(-2, 3, size=(len(y), 8, 8, 1)), 0, 16).astype(np.uint8)
    arrays = Arrays(x[:total], y[:total], x[total:], y[total:], classes=10, max_value=16)
    write_arrays(arrays, get("digits"), folder / "data.safetensors")
    client = np.repeat(np.arange(len(SIZES)), SIZES)
    sample = rng.permutation(total)
    held_out = pd.DataFrame({"sample": np.arange(total, total + TEST), "client": -1, "part": "test"})
    train = pd.DataFrame({"sample": sample, "client": client, "part": "train"})
    part = pd.concat([train, held_out]).astype({"sample": "int32", "client": "int32"})
    part.to_parquet(folder / "partition.parquet")
    hit = np.sort(rng.choice(total, total // 4, replace=False))
    noise = pd.DataFrame(
        {
            "sample": sample[hit].astype(np.int32),
            "client": client[hit].astype(np.int32),
            "kind": "closed-set",
            "label": (y[sample[hit]] + 1) % 10,
            "foreign": np.full(len(hit), -1, np.int32),
        }
    )
    noise.to_parquet(folder / "noise.parquet")
    behaviour = ["free-rider" if number == FREE_RIDER else "honest" for number in range(len(SIZES))]
    rates = pd.DataFrame({"client": np.arange(len(SIZES)), "label": -1, "behaviour": behaviour})
    rates.to_parquet(folder / "rates.parquet")


def spec_of(
    method: str = "fedavg",
    options: dict[str, Any] | None = None,
    *,
    phase: str = "",
    parent: str | None = None,
    start: int = 0,
    stop: int = 12,
    training: dict[str, Any] | None = None,
    **others: Any,
) -> TrainSpec:
    """A specification that names the files of ``write_inputs`` in the working directory."""
    local = {"epochs": 2, "batch_size": 8, "lr": 0.5, "objective": {"lambda_rec": 1.0, "lambda_cls": 0.5}}
    filled = registry.load(registry.find(method)).Options.model_validate(options or {}).model_dump(mode="json")
    values: dict[str, Any] = {
        "phase": phase or f"runs/{method}@{stop}",
        "parent": parent,
        "dataset": "digits",
        "arrays": "data.safetensors",
        "source_arrays": None,
        "partition": "partition.parquet",
        "noise": "noise.parquet",
        "rates": "rates.parquet",
        "model": "mtae-digits",
        "method": {"label": method, "name": method, "options": filled, "file": None},
        "clients": len(SIZES),
        "seed": 3,
        "start": start,
        "stop": stop,
        "rounds": 12,
        "sampling": {"share": 0.67},
        "training": local | (training or {}),
        "evaluation": {"every": 4, "batch_size": 16},
    }
    return TrainSpec.model_validate(values | others)


def task_of(spec: TrainSpec) -> Task:
    """What the method of ``spec`` is told."""
    return Task(spec.rounds, spec.clients, 10, spec.seed, max(1, floor_share(spec.sampling.share, spec.clients)))


def federation_of(spec: TrainSpec, method: Method | None = None, samples: Samples | None = None) -> Federation:
    """The server before round 0, with the method of ``spec`` or with ``method``."""
    if samples is None:
        samples = Samples.of(*load_federation(spec), CPU)
    if method is None:
        cls = registry.load(registry.find(spec.method.name))
        method = cls(cls.Options.model_validate(spec.method.options), task_of(spec))
    model = models.build(spec.model, 10, seed_of(spec.seed, "init")).to(memory_format=torch.channels_last)
    return Federation(spec, model, method, samples)


def samples_of(sizes: list[int], shape: tuple[int, int, int] = (8, 8, 1), seed: int = 0, **others: Any) -> Samples:
    """Random images for clients of ``sizes``, without noise and free riders."""
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    samples = Samples(
        x=torch.from_numpy(rng.integers(0, 256, size=(n, *shape)).astype(np.uint8)),
        y=torch.from_numpy(rng.integers(10, size=n)),
        offsets=[0, *np.cumsum(sizes).tolist()],
        free_rider=[False] * len(sizes),
        noisy=torch.zeros(n, dtype=torch.bool),
        x_test=(x_test := torch.from_numpy(rng.integers(0, 256, size=(TEST, *shape)).astype(np.uint8))),
        y_test=(y_test := torch.from_numpy(rng.integers(10, size=TEST))),
        x_val=x_test,
        y_val=y_test,
        scale=255.0,
    )
    return replace(samples, **others)
