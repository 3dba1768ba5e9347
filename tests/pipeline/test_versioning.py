"""Snapshot, push, pull: what a person does with DVC, in clones that lie beside each other."""

import json
from pathlib import Path

import pytest
from checkout import PHASES, edit
from repository import Repository

from fedsift.provenance.record import Record

pytestmark = pytest.mark.slow

STATISTICS = "src/fedsift/results/statistics.py"


def with_other_tables(repository: Repository) -> None:
    """A change that takes seconds: tables and report anew, nothing trained."""
    edit(repository.folder / STATISTICS, "0.95", "0.5")
    repository.reproduce("--cores", "1")


def test_a_changed_learning_rate_trains_its_phases_and_makes_no_data(origin: Repository) -> None:
    clone = origin.clone("learning-rate")
    edit(clone.folder / "config.yaml", "lr: 0.5", "lr: 0.4")
    listed = clone.would_run()
    assert {phase for phase in PHASES if f"{phase}/checkpoint.safetensors" in listed} == PHASES
    assert not any(made.startswith("data/") or "/partitions/" in made or "/noises/" in made for made in listed)


def test_pushed_from_one_clone_and_pulled_in_another(origin: Repository) -> None:
    first, second = origin.clone("first"), origin.clone("second")
    with_other_tables(first)
    first.snapshot("narrow intervals")
    first.dvc("push", "--quiet")
    second.git("pull", "--quiet", "../first", "main")
    second.dvc("pull", "--quiet")
    assert second.published() == first.published() != origin.published()
    assert second.is_settled()


def test_the_ledger_has_a_line_a_job_and_a_diff_shows_what_changed(origin: Repository) -> None:
    clone = origin.clone("ledger")
    lines = [json.loads(line) for line in (clone.folder / "provenance/quick.jsonl").read_text().splitlines()]
    records = sorted(str(path.relative_to(clone.folder)) for path in clone.folder.rglob("*record.json"))
    assert [line["record"] for line in lines] == [path for path in records if not path.startswith(".")]
    with_other_tables(clone)
    said = clone.run("fedsift", "snapshot")
    assert "next: git add dvc.lock params.yaml provenance/quick.jsonl && git commit" in said
    assert f"not in Git yet, and to be committed with it: {STATISTICS}\n" in said
    diff = clone.git("diff", "--unified=0", "provenance").splitlines()
    changed = {json.loads(line[1:])["stage"] for line in diff if line.startswith("+{")}
    assert "table" in changed
    assert changed <= {"table", "report"}


def test_neither_raw_files_nor_resume_points_are_versioned(origin: Repository) -> None:
    listed = origin.dvc("ls", ".", "--recursive", "--dvc-only").splitlines()
    raw = {line for line in listed if line.startswith("data/raw/")}
    assert raw == {"data/raw/digits/fetched.json", "data/raw/digits/record.json"}
    assert not any(".fedsift" in line or line.endswith(".tmp") for line in listed)
    assert "data/arrays/digits.safetensors" in listed


def test_raw_files_are_fetched_when_they_have_to_be_read(origin: Repository) -> None:
    clone = origin.clone("raw")
    record = Record.read(clone.folder / "data/arrays/digits.safetensors.record.json")
    files = [clone.folder / file.path for file in record.inputs]
    assert files
    assert not any(file.exists() for file in files)
    edit(clone.folder / "src/fedsift/data/read.py", "TEST_EVERY = 5", "TEST_EVERY = 4")
    assert clone.would_run() >= {"data/raw/digits/fetched.json", "data/arrays/digits.safetensors"}
    clone.run("snakemake", "--profile", "profiles/local", "--cores", "1", "data/raw/digits/fetched.json")
    assert all(file.exists() for file in files)
    clone.git("checkout", "--quiet", ".")
    clone.dvc("checkout", "--quiet", "--force")
    assert all(file.exists() for file in files)
    assert clone.is_settled()


def test_two_clones_share_one_cache(origin: Repository) -> None:
    first, second = (origin.clone(f"sharing-{number}", "hardlink", pull=False) for number in (1, 2))
    for clone in (first, second):
        clone.dvc("cache", "dir", "--local", "../shared-cache")
    first.dvc("pull", "--quiet")
    second.dvc("checkout", "--quiet")
    before = second.published()
    assert same_file(first, second, "results/quick/mini/partitions/K10.parquet")
    with_other_tables(first)
    first.snapshot("narrow intervals")
    assert second.published() == before != first.published()
    assert first.is_settled()
    assert second.is_settled()
    assert not first.damaged("../shared-cache")


def test_what_gc_removes_comes_back_from_the_remote(origin: Repository) -> None:
    clone = origin.clone("gc")
    before = clone.published()
    with_other_tables(clone)
    clone.snapshot("narrow intervals")
    clone.dvc("gc", "--workspace", "--force")
    assert clone.is_settled()
    clone.git("checkout", "--quiet", "HEAD~1")
    assert "missing" in clone.dvc("checkout", code=None)
    clone.dvc("pull", "--quiet", "--force")
    assert clone.published() == before
    assert clone.is_settled()


def same_file(first: Repository, second: Repository, path: str) -> bool:
    return Path(first.folder / path).samefile(second.folder / path)
