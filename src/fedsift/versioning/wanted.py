"""Every job of a plan: what its record has to say, and what Snakemake knows it by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fedsift.data.raw import raw_folder
from fedsift.grid import arrays_path
from fedsift.provenance.jobs import Job, fetching, job_of, outputs_of, reading
from fedsift.provenance.record import record_path
from fedsift.specs import TableSpec
from fedsift.workflow import Plan


@dataclass(frozen=True)
class Wanted:
    """A job of the plan.

    Attributes:
        job: what its record has to say.
        rule: that runs it.
        record: where that lies.
        stamp: the parameter of its rule.
        outputs: the outputs of its rule, as the rule spells them.
        inputs: those inputs of its rule whose bytes count.
        any_code: whether it stays current when its code changes: raw files are checked against the catalog.
    """

    job: Job
    rule: str
    record: str
    stamp: str
    outputs: list[str]
    inputs: list[str]
    any_code: bool = False


def jobs_of(plan: Plan) -> Iterator[Wanted]:
    """All jobs of ``plan``, each after those whose outputs it reads; a data set is fetched just before it is read."""
    folder = Path(plan.config.data.folder)
    for name in sorted(plan.grid.datasets):
        known = plan.sets[name]
        raw, arrays = str(raw_folder(folder, known)), arrays_path(plan.config, name)
        manifest = f"{raw}/fetched.json"
        yield Wanted(
            job=fetching(known, folder),
            rule="fetch",
            record=record_path(raw),
            stamp=plan.catalog_stamp(name),
            outputs=[manifest, record_path(raw)],
            inputs=[],
            any_code=True,
        )
        yield Wanted(
            job=reading(known, folder, Path(arrays)),
            rule="read",
            record=record_path(arrays),
            stamp=plan.reading_stamp(name),
            outputs=[arrays, record_path(arrays)],
            inputs=[manifest],
        )
    for made, spec in plan.specs.items():
        named = plan.inputs(made).values()
        job = job_of(spec, plan.code(made))
        yield Wanted(
            job=job,
            rule=f"{job.stage}_{spec.experiment}" if isinstance(spec, TableSpec) else job.stage,
            record=record_path(made),
            stamp=plan.stamp(made),
            outputs=[*outputs_of(spec), record_path(made)],
            inputs=[path for value in named for path in ([value] if isinstance(value, str) else value)],
        )
