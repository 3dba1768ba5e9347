"""What each stage reads and makes, told from its specification alone, so that a stage run by hand knows it too."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedsift.data.catalog import DataSet
from fedsift.data.raw import raw_folder
from fedsift.errors import FedsiftError
from fedsift.provenance.code import code_of, code_of_fetching, code_of_reading
from fedsift.provenance.record import plain_path
from fedsift.results.files import report_files, table_files
from fedsift.specs import ContributionSpec, NoiseSpec, PartitionSpec, ReportSpec, Spec, TableSpec, TrainSpec
from fedsift.training.failures import STATE
from fedsift.workflow import SPECS, named_inputs

STAGES: Mapping[type[Spec], str] = {
    PartitionSpec: "partition",
    NoiseSpec: "noise",
    TrainSpec: "train",
    ContributionSpec: "contributions",
    TableSpec: "table",
    ReportSpec: "report",
}


@dataclass(frozen=True)
class Job:
    """A stage with its specification, before it runs.

    Attributes:
        stage: name of the sub-command.
        made: what the record lies beside; see ``record.record_path``.
        parameters: JSON object.
        inputs: files that the stage reads; they need not exist.
        outputs: files that it makes.
        code: fingerprint.
    """

    stage: str
    made: str
    parameters: dict[str, Any]
    inputs: list[str]
    outputs: list[str]
    code: str


def job_of(spec: Spec, code: str | None = None) -> Job:
    """The job that a specification asks for; ``code`` is its fingerprint where it is known already.

    Raises:
        FedsiftError: a report's tables have no specification, or a path cannot be recorded.
    """
    return Job(
        stage=STAGES[type(spec)],
        made=_noted(_made(spec)),
        parameters=spec.model_dump(mode="json"),
        inputs=[_noted(path) for path in inputs_of(spec)],
        outputs=[_noted(path) for path in outputs_of(spec)],
        code=code or code_of(spec),
    )


def fetching(dataset: DataSet, folder: Path) -> Job:
    """Bringing a data set's raw files into the data folder ``folder``. Its sources are in the entry and the command."""
    home = raw_folder(folder, dataset)
    own = [file.path for file in dataset.files if file.path]
    return Job(
        stage="fetch",
        made=_noted(home),
        parameters=dataset.model_dump(mode="json"),
        inputs=[_noted(path) for path in own],
        outputs=[_noted(home / "fetched.json"), *_raw_files(dataset, folder)],
        code=code_of_fetching(),
    )


def reading(dataset: DataSet, folder: Path, output: Path) -> Job:
    """Turning a data set's raw files into arrays."""
    return Job(
        stage="read",
        made=_noted(output),
        parameters=dataset.model_dump(mode="json"),
        inputs=_raw_files(dataset, folder),
        outputs=[_noted(output)],
        code=code_of_reading(),
    )


def inputs_of(spec: Spec) -> list[str]:
    """Every file that the stage of ``spec`` reads: what ``Plan.inputs`` names, and notes that stand in for results."""
    named = named_inputs(spec, lambda table: TableSpec.read(SPECS / f"{table}.json"))
    found = [path for value in named.values() for path in ([value] if isinstance(value, str) else value)]
    if isinstance(spec, TableSpec):
        # Where a phase has no history, a table shows the reason that its failure left.
        phases = sorted({phase for cell in spec.cells for phase in cell.phases})
        failed = (phase for phase in phases if not Path(phase, "history.csv").is_file())
        found += [str(note) for phase in failed if (note := STATE / phase / "failure.json").is_file()]
    return found


def outputs_of(spec: Spec) -> list[str]:
    """Every file that the stage of ``spec`` makes, but for its record."""
    match spec:
        case PartitionSpec() | ContributionSpec():
            return [spec.output]
        case NoiseSpec():
            return [spec.output, spec.rates]
        case TrainSpec():
            return [f"{spec.phase}/checkpoint.safetensors", f"{spec.phase}/history.csv"]
        case TableSpec():
            return table_files(spec)
        case ReportSpec():
            return report_files(spec)
    raise TypeError(f"{type(spec).__name__} belongs to no stage")


def _made(spec: Spec) -> str:
    match spec:
        case TrainSpec():
            return spec.phase
        case PartitionSpec() | NoiseSpec() | ContributionSpec() | TableSpec() | ReportSpec():
            return spec.output
    raise TypeError(f"{type(spec).__name__} belongs to no stage")


def _raw_files(dataset: DataSet, folder: Path) -> list[str]:
    """The raw files, and the note of sha256 that were taken on trust where some had to be."""
    names = [file.name for file in dataset.files]
    if any(file.sha256 is None for file in dataset.files):
        names.append("accepted.json")
    return [_noted(raw_folder(folder, dataset) / name) for name in names]


def _noted(path: Path | str) -> str:
    """A path as records spell it; told before the stage runs, so that no work is lost to a name.

    One that leads out of the working folder is absolute.
    """
    text = os.path.normpath(path)
    text = os.path.abspath(text) if text.startswith("..") else text  # noqa: PTH100 - resolve() would follow links
    try:
        return plain_path(text)
    except ValueError:
        raise FedsiftError(f"{text!r} cannot stand in a record; choose a name without control characters.") from None
