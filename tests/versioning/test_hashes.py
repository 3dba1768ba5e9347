"""Digests that are remembered."""

import os
from pathlib import Path

import pytest

from fedsift.files import sha256
from fedsift.versioning import hashes
from fedsift.versioning.hashes import Hashes


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are read."""
    read: list[str] = []
    monkeypatch.setattr(hashes, "sha256", lambda path: read.append(str(path)) or sha256(path))
    return read


def test_a_file_is_read_once_in_all_processes(tmp_path: Path, reads: list[str]) -> None:
    file = tmp_path / "a"
    file.write_text("1")
    for _ in range(2):
        known = Hashes(tmp_path / "hashes.json")
        assert known.of(str(file)) == known.of(str(file)) == sha256(file)
        known.save()
    assert len(reads) == 1


def test_other_bytes_under_the_old_clock_and_size_are_seen(tmp_path: Path) -> None:
    file, known = tmp_path / "a", Hashes(tmp_path / "hashes.json")
    file.write_text("1")
    before, clock = known.of(str(file)), file.stat().st_mtime_ns
    file.write_text("2")
    os.utime(file, ns=(clock, clock))
    assert known.of(str(file)) not in (before, None)


def test_what_is_no_file_of_that_size_is_not_read(tmp_path: Path, reads: list[str]) -> None:
    (tmp_path / "a").write_text("1")
    known = Hashes(tmp_path / "hashes.json")
    assert [known.of(str(tmp_path / "a"), 2), known.of(str(tmp_path)), known.of(str(tmp_path / "b"))] == [None] * 3
    os.mkfifo(tmp_path / "pipe")
    assert known.of(str(tmp_path / "pipe")) is None
    assert not reads


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 3}', '{"a": [1]}'])
def test_a_damaged_memory_costs_only_time(tmp_path: Path, text: str) -> None:
    (tmp_path / "hashes.json").write_text(text)
    (tmp_path / "a").write_text("1")
    known = Hashes(tmp_path / "hashes.json")
    assert known.of(str(tmp_path / "a")) == sha256(tmp_path / "a")
    known.save()
    assert Hashes(tmp_path / "hashes.json").of(str(tmp_path / "a"))
