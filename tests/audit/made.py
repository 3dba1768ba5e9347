"""A miniature run without training: real records, plans and tables around made-up histories and checkpoints."""

import csv
import random
from pathlib import Path
from typing import Any

import pytest

from fedsift.audit.command import Asked
from fedsift.data.catalog import get
from fedsift.data.fetch import fetch
from fedsift.data.manifest import write_manifest
from fedsift.provenance import environment
from fedsift.provenance.jobs import fetching, job_of, reading
from fedsift.provenance.recording import recorded
from fedsift.results import tables
from fedsift.results.site import write_report
from fedsift.specs import TrainSpec
from fedsift.training.history import COLUMNS, write_history
from fedsift.workflow import Plan

EXPERIMENT = """\
    paper: mtae
    title: Miniature
    dataset: digits
    model: mtae-digits
    partition: {scheme: dirichlet, alpha: 0.5, min_samples: 5, samples: 300}
    noises:
      closed-set: {kind: closed-set, rate: 0.4, scope: random}
    clients: [10]
    methods: [fedavg, loss-threshold, top-loss]
    seeds: [0, 1, 2]
    rounds: 6
    sampling: {share: 0.3}
    evaluation: {every: 2}
"""
CONFIG = "scale: quick\nexperiments:\n  mini:\n" + EXPERIMENT
REPORT = "reports/quick"
TABLE = f"{REPORT}/mini"
RUNS = "results/quick/mini/runs/closed-set/K10"
LARGE = f"{RUNS}/seed0/fedavg@2"
BIG = 2**20 + 1
"""Bytes of the arrays and of the checkpoint of ``LARGE``: more than a shallow audit reads."""
REFERENCE = Path(__file__).parents[2] / "reports" / "reference"


def history(spec: TrainSpec) -> list[dict[str, Any]]:
    """Rounds of which every number is drawn anew for each phase."""
    draw = random.Random(spec.phase)
    rows = []
    for at in range(spec.start, spec.stop):
        row: dict[str, Any] = dict.fromkeys(COLUMNS, "")
        row |= {"round": at, "status": "ok", "clients": 3, "samples": 90, "used": 80, "averaged": draw.randint(1, 3)}
        if at % 2 or at == spec.rounds - 1:
            shares = ("accuracy", "balanced_accuracy", "macro_f1", "macro_precision", "macro_recall", "ssim")
            row |= {name: draw.random() for name in (*shares, "loss", "cross_entropy", "mse")}
            row |= {"psnr": 20 * draw.random(), "class_recall": f"{draw.random()} - {draw.random()}"}
        if spec.method.name != "fedavg":
            row |= {"detection_precision": draw.random(), "detection_recall": draw.random()}
        rows.append(row)
    return rows


def make(folder: Path, patch: pytest.MonkeyPatch, config: str = CONFIG) -> Plan:
    """Make a finished run of ``config`` in ``folder``, and go there."""
    folder.mkdir(parents=True)
    patch.chdir(folder)
    Path("config.yaml").write_text(config)
    Path("envs").mkdir()
    Path("envs/requirements.lock").write_text("numpy==2.0\n")
    Path("reports/reference").mkdir(parents=True)
    for path in REFERENCE.iterdir():
        Path("reports/reference", path.name).write_bytes(path.read_bytes())
    with pytest.MonkeyPatch.context() as fast:
        fast.setattr(environment, "git", lambda: None)
        fast.setattr(tables, "write_figure", _figure)
        plan = Plan.of_files([])
        plan.freeze()
        _data(plan)
        for spec in [*plan.grid.partitions.values(), *plan.grid.noises.values()]:
            with recorded(job := job_of(spec)):
                for path in job.outputs:
                    _bytes(path, 400)
        for phase in plan.grid.phases.values():
            with recorded(job_of(phase)) as remarks:
                _bytes(f"{phase.phase}/checkpoint.safetensors", BIG if phase.phase == LARGE else 400)
                write_history(Path(phase.phase, "history.csv"), history(phase))
                remarks.device = "cpu"
        for table in plan.grid.tables.values():
            with recorded(job_of(table)):
                tables.write_tables(table)
        with recorded(job_of(plan.grid.report)):
            write_report(plan.grid.report)
    return plan


def tabulate(plan: Plan) -> None:
    """Make the tables again, as if everything before were in order."""
    with pytest.MonkeyPatch.context() as fast:
        fast.setattr(environment, "git", lambda: None)
        fast.setattr(tables, "write_figure", _figure)
        for table in plan.grid.tables.values():
            with recorded(job_of(table)):
                tables.write_tables(table)


def asked(**changes: Any) -> Asked:
    """`fedsift audit` without options, with some of them set."""
    values: dict[str, Any] = {
        "scale": "quick",
        "overlays": [],
        "root": None,
        "cell": None,
        "deep": False,
        "replay": 0,
        "seed": 0,
        "scratch": None,
        "out": None,
        "as_json": False,
    }
    return Asked(**values | changes)


def flip(path: str, at: int = -2) -> None:
    """Flip one bit of a file."""
    data = bytearray(Path(path).read_bytes())
    data[at] ^= 1
    Path(path).write_bytes(data)


def edit_row(path: str, at: dict[str, str], changes: dict[str, str]) -> None:
    """Change fields of the row of a CSV that has the fields ``at``."""
    with Path(path).open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        if at.items() <= row.items():
            row.update(changes)
    with Path(path).open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _data(plan: Plan) -> None:
    folder = Path("data")
    for name in plan.grid.datasets:
        known = get(name)
        with recorded(fetching(known, folder)):
            write_manifest(known, folder, fetch(known, folder, [], False, lambda text: None))
        arrays = folder / "arrays" / f"{name}.safetensors"
        with recorded(reading(known, folder, arrays)):
            _bytes(str(arrays), BIG)


def _bytes(path: str, size: int) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(random.Random(path).randbytes(size))


def _figure(results: object, name: Any, folder: Path) -> None:
    for ending in ("svg", "png"):
        _bytes(f"{folder}/{name.stem}.{ending}", 40)
