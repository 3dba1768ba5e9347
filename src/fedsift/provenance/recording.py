"""Write a stage's record as its last act: a record is only ever beside the bytes that it describes."""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from fedsift.errors import FedsiftError
from fedsift.files import sha256, write_text
from fedsift.provenance import environment
from fedsift.provenance.jobs import Job
from fedsift.provenance.record import VERSION, File, Record, record_path


@dataclass
class Remarks:
    """What only the stage itself finds out; see the fields of ``Record``."""

    device: str | None = None
    resumed_from: int | None = None


@contextmanager
def recorded(job: Job) -> Iterator[Remarks]:
    """Run the stage of ``job`` inside; its record is written when it has succeeded.

    An older record is gone before the stage begins, and none is left where it fails or is killed.

    Raises:
        FedsiftError: an input cannot be read, or was changed while the stage ran.
    """
    path = Path(record_path(job.made))
    _remove(path)
    started, wall, cpu = _now(), time.monotonic(), time.process_time()
    # The state of the repository is that of the code which is loaded now, not of hours later.
    git, lock = environment.git(), environment.lock()
    inputs = _Inputs(job)
    remarks = Remarks()
    yield remarks
    inputs.check()
    record = Record(
        version=VERSION,
        stage=job.stage,
        command=command(sys.argv),
        parameters=job.parameters,
        outputs=[_file(output) for output in job.outputs],
        inputs=inputs.files,
        missing=inputs.missing,
        code=job.code,
        git=git,
        lock=lock,
        versions=environment.versions(),
        machine=environment.machine(),
        device=remarks.device,
        scheduler=environment.scheduler(),
        resumed_from=remarks.resumed_from,
        started=started,
        ended=_now(),
        wall_seconds=round(time.monotonic() - wall, 3),
        cpu_seconds=round(time.process_time() - cpu, 3),
        peak_memory_mb=environment.peak_memory_mb(),
    )
    write_text(path, record.text())


def command(arguments: Sequence[str]) -> list[str]:
    """A process's arguments without the script's own place. What is not UTF-8 is spelled out, since JSON must be."""
    return ["fedsift", *(argument.encode(errors="backslashreplace").decode() for argument in arguments[1:])]


class _Inputs:
    """The inputs as they are before the stage reads them."""

    def __init__(self, job: Job) -> None:
        self.stage = job.stage
        self.missing = [path for path in job.inputs if not Path(path).is_file()]
        there = [path for path in job.inputs if path not in {*self.missing}]
        # The clock first: a change during the hashing must not go unnoticed.
        self.clocks = [_clock(path) for path in there]
        self.files = [_file(path) for path in there]

    def check(self) -> None:
        """See that they still are what they were: else nobody knows what the stage has read."""
        changed = [path for path in self.missing if Path(path).is_file()]
        for file, clock in zip(self.files, self.clocks, strict=True):
            # A file that was only touched has another clock and the same bytes.
            if _clock(file.path) != clock and (not Path(file.path).is_file() or _file(file.path) != file):
                changed.append(file.path)
        if changed:
            raise FedsiftError(f"{changed[0]}: it was changed while `fedsift {self.stage}` ran; run that again.")


def _file(path: str) -> File:
    try:
        return File(path=path, sha256=sha256(path), size=Path(path).stat().st_size)
    except PermissionError:
        raise FedsiftError(f"{path}: permission denied; make it readable and run again.") from None


def _clock(path: str) -> tuple[int, int, int] | None:
    try:
        stat = Path(path).stat()
    except FileNotFoundError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


def _remove(path: Path) -> None:
    """Take an old record away for good: after a power cut it must not be back beside new outputs."""
    try:
        path.unlink()
    except FileNotFoundError:
        return
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
