"""The files and records below a folder, as records spell their paths, each looked at once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from fedsift.audit.findings import Finding
from fedsift.errors import FedsiftError
from fedsift.files import sha256
from fedsift.provenance.record import File, Record

SMALL = 2**20
"""Bytes up to which a shallow audit reads a file again; of larger ones it looks at the size alone."""

_RATES = ".rates.parquet"
AGAIN = "run the stage that makes it again, or restore the file"


@dataclass
class Store:
    """Where files lie, and whether they are what records say.

    Attributes:
        root: the folder that relative paths begin at.
        deep: whether large files are read too.
        excerpt: whether it is a published part of a run: files that are not here are counted, not missed.
        moved: folders by the path that records give them, where an excerpt has them at another place.
    """

    root: Path = Path()
    deep: bool = False
    excerpt: bool = False
    moved: Mapping[str, Path] = field(default_factory=dict)
    hashed: int = 0
    sized: int = 0
    absent: set[str] = field(default_factory=set)
    _records: dict[str, Record | Finding | None] = field(default_factory=dict)
    _checked: dict[File, Finding | None] = field(default_factory=dict)

    def place(self, path: str) -> Path:
        """Where the file lies that records call ``path``."""
        for folder, home in self.moved.items():
            if PurePosixPath(path).is_relative_to(folder):
                return home / PurePosixPath(path).relative_to(folder)
        return self.root / path

    def record(self, path: str) -> Record | Finding | None:
        """The record at a path, what is wrong with it, or None where there is none."""
        if path not in self._records:
            self._records[path] = self._read(path)
        return self._records[path]

    def maker(self, path: str) -> tuple[str, Record | Finding] | None:
        """The record beside a file that lists it as an output, with its own path; an unreadable one comes as it is."""
        for candidate in _candidates(path):
            found = self.record(candidate)
            if isinstance(found, Finding) or (found and any(made.path == path for made in found.outputs)):
                return candidate, found
        return None

    def check(self, file: File) -> Finding | None:
        """Why a file is not what a record says, if so."""
        if file not in self._checked:
            self._checked[file] = self._check(file)
        return self._checked[file]

    def _read(self, path: str) -> Record | Finding | None:
        place = self.place(path)
        if not place.exists():
            return None
        try:
            return Record.read(place)
        except FedsiftError as error:
            why = str(error).removeprefix(f"{place}: ").split("; ")[0].rstrip(".")
            return Finding(path, "the record of a stage", why, "delete it and run its stage again")

    def _check(self, file: File) -> Finding | None:
        place = self.place(file.path)
        try:
            if not place.is_file():
                return self._not_here(file.path)
            size = place.stat().st_size
            # The size first: what has another one need not be read, however long it is.
            if size != file.size:
                return Finding(file.path, f"{file.size:,} bytes", f"{size:,}", AGAIN)
            if size > SMALL and not self.deep:
                self.sized += 1
                return None
            self.hashed += 1
            found = sha256(place)
        except OSError as error:
            return Finding(file.path, "a readable file", str(error.strerror), "make it readable and audit again")
        if found != file.sha256:
            return Finding(file.path, f"sha256 {file.sha256[:16]}", found[:16], AGAIN)
        return None

    def _not_here(self, path: str) -> Finding | None:
        if self.excerpt:
            self.absent.add(path)
            return None
        return Finding(path, "the file of the record beside it", "none", AGAIN)


def _candidates(path: str) -> list[str]:
    """Where the record of a file may lie: beside it, or in a folder above it, the nearest first."""
    stem = f"{path.removesuffix(_RATES)}.parquet" if path.endswith(_RATES) else path
    above = [str(folder / "record.json") for folder in PurePosixPath(path).parents][:4]
    return [f"{stem}.record.json", *above]
