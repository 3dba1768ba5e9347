"""What data sets exist: a typed, closed-world view of ``catalog.yaml``.

Importing this module costs little on purpose (no numpy): every start of the command line reads the catalog.
"""

from functools import cache
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from fedsift.errors import DataFileError, FedsiftError
from fedsift.files import sha256

# A leading dot, a slash or a backslash in any of these could lead out of the data folder.
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)]
Member = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)*$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Md5 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
Url = Annotated[str, StringConstraints(pattern=r"^https?://[^\s]+$")]
Reader = Literal["csv", "photos", "idx", "idx-transposed", "cifar", "mat", "npz-rows", "npz"]
Role = Literal["all", "train", "test", "train-images", "train-labels", "test-images", "test-labels"]

UNKNOWN_SIZE_CAP = 4 * 2**30


class CatalogError(FedsiftError):
    """A data set that does not exist or is described wrongly."""


class Closed(BaseModel):
    """Unknown keys are errors, values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Download(Closed):
    """Bytes to check: ``size`` is their number; ``max_size`` bounds it where it is not known."""

    name: Name
    size: int | None = Field(default=None, gt=0)
    max_size: int = Field(default=UNKNOWN_SIZE_CAP, gt=0)
    sha256: Sha256 | None = None
    md5: Md5 | None = None
    urls: list[Url] = []

    @property
    def cap(self) -> int:
        """The most bytes that are ever read for it."""
        return self.size or self.max_size


class Archive(Download):
    """A tar.gz or zip file of which only the members named by ``File.member`` are used."""


class File(Download):
    """One raw file, ``raw/<set>/<name>``. A ``member`` ending in .gz is unpacked unless ``name`` does too."""

    role: Role
    archive: Name | None = None
    member: Member | None = None
    package: Member | None = None  # <top-level package>/<path inside it>: ships with a dependency
    path: str | None = None  # a user's own file


class DataSet(Closed):
    """One data set. ``shape`` is (height, width, channels) in pixels; values run from 0 to ``max_value``."""

    name: Name
    title: str
    licence: str
    citation: str
    homepage: str
    note: str = ""
    login: str = ""
    shape: Annotated[tuple[int, int, int], Field(strict=False)]
    classes: int = Field(gt=0)
    class_names: list[str] = []
    first_label: Literal[0, 1] = 0
    train: int = Field(ge=0)
    test: int = Field(ge=0)
    max_value: int = Field(gt=0, le=255)
    reader: Reader
    verified: bool
    archives: list[Archive] = []
    files: list[File] = Field(min_length=1)

    @model_validator(mode="after")
    def _consistent(self) -> "DataSet":
        archives = {archive.name for archive in self.archives}
        for file in self.files:
            if (file.archive is None) != (file.member is None) or (file.archive and file.archive not in archives):
                raise ValueError(f"{file.name}: archive and member must name a listed archive and a path in it")
            if self.verified and (file.sha256 is None or file.size is None):
                raise ValueError(f"{file.name}: a verified set needs size and sha256 of every file")
        if len({file.name for file in self.files} | archives) != len(self.files) + len(archives):
            raise ValueError("two files have the same name")
        if self.class_names and len(self.class_names) != self.classes:
            raise ValueError(f"{len(self.class_names)} class names for {self.classes} classes")
        return self

    def archive_of(self, file: File) -> Archive | None:
        """The archive that ``file`` is a member of."""
        return next((archive for archive in self.archives if archive.name == file.archive), None)


@cache
def load() -> dict[str, DataSet]:
    """All data sets by name, in the order of ``catalog.yaml``. The dictionary is shared: do not change it.

    Raises CatalogError when the file breaks a rule of the models above.
    """
    path = Path(__file__).with_name("catalog.yaml")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    with open(path, "rb") as file:
        entries = yaml.load(file, Loader=loader)  # a safe loader in both cases
    try:
        return {name: DataSet.model_validate({"name": name, **entry}) for name, entry in entries.items()}
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise CatalogError(
            f"{path} is damaged at {error.title} {where} ({first['msg']}): install fedsift again."
        ) from error


def get(name: str) -> DataSet:
    """One data set. Raises CatalogError with the nearest name when there is none such."""
    sets = load()
    if name in sets:
        return sets[name]
    import difflib

    near = difflib.get_close_matches(name, sets, n=1)
    hint = f"did you mean {near[0]}" if near else "known are " + ", ".join(sets)
    raise CatalogError(f"There is no data set {name!r}: {hint}?" if near else f"There is no data set {name!r}: {hint}.")


def own_set(name: str, folder: Path | str, max_value: int = 255) -> DataSet:
    """Describe a user's data set: ``folder`` holds train.npz and test.npz.

    Each holds ``x``, uint8 [N, H, W] or [N, H, W, C] of 0..``max_value``, and ``y``, integers [N] from 0.
    The present bytes are pinned by sha256, so that a later change is noticed. Raises CatalogError.
    """
    # numpy is loaded only by those who have a set of their own.
    from fedsift.data.formats import npz_headers, npz_labels

    if name in load():
        raise CatalogError(f"The name {name!r} of the data set in {folder} is taken: choose another one.")
    folder = Path(folder).expanduser().resolve()
    files, counts, shapes, highest = [], [], [], -1
    for part in ("train", "test"):
        path = folder / f"{part}.npz"
        if not path.is_file():
            raise CatalogError(
                f"{path} is missing: data set {name} needs train.npz and test.npz, "
                "each with x (uint8 images) and y (labels)."
            )
        (shape, dtype), y = npz_headers(path, ("x", "y"))["x"], npz_labels(path)
        if dtype != "uint8" or len(shape) not in (3, 4):
            raise DataFileError(f"{path}: x is {dtype} {list(shape)}; save it as uint8 [N,H,W] or [N,H,W,C].")
        if shape[0] != len(y):
            raise DataFileError(f"{path}: {shape[0]} images but {len(y)} labels; save x and y of the same length.")
        counts.append(shape[0])
        shapes.append((*shape[1:], 1)[:3])
        highest = max(highest, int(y.max(initial=-1)))
        files.append(
            {
                "name": path.name,
                "role": part,
                "size": path.stat().st_size,
                "sha256": sha256(path),
                "path": str(path),
            }
        )
    if shapes[0] != shapes[1]:
        raise DataFileError(
            f"{folder}: images of {shapes[0]} in train.npz, of {shapes[1]} in test.npz; make them equal."
        )
    try:
        return DataSet.model_validate(
            {
                "name": name,
                "title": f"{name} (the user's own)",
                "licence": "the user's own",
                "citation": "",
                "homepage": "",
                "shape": shapes[0],
                "classes": highest + 1,
                "train": counts[0],
                "test": counts[1],
                "max_value": max_value,
                "reader": "npz",
                "verified": True,
                "files": files,
            }
        )
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise CatalogError(f"Data set {name!r} in {folder} cannot be used, {key}: {first['msg']}.") from error
