"""Before each run: tell Snakemake what is current, so that neither its memory nor the clock decides.

Snakemake remembers in `.snakemake/metadata` how each output was made. That memory is not there on a fresh clone, is of
another commit after `git checkout`, and does not notice an input that changed and is older than the output; DVC moves
clocks whenever it writes a file. Records lie beside the artefacts and travel with them, so they decide.
"""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from zlib import crc32

from snakemake.persistence import RECORD_FORMAT_VERSION, MetadataRecord
from snakemake.persistence.file import FilePersistence

from fedsift.provenance.record import Record
from fedsift.versioning.current import Verdict, judge
from fedsift.versioning.hashes import Hashes
from fedsift.versioning.wanted import Wanted, jobs_of
from fedsift.workflow import Plan


def sync(plan: Plan) -> list[Verdict]:
    """Bring Snakemake's memory of the jobs of ``plan`` in line with their records.

    The caller holds the folder's lock. With another of Snakemake's backends than the files (its default) this has no
    effect.
    """
    hashes = Hashes()
    verdicts = judge(jobs_of(plan), hashes)
    memory = FilePersistence(nolock=True)
    for verdict in verdicts:
        if verdict.record:
            _confirm(verdict.wanted, verdict.record, memory, hashes)
            _put_in_order(verdict.wanted)
        else:
            _doubt(verdict, memory)
    hashes.save()
    return verdicts


def _confirm(wanted: Wanted, record: Record, memory: FilePersistence, hashes: Hashes) -> None:
    """The job needs no run: its rule's parameter and inputs are what they were."""
    # Snakemake's own form of a parameter and of a checksum.
    params = [repr(wanted.stamp)]
    sums = {path: f"sha256:{digest}" for path in wanted.inputs if (digest := hashes.of(path))}
    # A record is a job's last act, so what Snakemake marked when it was killed is done.
    for path in memory._filter_incomplete_keys(wanted.outputs):
        memory._unmark_incomplete(path)
    for path in wanted.outputs:
        old = memory._read_record(path)
        known = old.input_checksums or {} if old else {}
        if old and old.params == params and all(known.get(name) == value for name, value in sums.items()):
            continue
        # What is not set is not compared. Rule, times and hash are for Snakemake's own report.
        memory._write_record(
            path,
            MetadataRecord(
                rule=wanted.rule,
                starttime=datetime.fromisoformat(record.started).timestamp(),
                endtime=datetime.fromisoformat(record.ended).timestamp(),
                job_hash=crc32(wanted.record.encode()),
                params=params,
                input_checksums=sums,
                incomplete=False,
                record_format_version=RECORD_FORMAT_VERSION,
            ),
        )


def _doubt(verdict: Verdict, memory: FilePersistence) -> None:
    """The job has to run. Snakemake names the reason, as the parameters that it was run with before."""
    params = [repr(verdict.reason)]
    for path in verdict.wanted.outputs:
        old = memory._read_record(path)
        if os.path.lexists(path) and (old is None or old.params != params):
            memory._write_record(path, MetadataRecord(params=params, record_format_version=RECORD_FORMAT_VERSION))


def _put_in_order(wanted: Wanted) -> None:
    """No output is older than an input, or Snakemake would hash that input in every run to see that it is the same."""
    # What cannot be touched (a shared cache of somebody else) costs Snakemake that time, and no more.
    with suppress(OSError):
        latest = max((_latest(path) for path in wanted.inputs), default=0)
        for path in wanted.outputs:
            if os.lstat(path).st_mtime_ns < latest:
                os.utime(path, ns=(latest, latest), follow_symlinks=False)


def _latest(path: str) -> int:
    """Of a link, its own clock or that of its file."""
    return max(os.lstat(path).st_mtime_ns, Path(path).stat().st_mtime_ns)
