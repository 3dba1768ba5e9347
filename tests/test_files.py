import hashlib
import os
from pathlib import Path

import pytest

from fedsift.files import atomic, sha256, write_text, write_text_if_changed


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_sha256(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"abc" * 100_000)
    assert sha256(tmp_path / "f") == hashlib.sha256(b"abc" * 100_000).hexdigest()


def test_appears_whole_in_a_folder_that_is_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b c" / "file"
    with atomic(path) as temporary:
        temporary.write_text("new")
        assert not path.exists()
        assert temporary.parent == path.parent, "a rename is only atomic inside one file system"
    assert path.read_text() == "new"
    assert names(path.parent) == ["file"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def interrupted() -> None:
        with atomic(path) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(error):
        interrupted()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file"]


def test_a_body_that_writes_nothing_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    with pytest.raises(FileNotFoundError), atomic(tmp_path / "file"):
        pass
    assert (tmp_path / "file").read_text() == "old"


def test_is_on_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, synced = tmp_path / "file", []

    def fsync(descriptor: int) -> None:
        target = Path(f"/proc/self/fd/{descriptor}").resolve()
        synced.append("folder" if target == tmp_path.resolve() else "old name" if path.exists() else "content")

    monkeypatch.setattr(os, "fsync", fsync)
    write_text(path, "x")
    assert synced == ["content", "folder"]


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_mode_is_the_users_usual_one(tmp_path: Path, mask: int, mode: int) -> None:
    before = os.umask(mask)
    try:
        with atomic(tmp_path / "file") as temporary:
            temporary.touch(mode=0o600)
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == mode


def test_text_is_utf8_with_its_own_line_ends(tmp_path: Path) -> None:
    write_text(tmp_path / "file", "λ\n\r\n")
    assert (tmp_path / "file").read_bytes() == b"\xce\xbb\n\r\n"


def test_unchanged_text_keeps_its_time(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert write_text_if_changed(path, "a\n")
    os.utime(path, (1, 1))
    assert not write_text_if_changed(path, "a\n")
    assert path.stat().st_mtime == 1
    assert write_text_if_changed(path, "b\n")
    assert path.read_text() == "b\n"


@pytest.mark.parametrize("old", [b"a\r\n", b"\xff\xfe", b""])
def test_other_bytes_are_replaced(tmp_path: Path, old: bytes) -> None:
    """Also those that are no text, or equal but for line ends."""
    (tmp_path / "file").write_bytes(old)
    assert write_text_if_changed(tmp_path / "file", "a\n")
    assert (tmp_path / "file").read_bytes() == b"a\n"
