"""Whether a job is current, told from its record and the bytes that lie there. No clock is asked.

A job is current if it has a record, and the record's parameters and code are those of the plan, and every file that it
names has the sha256 that it names. Raw files are the exception: the catalog says what they are and where they come
from, so that they may be absent as long as nobody has to read them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fedsift.errors import FedsiftError
from fedsift.provenance.record import File, Record
from fedsift.versioning.hashes import Hashes
from fedsift.versioning.wanted import Wanted


@dataclass(frozen=True)
class Verdict:
    """Of one job.

    Attributes:
        record: of the job, where it is current.
        reason: why it is not, in words; empty where it is.
    """

    wanted: Wanted
    record: Record | None
    reason: str


def judge(jobs: Iterable[Wanted], hashes: Hashes) -> list[Verdict]:
    """A verdict a job, in the same order."""
    verdicts: list[Verdict] = []
    fetched: Wanted | None = None
    for wanted in jobs:
        if wanted.job.stage == "fetch":
            fetched = wanted
        elif wanted.job.stage == "read" and fetched:
            verdicts += _raw(fetched, wanted, hashes)
        else:
            verdicts.append(_verdict(wanted, hashes, {}))
    return verdicts


def _raw(fetched: Wanted, read: Wanted, hashes: Hashes) -> tuple[Verdict, Verdict]:
    """Of a data set: its raw files may be absent where they have been read."""
    record = _read(fetched)
    named = record.outputs if isinstance(record, Record) else []
    spared = {file.path: file.sha256 for file in named if not Path(file.path).exists()}
    spared = {path: digest for path, digest in spared.items() if path not in fetched.outputs}
    reading = _verdict(read, hashes, spared)
    return _verdict(fetched, hashes, spared if reading.record else {}), reading


def _verdict(wanted: Wanted, hashes: Hashes, spared: dict[str, str]) -> Verdict:
    record = _read(wanted)
    if isinstance(record, str):
        return Verdict(wanted, None, record)
    reason = _difference(wanted, record, hashes, spared)
    return Verdict(wanted, None if reason else record, reason)


def _read(wanted: Wanted) -> Record | str:
    try:
        return Record.read(wanted.record)
    except FedsiftError as error:
        return str(error)


def _difference(wanted: Wanted, record: Record, hashes: Hashes, spared: dict[str, str]) -> str:
    """Why the record does not speak for the job, in words; empty if it does."""
    job = wanted.job
    if record.stage != job.stage or record.parameters != job.parameters:
        return "it was made with other parameters"
    if record.code != job.code and not wanted.any_code:
        return "it was made by other code"
    if record.missing:
        return f"it was made without {record.missing[0]}"
    for word, files, paths in (("from", record.inputs, job.inputs), ("with", record.outputs, job.outputs)):
        if {file.path for file in files} != {*paths}:
            return f"it was made {word} other files"
        for file in files:
            if not _is(file, hashes, spared):
                return f"{file.path} is not the file that its record names"
    return ""


def _is(file: File, hashes: Hashes, spared: dict[str, str]) -> bool:
    return spared.get(file.path, hashes.of(file.path, file.size)) == file.sha256
