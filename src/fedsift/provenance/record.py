"""The record beside every artefact: what made it, from what, with which code, where and when.

A closed, versioned format: records are what an audit believes, so its reader takes nothing that the writer would not
have written.
"""

import json
import math
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    ValidationError,
    model_validator,
)

from fedsift.errors import FedsiftError
from fedsift.section import Section

VERSION: Final = 1
MOST_BYTES = 16 * 2**20
SINGLE_FILES = (".csv", ".parquet", ".safetensors")
"""Endings of artefacts that are a file; all others are folders."""


def record_path(made: str) -> str:
    """Where the record of the job that makes ``made`` lies.

    ``made`` is a phase's, table's, report's or raw data set's folder, or the first file of a job that makes files.
    """
    return f"{made}.record.json" if made.endswith(SINGLE_FILES) else f"{made}/record.json"


def plain_path(path: str) -> str:
    """``path`` itself if it can only mean the place that it spells out.

    Raises:
        ValueError: it is empty, not normalised, leads upwards or holds control characters.
    """
    pure = PurePosixPath(path)
    controls = any(ord(letter) < 32 or ord(letter) == 127 for letter in path)
    if controls or pure.as_posix() != path or not pure.name or ".." in pure.parts:
        raise ValueError("a path must be normalised, without '..' and control characters")
    return path


def _real_moment(text: str) -> str:
    datetime.fromisoformat(text)
    return text


def _known_version(value: object) -> object:
    # A literal alone would take `true` and `1.0` for 1.
    if type(value) is not int or value != VERSION:
        raise ValueError(f"this fedsift knows version {VERSION}")
    return value


Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Place = Annotated[str, StringConstraints(min_length=1, max_length=4096), AfterValidator(plain_path)]
Moment = Annotated[
    str, StringConstraints(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"), AfterValidator(_real_moment)
]
Amount = Annotated[float, Field(ge=0)]


class _Strict(Section):
    """Types are taken as they are: `"1"` and `true` are no numbers."""

    model_config = ConfigDict(strict=True)


class File(_Strict):
    """A file as it was when the stage ran."""

    path: Place = Field(description="Relative to the working folder; absolute where the file lies outside it.")
    sha256: Sha256
    size: int = Field(ge=0, lt=2**63, description="Bytes.")


class Git(_Strict):
    """The repository in which the working folder lies."""

    commit: str = Field(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})$")
    dirty: bool = Field(description="Whether a file differed from the commit, or was neither in it nor ignored.")


class Machine(_Strict):
    """Where the stage ran."""

    host: str
    system: str = Field(description="Operating system and its release.")
    machine: str = Field(description="Architecture.")
    cpu: str = Field(description="Model of the processor; empty where it is not known.")
    cores: int = Field(ge=1, description="Logical cores of the machine, whether or not the job could use them.")


class Record(_Strict):
    """Record of one job of the workflow. Every key is always there."""

    version: Annotated[Literal[1], BeforeValidator(_known_version)]
    stage: str = Field(
        pattern=r"^[a-z][a-z0-9-]*$",
        description="fetch, read, partition, noise, train, contributions, table, report, ...",
    )
    command: list[str] = Field(min_length=1, description="The command that was run, from `fedsift` on.")
    parameters: dict[str, JsonValue] = Field(
        description="The stage's specification; for fetch and read the data set's entry in the catalog."
    )
    outputs: list[File] = Field(min_length=1, description="Every file that the job made, but for this record.")
    inputs: list[File] = Field(description="Every file that the stage read.")
    missing: list[Place] = Field(
        description="Inputs that did not exist: the artefact is incomplete, and says so itself."
    )
    code: Sha256 = Field(description="Fingerprint of the code that the stage runs.")
    git: Git | None = Field(description="null where there is no git or no repository.")
    lock: Sha256 | None = Field(description="Of envs/requirements.lock; null where there is none.")
    versions: dict[str, str] = Field(description="Python, fedsift and its direct dependencies, as installed.")
    machine: Machine
    device: str | None = Field(description="Where training was computed: cpu, or the GPU's name; else null.")
    scheduler: dict[Annotated[str, StringConstraints(pattern=r"^SLURM_[A-Z_]+$")], str] | None = Field(
        description="The job in SLURM's own variables; null outside SLURM."
    )
    resumed_from: Annotated[int, Field(ge=0)] | None = Field(
        description="Round at which this process took over an interrupted one, to whose rounds the times below "
        "do not belong; null where the process did all the work."
    )
    started: Moment = Field(description="UTC.")
    ended: Moment = Field(description="UTC.")
    wall_seconds: Amount
    cpu_seconds: Amount = Field(description="Of all threads, in user and system mode.")
    peak_memory_mb: Amount = Field(description="Largest resident size of the process, in MiB; a GPU's is not in it.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.command[0] != "fedsift":
            raise ValueError("the command must begin with 'fedsift'")
        for files in (self.outputs, self.inputs):
            if len({file.path for file in files}) != len(files):
                raise ValueError("a file is there twice")
        if both := {file.path for file in self.inputs} & {*self.missing}:
            raise ValueError(f"{min(both)} cannot be both an input and missing")
        return self

    def text(self) -> str:
        """The record as JSON, as it is written."""
        return self.model_dump_json(indent=1) + "\n"

    @classmethod
    def read(cls, path: Path | str) -> Self:
        """The record in a file. Its relative paths begin at the folder that the stage was run in.

        Raises:
            FedsiftError: the file is missing, or is not exactly what a stage writes.
        """
        try:
            # A pipe or a device in its place would keep the reader for ever.
            if not Path(path).is_file():
                raise FedsiftError(f"{path}: no such record; run the stage that makes it again.")
            with Path(path).open("rb") as file:
                data = file.read(MOST_BYTES + 1)
            if len(data) > MOST_BYTES:
                raise ValueError(f"it is larger than {MOST_BYTES // 2**20} MiB")
            record = cls.model_validate(_plain_json(data))
            _refuse_foreign(record, Path(path))
        except OSError as error:
            raise FedsiftError(f"{path}: {error.strerror}; make it readable or run its stage again.") from None
        except (ValueError, RecursionError) as error:
            raise FedsiftError(f"{path}: not a record ({_reason(error)}); delete it and run its stage again.") from None
        return record


def schema_text() -> str:
    """JSON schema of a record."""
    return json.dumps(Record.model_json_schema(), indent=1, sort_keys=True) + "\n"


def _refuse_foreign(record: Record, path: Path) -> None:
    """An absolute output must lie beside its record, or a record could send its reader to any file of the machine."""
    home = path.resolve().parent
    for file in record.outputs:
        if PurePosixPath(file.path).is_absolute() and not Path(file.path).resolve().is_relative_to(home):
            raise ValueError(f"its output {file.path!r} lies outside its own folder")


def _plain_json(data: bytes) -> Any:
    """JSON by the letter: UTF-8, no NaN, no infinity, no key twice (of which other readers would take another one)."""
    found = json.loads(data.decode(), parse_float=_finite, parse_constant=_finite, object_pairs_hook=_unique)
    # JSON can spell half a character, which no text can hold.
    json.dumps(found, ensure_ascii=False).encode()
    return found


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is not a finite number")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def _reason(error: ValueError | RecursionError) -> str:
    """One line, whatever the file holds."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        text = first["msg"].removeprefix("Value error, ")
        return _one_line(f"{where}: {text}" if where else text)
    if isinstance(error, UnicodeError):
        return "its text is not UTF-8"
    return _one_line(str(error))


def _one_line(text: str) -> str:
    return " ".join(ascii(text)[1:-1].split())[:200]
