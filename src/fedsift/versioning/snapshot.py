"""`fedsift snapshot`: hand what a run has made to DVC, and to Git what names it."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from fedsift.errors import FedsiftError
from fedsift.files import write_text_if_changed
from fedsift.versioning import dvc
from fedsift.versioning.current import Verdict, judge
from fedsift.versioning.hashes import Hashes
from fedsift.versioning.ledger import ledger, ledger_path
from fedsift.versioning.wanted import jobs_of
from fedsift.workflow import Plan, hold_lock, scale_files

PARAMETERS = Path("params.yaml")
NOTE = "# The scale that `dvc repro` runs and whose report is versioned. `fedsift snapshot --scale` sets it.\n"
MOST_NAMES = 5


def snapshot(scale: str, partial: bool) -> None:
    """Record the results of ``scale`` in DVC's cache, dvc.lock and the ledger, and say what to do next.

    Raises:
        FedsiftError: DVC or Git cannot work here, a run is at work, or (unless ``partial``) something of the scale is
            not made yet or not current.
    """
    dvc.check_repository()
    changed = uncommitted()
    plan = Plan.of_files(scale_files(scale))
    lock = hold_lock()
    try:
        plan.freeze()
        _check_places(plan)
        hashes = Hashes()
        verdicts = judge(jobs_of(plan), hashes)
        hashes.save()
        if not partial:
            _check_finished(verdicts, scale)
        records = [(one.wanted.record, one.record) for one in verdicts if one.record]
        place = ledger_path(scale)
        write_text_if_changed(PARAMETERS, f"{NOTE}scale: {scale}\n")
        write_text_if_changed(place, ledger(records))
        dvc.commit()
    finally:
        lock.close()
    files = [file for _, record in records for file in record.outputs]
    size = sum(file.size for file in files)
    print(
        f"{scale}: {len(records)} of {len(verdicts)} jobs, {len(files)} files, {size / 1e6:,.1f} MB are in DVC's cache"
    )
    ours = ["dvc.lock", str(PARAMETERS), str(place)]
    print(f"next: git add {' '.join(ours)} && git commit -m 'Snapshot of {scale}' && dvc push")
    if others := [path for path in changed if path not in ours and not place.is_relative_to(path)]:
        print(f"not in Git yet, and to be committed with it: {_listed(others)}")


def uncommitted() -> list[str]:
    """Files that differ from the commit or are neither in it nor ignored; a new folder is one name.

    Raises:
        FedsiftError: this is no Git repository.
    """
    command = ["git", "--no-optional-locks", "status", "--porcelain", "-z", "--no-renames"]
    try:
        done = subprocess.run(command, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        raise FedsiftError(
            "this folder is in no Git repository, which is where DVC keeps what names the data; run `git init` first."
        ) from None
    return [line[3:] for line in done.stdout.decode(errors="replace").split("\0") if line]


def _check_places(plan: Plan) -> None:
    """Everything that the plan makes must lie where DVC looks."""
    outs = dvc.versioned(plan.config.scale)
    for key, place in (("data.folder", plan.config.data.folder), ("results", plan.results), ("reports", plan.reports)):
        if not any(PurePosixPath(place).is_relative_to(out) for out in outs):
            raise FedsiftError(
                f"{key}: '{place}' is not among the outs of {dvc.FILE} ({', '.join(outs)}); name it there."
            )


def _check_finished(verdicts: Sequence[Verdict], scale: str) -> None:
    unfinished = [verdict for verdict in verdicts if not verdict.record]
    if unfinished:
        first = unfinished[0]
        raise FedsiftError(
            f"{len(unfinished)} of {len(verdicts)} jobs of '{scale}' are not current "
            f"(`fedsift {first.wanted.job.stage}` for {first.wanted.job.made}: {first.reason.rstrip('.')}); "
            f"`fedsift run --scale {scale}` first, or take what there is with --partial."
        )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more
