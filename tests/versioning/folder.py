"""A folder with one job in it, for tests that need no workflow."""

from pathlib import Path
from typing import Any

from provenance.records import SHA, values

from fedsift.files import sha256
from fedsift.provenance.jobs import Job
from fedsift.provenance.record import Record
from fedsift.versioning.wanted import Wanted

RECORD = "results/p/record.json"


def job(**others: Any) -> Wanted:
    """A training job that reads `split.parquet` and makes `results/p/history.csv`."""
    made: dict[str, Any] = {
        "stage": "train",
        "made": "results/p",
        "parameters": {"lr": 0.5},
        "inputs": ["split.parquet"],
        "outputs": ["results/p/history.csv"],
        "code": SHA,
    }
    return Wanted(
        job=Job(**(made | others)),
        rule="train",
        record=RECORD,
        stamp="stamp",
        outputs=["results/p/history.csv", RECORD],
        inputs=["split.parquet"],
    )


def run(wanted: Wanted) -> None:
    """Make its files, where they are missing, and its record."""
    for path in (*wanted.job.inputs, *wanted.job.outputs):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        if not Path(path).exists():
            Path(path).write_text(f"bytes of {path}")
    files = {
        kind: [{"path": path, "sha256": sha256(path), "size": Path(path).stat().st_size} for path in paths]
        for kind, paths in (("inputs", wanted.job.inputs), ("outputs", wanted.job.outputs))
    }
    told = {"stage": wanted.job.stage, "parameters": wanted.job.parameters, "code": wanted.job.code}
    Path(wanted.record).write_text(Record.model_validate(values(**files, **told)).text())
