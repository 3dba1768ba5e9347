"""A finished run that nobody has trained: every file that the plan asks for, with made-up text, and true records."""

from pathlib import Path
from typing import Any

from checkout import ROOT, Checkout
from provenance.records import values

from fedsift.files import sha256
from fedsift.provenance.jobs import STAGES, fetching, inputs_of, outputs_of, reading
from fedsift.provenance.record import File, Record, record_path
from fedsift.workflow import Plan

CONFIG = """\
scale: quick
results: "results #1 ü"
experiments:
  mini:
    paper: mtae
    title: Miniature
    dataset: digits
    model: mtae-digits
    partition: {scheme: iid}
    noises:
      open: {kind: open-set, rate: 0.4, scope: random, source: photos}
    clients: [10]
    methods: [fedavg, loss-threshold]
    seeds: [0]
    rounds: 6
"""
RESULTS = "results #1 ü/quick/mini"
PHASE = f"{RESULTS}/runs/open/K10/seed0/fedavg@2"


def finished(folder: Path) -> None:
    """Make the run in ``folder``, which must be the working folder."""
    Checkout.new(folder / "project", CONFIG)
    for path in sorted((folder / "project").iterdir()):
        path.rename(folder / path.name)
    for name in ("LICENSE", "CITATION.cff"):
        Path(name).write_bytes((ROOT / name).read_bytes())
    plan = Plan.of_files([])
    plan.freeze()
    data = Path("data")
    for name in sorted(plan.grid.datasets):
        arrays = data / "arrays" / f"{name}.safetensors"
        for job in (fetching(plan.sets[name], data), reading(plan.sets[name], data, arrays)):
            _make(job.stage, job.made, job.parameters, job.inputs, job.outputs)
    for made, spec in plan.specs.items():
        _make(STAGES[type(spec)], made, spec.model_dump(mode="json"), inputs_of(spec), outputs_of(spec))


def _make(stage: str, made: str, parameters: dict[str, Any], inputs: list[str], outputs: list[str]) -> None:
    for output in outputs:
        Path(output).parent.mkdir(parents=True, exist_ok=True)
        Path(output).write_text(f"{output}\n")
    changes = {"stage": stage, "command": ["fedsift", stage], "parameters": parameters}
    files = {"outputs": [_file(path) for path in outputs], "inputs": [_file(path) for path in inputs]}
    Path(record_path(made)).write_text(Record.model_validate(values(**changes, **files)).text())


def _file(path: str) -> dict[str, Any]:
    return File(path=path, sha256=sha256(path), size=Path(path).stat().st_size).model_dump()


def edit_record(path: str, **changes: Any) -> None:
    """Change keys of a record."""
    record = Record.read(path)
    Path(path).write_text(Record.model_validate(record.model_dump() | changes).text())
