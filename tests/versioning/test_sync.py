"""What Snakemake is told."""

import json
import os
from pathlib import Path

import pytest
from snakemake.persistence import RECORD_FORMAT_VERSION, MetadataRecord
from snakemake.persistence.file import FilePersistence
from versioning.folder import RECORD, job, run

from fedsift.files import sha256
from fedsift.versioning import sync as module
from fedsift.versioning.sync import sync
from fedsift.versioning.wanted import Wanted

HISTORY = "results/p/history.csv"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def told(monkeypatch: pytest.MonkeyPatch, wanted: Wanted) -> dict[str, MetadataRecord | None]:
    """What Snakemake remembers of the outputs after a sync."""
    monkeypatch.setattr(module, "jobs_of", lambda _: [wanted])
    # Only jobs_of looks at the plan, and what stands in for it here needs none.
    sync(None)  # type: ignore[arg-type]
    memory = FilePersistence(nolock=True)
    return {path: memory._read_record(path) for path in wanted.outputs}


def test_a_current_job_is_remembered_as_one_with_this_stamp_and_these_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    run(job())
    for entry in told(monkeypatch, job()).values():
        assert entry
        assert entry.record_format_version == RECORD_FORMAT_VERSION
        assert entry.params == ["'stamp'"]
        assert entry.input_checksums == {"split.parquet": f"sha256:{sha256('split.parquet')}"}
        assert (entry.rule, entry.endtime - entry.starttime) == ("train", 1.5)
        assert entry.code is None
        assert entry.input is None


def test_what_snakemake_knows_better_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    run(job())
    sums = {"split.parquet": f"sha256:{sha256('split.parquet')}", "spec.json": "sha256:00"}
    memory = FilePersistence(nolock=True)
    memory._write_record(HISTORY, MetadataRecord(params=["'stamp'"], input_checksums=sums, code="fedsift train"))
    entry = told(monkeypatch, job())[HISTORY]
    assert entry
    assert entry.code == "fedsift train"
    assert entry.input_checksums == sums


def test_another_job_is_remembered_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    run(job())
    told(monkeypatch, job())
    Path("split.parquet").write_text("other")
    for entry in told(monkeypatch, job()).values():
        assert entry
        assert entry.params == ["'split.parquet is not the file that its record names'"]


def test_what_is_not_there_is_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    run(job())
    Path(RECORD).unlink()
    entries = told(monkeypatch, job())
    assert entries[HISTORY]
    assert entries[RECORD] is None


def test_a_job_that_ended_after_its_controller_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    run(job())
    FilePersistence(nolock=True)._mark_incomplete(HISTORY, "17")
    told(monkeypatch, job())
    assert not FilePersistence(nolock=True)._filter_incomplete_keys([HISTORY])


def test_a_second_sync_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    run(job())
    told(monkeypatch, job())
    before = {path: path.stat().st_mtime_ns for path in Path().rglob("*") if path.is_file()}
    told(monkeypatch, job())
    assert {path: path.stat().st_mtime_ns for path in Path().rglob("*") if path.is_file()} == before


def test_no_output_stays_older_than_an_input(monkeypatch: pytest.MonkeyPatch) -> None:
    run(job())
    os.utime(HISTORY, (1, 1))
    os.utime("split.parquet", (5, 5))
    told(monkeypatch, job())
    assert Path(HISTORY).stat().st_mtime == 5
    assert Path("split.parquet").stat().st_mtime == 5


def test_a_link_is_moved_forward_and_its_file_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    run(job())
    Path(HISTORY).rename("cached")
    Path(HISTORY).symlink_to(Path("cached").resolve())
    os.utime("cached", (1, 1))
    os.utime(HISTORY, (1, 1), follow_symlinks=False)
    os.utime("split.parquet", (5, 5))
    told(monkeypatch, job())
    assert Path(HISTORY).lstat().st_mtime == 5
    assert Path("cached").stat().st_mtime == 1


def test_digests_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    run(job())
    told(monkeypatch, job())
    assert set(json.loads(Path(".fedsift/hashes.json").read_text())) == {"split.parquet", HISTORY}
