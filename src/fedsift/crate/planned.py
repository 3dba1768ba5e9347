"""The content of a crate of a scale, in the working folder: what its plan makes, and nothing else."""

import os
from collections.abc import Sequence
from pathlib import Path

from fedsift.audit import certificate
from fedsift.crate.content import Content, fits, is_note
from fedsift.crate.workflow_files import add_workflow
from fedsift.errors import FedsiftError
from fedsift.provenance.jobs import Job
from fedsift.provenance.record import Record, record_path
from fedsift.versioning.wanted import Wanted, jobs_of
from fedsift.workflow import Plan, config_files


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
    jobs = list(jobs_of(plan))
    for wanted in jobs:
        if Path(wanted.record).is_file():
            home = _home(plan, wanted.job)
            record = content.add_record(content.place(wanted.record), Path(wanted.record), home)
            _refuse_others(plan, wanted, record)
            _add_outputs(content, home, record)
    _refuse_gaps(plan, jobs, content)
    for name in (certificate.JSON, certificate.PAGE):
        if Path(plan.reports, name).is_file():
            content.add(f"{plan.reports}/{name}", Path(plan.reports, name), Path(plan.config.reports))
    return content


def _home(plan: Plan, job: Job) -> Path:
    """The folder in which all that a job makes has to lie."""
    if job.stage in ("fetch", "read"):
        return Path(plan.config.data.folder)
    return Path(plan.config.reports if job.stage in ("table", "report") else plan.config.results)


def _add_method(content: Content, file: str) -> None:
    """A method of the user's own; one that lies outside the project is known by the fingerprints of its phases."""
    inside = Path(os.path.relpath(file))
    if ".." not in inside.parts:
        content.add(inside.as_posix(), inside)


def _add_outputs(content: Content, home: Path, record: Record) -> None:
    for file in record.outputs:
        if fits(file.path, file.size) and (record.stage != "fetch" or is_note(file.path)):
            content.add(content.place(file.path), Path(file.path), home)


def _refuse_others(plan: Plan, wanted: Wanted, record: Record) -> None:
    """A record may name what its job makes and nothing else, or it could take any file into the crate."""
    other = {file.path for file in record.outputs} ^ {*wanted.job.outputs}
    if other or record.parameters != wanted.job.parameters:
        why = f"in {min(other)}" if other else "in its parameters"
        raise FedsiftError(f"{wanted.record}: it differs from what the configuration asks for {why}; {_again(plan)}.")


def _refuse_gaps(plan: Plan, jobs: Sequence[Wanted], content: Content) -> None:
    """A record may be missing only where its job has not run, which the tables say."""
    read = {file.path for record in content.records.values() for file in record.inputs}
    needed = {record_path(made) for made in (plan.reports, *plan.grid.tables)}
    for wanted in jobs:
        asked = wanted.record in needed or read & {*wanted.job.outputs}
        if asked and content.place(wanted.record) not in content.records:
            raise FedsiftError(f"{wanted.record}: no such record; {_again(plan)}.")


def _again(plan: Plan) -> str:
    return f"run `fedsift run --scale {plan.config.scale}`"
