"""A record that no stage has written, for tests of the format."""

from typing import Any

SHA = "0123456789abcdef" * 4


def values(**others: Any) -> dict[str, Any]:
    """The keys of a valid record, with some of them replaced."""
    return {
        "version": 1,
        "stage": "train",
        "command": ["fedsift", "train", "spec.json"],
        "parameters": {"phase": "results/p", "training": {"lr": 0.5}, "parent": None},
        "outputs": [{"path": "results/p/history.csv", "sha256": SHA, "size": 3}],
        "inputs": [{"path": "/scratch/data/arrays/mnist.safetensors", "sha256": SHA, "size": 2**40}],
        "missing": [],
        "code": SHA,
        "git": {"commit": "ab" * 20, "dirty": True},
        "lock": SHA,
        "versions": {"python": "3.11.7", "torch": "2.14.1"},
        "machine": {"host": "node7", "system": "Linux 6", "machine": "x86_64", "cpu": "", "cores": 2},
        "device": "cpu",
        "scheduler": {"SLURM_JOB_ID": "17"},
        "resumed_from": None,
        "started": "2026-03-01T10:00:00.000Z",
        "ended": "2026-03-01T10:00:01.500Z",
        "wall_seconds": 1.5,
        "cpu_seconds": 1.25,
        "peak_memory_mb": 300,
    } | others
