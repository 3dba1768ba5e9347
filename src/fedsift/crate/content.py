"""What goes into a crate, and the rule that keeps it small."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from fedsift.data.catalog import DataSet
from fedsift.errors import FedsiftError
from fedsift.provenance.record import File, Record
from fedsift.specs import TableSpec

FORMATS: Mapping[str, str] = {
    "": "text/plain",
    ".cff": "application/yaml",
    ".csv": "text/csv",
    ".html": "text/html",
    ".json": "application/json",
    ".lock": "text/plain",
    ".md": "text/markdown",
    ".py": "text/x-python",
    ".rst": "text/x-rst",
    ".smk": "text/plain",
    ".svg": "image/svg+xml",
    ".tex": "application/x-tex",
    ".yaml": "application/yaml",
}
"""Media types by the endings of files that a crate holds: text, which every tool can read in twenty years."""

OTHER_FORMATS: Mapping[str, str] = {
    ".gz": "application/gzip",
    ".jpg": "image/jpeg",
    ".npz": "application/zip",
    ".parquet": "application/vnd.apache.parquet",
    ".png": "image/png",
    ".zip": "application/zip",
}
"""Of files that a crate only names."""

MOST_BYTES = 4 * 2**20
"""A larger file is named by its sha256, like data and models."""


@dataclass
class Content:
    """The files of a crate, by the place that records name; that is their place in the crate, too.

    Attributes:
        scale: whose report it is.
        report: the report's folder, as records name it.
        config: places of the configuration files, the base first.
        tables: specifications of the experiments, by folder.
        sets: data sets that the experiments use, by name.
        files: what the crate holds.
        records: those among the files that are records.
        absent: what records name and the crate does not hold.
        elsewhere: the data folder, where it lies outside the project; `data` in the crate.
    """

    scale: str
    report: str
    config: list[str] = field(default_factory=list)
    tables: dict[str, TableSpec] = field(default_factory=dict)
    sets: dict[str, DataSet] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    records: dict[str, Record] = field(default_factory=dict)
    absent: dict[str, File] = field(default_factory=dict)
    elsewhere: str | None = None

    def place(self, path: str) -> str:
        """The place of a file in the crate: its path, but for the data folder's, which other machines do not have."""
        if self.elsewhere and Path(path).is_relative_to(self.elsewhere):
            return Path("data", Path(path).relative_to(self.elsewhere)).as_posix()
        return path

    def add(self, place: str, path: Path, home: Path = Path()) -> None:
        """Put the file at ``path`` into the crate.

        Raises:
            FedsiftError: it is missing, lies outside ``home`` once links are followed, or its place is taken.
        """
        if not path.is_file():
            raise FedsiftError(f"{path}: no such file; make it, or run in the folder of the workflow.")
        if not path.resolve().is_relative_to(home.resolve()):
            raise FedsiftError(f"{path}: it leads out of {home.resolve().name}; put the file itself there.")
        data = path.read_bytes()
        if self.files.setdefault(place, data) != data:
            raise FedsiftError(f"{path}: another file has the place {place} in the crate; rename one of them.")

    def add_record(self, place: str, path: Path, home: Path = Path()) -> Record:
        """Put a record into the crate. Raises FedsiftError, as ``add`` and ``Record.read`` do."""
        self.records[place] = Record.read(path)
        self.add(place, path, home)
        return self.records[place]

    def settle(self) -> None:
        """Note what was made and the crate does not hold, and see that what it holds is what was made.

        Raises:
            FedsiftError: a file is not the one that its record describes.
        """
        for place, record in self.records.items():
            for file in record.outputs:
                here = self.files.get(self.place(file.path))
                if here is None:
                    self.absent[self.place(file.path)] = file
                elif hashlib.sha256(here).hexdigest() != file.sha256:
                    raise FedsiftError(f"{file.path}: it is not what {place} says was made; run `{command(record)}`.")

    @property
    def started(self) -> str:
        """When the first stage began."""
        return min(record.started for record in self.records.values())

    @property
    def ended(self) -> str:
        """When the last stage ended."""
        return max(record.ended for record in self.records.values())


def fits(path: str, size: int) -> bool:
    """Whether a file goes into a crate: text, and small."""
    return PurePosixPath(path).suffix in FORMATS and size <= MOST_BYTES


def media_type(path: str) -> str:
    """The media type of a file by its ending."""
    return {**OTHER_FORMATS, **FORMATS}.get(PurePosixPath(path).suffix, "application/octet-stream")


def is_note(path: str) -> bool:
    """Whether a file among raw data is a note about them. Data are never taken, even where they are text."""
    return PurePosixPath(path).suffix == ".json"


def command(record: Record) -> str:
    """The command of a record, for a person."""
    return " ".join(record.command)


def commits(records: Iterable[Record]) -> list[str]:
    """The commits that records name, each once, with a mark where files differed from it."""
    return sorted({one.git.commit + (" with changes" if one.git.dirty else "") for one in records if one.git})
