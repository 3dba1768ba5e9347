"""Which jobs are current."""

import dataclasses
import os
from pathlib import Path

import pytest
from provenance.records import SHA
from versioning.folder import RECORD, job, run

from fedsift.provenance.jobs import Job
from fedsift.versioning.current import Verdict, judge
from fedsift.versioning.hashes import Hashes
from fedsift.versioning.wanted import Wanted

OTHER = SHA[::-1]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def verdict(wanted: Wanted) -> Verdict:
    (one,) = judge([wanted], Hashes())
    assert bool(one.record) != bool(one.reason)
    return one


def test_what_was_just_made_is_current() -> None:
    run(job())
    assert verdict(job()).record


def test_clocks_do_not_matter() -> None:
    run(job())
    os.utime("split.parquet")
    os.utime("results/p/history.csv", (0, 0))
    assert verdict(job()).record


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        (job(parameters={"lr": 0.4}), "other parameters"),
        (job(stage="table"), "other parameters"),
        (job(code=OTHER), "other code"),
        (job(inputs=["split.parquet", "more"]), "from other files"),
        (job(inputs=[]), "from other files"),
        (job(outputs=["results/p/checkpoint.safetensors"]), "with other files"),
    ],
)
def test_another_job(wanted: Wanted, reason: str) -> None:
    run(job())
    assert reason in verdict(wanted).reason


@pytest.mark.parametrize("path", ["split.parquet", "results/p/history.csv"])
def test_a_file_that_changed_or_is_gone(path: str) -> None:
    run(job())
    before = Path(path).read_text()
    Path(path).write_text(before.upper())
    assert verdict(job()).reason == f"{path} is not the file that its record names"
    Path(path).unlink()
    assert not verdict(job()).record
    Path(path).write_text(before)
    assert verdict(job()).record


def test_a_record_that_is_missing_or_damaged() -> None:
    assert "no such record" in verdict(job()).reason
    run(job())
    Path(RECORD).write_text(Path(RECORD).read_text()[:-9])
    assert "not a record" in verdict(job()).reason


# Raw files


def a_set() -> list[Wanted]:
    """A data set that is fetched and read."""
    raw = ["raw/fetched.json", "raw/train.gz"]
    fetch = Job("fetch", "raw", {"name": "s"}, [], raw, SHA)
    read = Job("read", "s.safetensors", {"name": "s"}, raw[1:], ["s.safetensors"], SHA)
    return [
        Wanted(fetch, "fetch", "raw/record.json", "entry", [raw[0], "raw/record.json"], [], any_code=True),
        Wanted(
            read, "read", "s.safetensors.record.json", "read", ["s.safetensors", "s.safetensors.record.json"], raw[:1]
        ),
    ]


def current(jobs: list[Wanted]) -> list[bool]:
    return [bool(one.record) for one in judge(jobs, Hashes())]


def fetched() -> list[Wanted]:
    jobs = a_set()
    for wanted in jobs:
        run(wanted)
    return jobs


def test_raw_files_may_be_absent_once_they_are_read() -> None:
    jobs = fetched()
    Path("raw/train.gz").unlink()
    assert current(jobs) == [True, True]


def test_raw_files_are_fetched_again_for_a_reader_that_has_to_run() -> None:
    fetch, read = fetched()
    read = dataclasses.replace(read, job=dataclasses.replace(read.job, code=OTHER))
    assert current([fetch, read]) == [True, False]
    Path("raw/train.gz").unlink()
    assert current([fetch, read]) == [False, False]


def test_raw_files_that_are_there_have_to_be_the_right_ones() -> None:
    jobs = fetched()
    Path("raw/train.gz").write_text("other bytes here")
    assert current(jobs) == [False, False]


def test_what_the_fetch_noted_has_to_be_there() -> None:
    jobs = fetched()
    Path("raw/fetched.json").unlink()
    assert current(jobs) == [False, True]


def test_the_code_that_fetches_does_not_matter() -> None:
    fetch, read = fetched()
    assert current([dataclasses.replace(fetch, job=dataclasses.replace(fetch.job, code=OTHER)), read]) == [True, True]
