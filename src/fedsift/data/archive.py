"""The pinned members of a tar.gz or zip file, and nothing else of it."""

import gzip
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, cast

from fedsift.data.catalog import File
from fedsift.data.download import BLOCK, Unusable, lock

MOST_ENTRIES = 10_000
SLACK = 64 * 2**20


def unpack(archive: Path, members: Mapping[str, tuple[File, Path]]) -> None:
    """Write the bytes of each pinned member to its target; names from the archive are never written to.

    Raises Unusable when the archive is damaged, holds absolute names, ``..``, links or devices, lacks a
    member, or unpacks to more than the pinned sizes.
    """
    try:
        if archive.name.removesuffix(".part").endswith(".zip"):
            _unzip(archive, members)
        else:
            _untar(archive, members)
    except (tarfile.TarError, zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise Unusable(f"the archive is damaged ({error})") from error
    except (NotImplementedError, RuntimeError) as error:
        raise Unusable(f"the archive cannot be unpacked ({error})") from error


def _untar(archive: Path, members: Mapping[str, tuple[File, Path]]) -> None:
    budget = 2 * sum(file.cap for file, _ in members.values()) + SLACK
    left = set(members)
    with gzip.open(archive) as unzipped:
        capped = cast(IO[bytes], _Capped(cast(IO[bytes], unzipped), budget))
        _untar_stream(capped, archive.parent, members, left)
    _refuse_lacking(left)


def _untar_stream(stream: IO[bytes], folder: Path, members: Mapping[str, tuple[File, Path]], left: set[str]) -> None:
    with tarfile.open(fileobj=stream, mode="r|") as tar:
        for count, entry in enumerate(tar):
            _refuse_hostile(entry.name, count, link=not (entry.isfile() or entry.isdir()))
            if entry.name in members:
                _refuse_repeated(entry.name, left)
                # The standard library's own check as well: it knows tricks that _refuse_hostile does not.
                tarfile.data_filter(entry, str(folder))
                source = tar.extractfile(entry)
                if source is None or not entry.isreg():
                    raise Unusable(f"its member {entry.name} is not a regular file")
                with source:
                    _copy(source, entry.name, *members[entry.name])


def _unzip(archive: Path, members: Mapping[str, tuple[File, Path]]) -> None:
    left = set(members)
    with zipfile.ZipFile(archive) as zipped:
        for count, entry in enumerate(zipped.infolist()):
            kind = stat.S_IFMT(entry.external_attr >> 16)
            _refuse_hostile(entry.orig_filename, count, link=kind not in (0, stat.S_IFREG, stat.S_IFDIR))
            if entry.filename in members:
                _refuse_repeated(entry.filename, left)
                with zipped.open(entry) as source:
                    _copy(source, entry.filename, *members[entry.filename])
    _refuse_lacking(left)


def _refuse_hostile(name: str, count: int, link: bool) -> None:
    if name.startswith("/") or "\\" in name or "\0" in name or name[1:2] == ":" or ".." in name.split("/"):
        raise Unusable(f"the archive holds the unsafe name {name!r}")
    if link:
        raise Unusable(f"the archive holds {name!r}, a link or a device")
    if count >= MOST_ENTRIES:
        raise Unusable(f"the archive holds more than {MOST_ENTRIES:,} entries")


def _refuse_repeated(name: str, left: set[str]) -> None:
    if name not in left:
        raise Unusable(f"the archive holds {name} twice")
    left.remove(name)


def _refuse_lacking(left: set[str]) -> None:
    if left:
        raise Unusable(f"the archive lacks {min(left)}")


def _copy(source: IO[bytes], member: str, file: File, target: Path) -> None:
    if member.endswith(".gz") and not file.name.endswith(".gz"):
        with gzip.GzipFile(fileobj=source) as plain:
            return _copy_capped(cast(IO[bytes], plain), member, file, target)
    return _copy_capped(source, member, file, target)


def _copy_capped(source: IO[bytes], member: str, file: File, target: Path) -> None:
    done = 0
    with open(target, "ab") as out:
        lock(out, target)
        out.truncate(0)
        # Counted while reading: the sizes that an archive declares about itself prove nothing.
        while block := source.read(BLOCK):
            done += len(block)
            if done > file.cap:
                raise Unusable(f"its member {member} unpacks to more than {file.cap:,} bytes")
            out.write(block)


class _Capped:
    """A stream of at most ``budget`` bytes, so that skipped members and headers are bounded as well."""

    def __init__(self, source: IO[bytes], budget: int) -> None:
        self._source, self._left = source, budget

    def read(self, size: int) -> bytes:
        block = self._source.read(size)
        self._left -= len(block)
        if self._left < 0:
            raise Unusable("the archive unpacks to far more than its members")
        return block
