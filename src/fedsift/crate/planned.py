"""The content of a crate of a scale, in the working folder: what its plan makes, and nothing else."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedsift.crate.content import Content, fits, is_note
from fedsift.crate.workflow_files import add_workflow
from fedsift.errors import FedsiftError
from fedsift.provenance.jobs import fetching, outputs_of, reading
from fedsift.provenance.record import Record, record_path
from fedsift.workflow import Plan, config_files

CERTIFICATE = ("audit.json", "audit.html")
"""Of `fedsift audit`, where it has been run."""


@dataclass(frozen=True)
class _Job:
    """What a job of the plan makes.

    Attributes:
        record: where its record lies.
        parameters: what that has to say.
        outputs: the files that it has to name.
        home: the folder in which all of them have to lie.
    """

    record: str
    parameters: dict[str, Any]
    outputs: list[str]
    home: Path


def planned(plan: Plan, overlays: Sequence[Path]) -> Content:
    """The content of the crate of a plan.

    Raises:
        FedsiftError: the report or a record is missing, or a file is not what the plan makes.
    """
    content = Content(plan.config.scale, plan.reports, tables=dict(plan.grid.tables))
    content.sets = {name: plan.sets[name] for name in sorted(plan.grid.datasets)}
    folder = Path(plan.config.data.folder)
    content.elsewhere = str(folder) if folder.is_absolute() or ".." in folder.parts else None
    if not Path(plan.reports, "index.html").is_file():
        raise FedsiftError(f"{plan.reports}/index.html: the report has not been made; {_again(plan)}.")
    add_workflow(content, config_files(overlays))
    for method in sorted({phase.method.file for phase in plan.grid.phases.values() if phase.method.file}):
        _add_method(content, method)
    jobs = list(_jobs(plan))
    for job in jobs:
        if Path(job.record).is_file():
            record = content.add_record(content.place(job.record), Path(job.record), job.home)
            _refuse_others(plan, job, record)
            _add_outputs(content, job, record)
    _refuse_gaps(plan, jobs, content)
    for name in CERTIFICATE:
        if Path(plan.reports, name).is_file():
            content.add(f"{plan.reports}/{name}", Path(plan.reports, name), Path(plan.config.reports))
    return content


def _jobs(plan: Plan) -> Iterator[_Job]:
    data = Path(plan.config.data.folder)
    for name in sorted(plan.grid.datasets):
        known = plan.sets[name]
        for job in (fetching(known, data), reading(known, data, data / "arrays" / f"{name}.safetensors")):
            yield _Job(record_path(job.made), job.parameters, job.outputs, data)
    for made, spec in plan.specs.items():
        home = plan.config.reports if made == plan.reports or made in plan.grid.tables else plan.config.results
        yield _Job(record_path(made), spec.model_dump(mode="json"), outputs_of(spec), Path(home))


def _add_method(content: Content, file: str) -> None:
    """A method of the user's own; one that lies outside the project is known by the fingerprints of its phases."""
    inside = Path(os.path.relpath(file))
    if ".." not in inside.parts:
        content.add(inside.as_posix(), inside)


def _add_outputs(content: Content, job: _Job, record: Record) -> None:
    for file in record.outputs:
        if fits(file.path, file.size) and (record.stage != "fetch" or is_note(file.path)):
            content.add(content.place(file.path), Path(file.path), job.home)


def _refuse_others(plan: Plan, job: _Job, record: Record) -> None:
    """A record may name what its job makes and nothing else, or it could take any file into the crate."""
    other = {file.path for file in record.outputs} ^ {*job.outputs}
    if other or record.parameters != job.parameters:
        why = f"in {min(other)}" if other else "in its parameters"
        raise FedsiftError(f"{job.record}: it differs from what the configuration asks for {why}; {_again(plan)}.")


def _refuse_gaps(plan: Plan, jobs: Sequence[_Job], content: Content) -> None:
    """A record may be missing only where its job has not run, which the tables say."""
    read = {file.path for record in content.records.values() for file in record.inputs}
    needed = {record_path(made) for made in (plan.reports, *plan.grid.tables)}
    for job in jobs:
        if content.place(job.record) not in content.records and (job.record in needed or read & {*job.outputs}):
            raise FedsiftError(f"{job.record}: no such record; {_again(plan)}.")


def _again(plan: Plan) -> str:
    return f"run `fedsift run --scale {plan.config.scale}`"
