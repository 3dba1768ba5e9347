"""From verified raw files to arrays in the official order."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsift.data import formats
from fedsift.data.catalog import DataSet, File
from fedsift.data.packed import PARTS, Arrays, load_arrays, load_facts, write_arrays
from fedsift.data.raw import accepted, mismatch, raw_folder
from fedsift.errors import DataFileError

__all__ = ["Arrays", "load_arrays", "load_facts", "read", "write_arrays"]

TEST_EVERY = 5
PATCH_STRIDE = 8


Part = tuple[NDArray[Any], NDArray[Any]]


def read(dataset: DataSet, folder: Path) -> Arrays:
    """Read the raw files at ``<folder>/raw/<set>``; all are verified before the first byte is parsed.

    Raises DataFileError for a file that is missing, is not the pinned one or does not hold what it should.
    """
    folder = Path(folder)
    _verify(dataset, folder)
    train, test = _READERS[dataset.reader](dataset, raw_folder(folder, dataset))
    arrays = Arrays(*_as_declared(*train), *_as_declared(*test), dataset.classes, dataset.max_value)
    _check(dataset, arrays, raw_folder(folder, dataset))
    return arrays


def _verify(dataset: DataSet, folder: Path) -> None:
    noted = accepted(folder, dataset)
    again = f"run `fedsift fetch {dataset.name}{'' if dataset.verified else ' --accept-unverified'}`"
    for file in dataset.files:
        path = raw_folder(folder, dataset) / file.name
        if not path.is_file():
            raise DataFileError(f"{path} is missing: {again}.")
        if file.sha256 is None and file.name not in noted:
            raise DataFileError(f"{path} was put there unchecked: {again}.")
        if problem := mismatch(path, file, noted.get(file.name)):
            raise DataFileError(f"{path} is not the pinned file ({problem}): {again}.")


def _as_declared(x: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    return np.ascontiguousarray(x, np.uint8), np.ascontiguousarray(y, np.int32)


def _check(dataset: DataSet, arrays: Arrays, where: Path) -> None:
    for part, x, y, count in (
        ("training", arrays.x_train, arrays.y_train, dataset.train),
        ("test", arrays.x_test, arrays.y_test, dataset.test),
    ):
        if x.shape != (count, *dataset.shape) or y.shape != (count,):
            raise DataFileError(
                f"{where}: the {part} part has images {list(x.shape)} and labels {list(y.shape)} "
                f"instead of {[count, *dataset.shape]} and {[count]}: mend the file and fetch it again."
            )
        if count and (x.max() > dataset.max_value or y.min() < 0 or y.max() >= dataset.classes):
            raise DataFileError(
                f"{where}: the {part} part has values up to {x.max()} and labels {y.min()}..{y.max()} "
                f"instead of up to {dataset.max_value} and 0..{dataset.classes - 1}: "
                "mend the file and fetch it again."
            )


def _files(dataset: DataSet, role: str) -> list[File]:
    return [file for file in dataset.files if file.role == role]


def _csv(dataset: DataSet, home: Path) -> tuple[Part, Part]:
    """No official split: every fifth image of each class, in file order, is a test image."""
    count = dataset.train + dataset.test
    # At most "255," a value, and a little for a label and line ends.
    cap = count * (4 * math.prod(dataset.shape) + 8)
    x, y = formats.csv(home / dataset.files[0].name, dataset.shape, count, cap)
    test = np.zeros(count, bool)
    for label in range(dataset.classes):
        test[np.flatnonzero(y == label)[TEST_EVERY - 1 :: TEST_EVERY]] = True
    return (x[~test], y[~test]), (x[test], y[test])


def _photos(dataset: DataSet, home: Path) -> tuple[Part, Part]:
    side = dataset.shape[0]
    cut = [formats.patches(home / file.name, side, PATCH_STRIDE) for file in _files(dataset, "train")]
    labels = np.repeat(np.arange(len(cut)), [len(patches) for patches in cut])
    return (np.concatenate(cut), labels), (np.empty((0, *dataset.shape), np.uint8), labels[:0])


def _idx(dataset: DataSet, home: Path) -> tuple[Part, Part]:
    return _idx_part(dataset, home, "train", dataset.train), _idx_part(dataset, home, "test", dataset.test)


def _idx_part(dataset: DataSet, home: Path, part: str, count: int) -> Part:
    def load(role: str, shape: tuple[int, ...]) -> NDArray[np.uint8]:
        path = home / _files(dataset, role)[0].name
        cap = 4 + 4 * len(shape) + math.prod(shape)
        return formats.idx(formats.gunzip(path, cap) if path.suffix == ".gz" else path.read_bytes(), shape, path)

    x = load(f"{part}-images", (count, *dataset.shape[:2]))
    if dataset.reader == "idx-transposed":
        x = x.transpose(0, 2, 1)
    return x[..., None], load(f"{part}-labels", (count,)).astype(np.int32) - dataset.first_label


def _cifar(dataset: DataSet, home: Path) -> tuple[Part, Part]:
    def load(part: str) -> Part:
        paths = [home / file.name for file in _files(dataset, part)]
        batches = [formats.cifar(path.read_bytes(), path) for path in paths]
        return np.concatenate([x for x, _ in batches]), np.concatenate([y for _, y in batches])

    return load("train"), load("test")


def _mat(dataset: DataSet, home: Path) -> tuple[Part, Part]:
    train, test = (home / _files(dataset, part)[0].name for part in PARTS)
    return formats.mat(train, dataset.train), formats.mat(test, dataset.test)


def _npz_rows(dataset: DataSet, home: Path) -> tuple[Part, Part]:
    """ImageNet32: ``data`` uint8 [N, 3*32*32], channels first, and ``labels`` from 1."""
    return _npz_rows_part(dataset, home, "train", dataset.train), _npz_rows_part(dataset, home, "test", dataset.test)


def _npz_rows_part(dataset: DataSet, home: Path, part: str, count: int) -> Part:
    height, width, channels = dataset.shape
    x, y, done = np.empty((count, *dataset.shape), np.uint8), np.empty(count, np.int32), 0
    for file in _files(dataset, part):
        path = home / file.name
        shape, kind = formats.npz_headers(path, ("data",))["data"]
        labels = formats.npz_labels(path, "labels")
        if kind != "uint8" or shape != (len(labels), math.prod(dataset.shape)) or done + len(labels) > count:
            raise DataFileError(
                f"{path}: data is {kind} {list(shape)} with {len(labels)} labels, which does not fit "
                f"{count} images of {math.prod(dataset.shape)} bytes: fetch the npz variant again."
            )
        # Straight into place: the whole set is 4 GB, and twice that may not fit.
        rows = formats.npz(path, "data").reshape(-1, channels, height, width)
        x[done : done + len(labels)] = rows.transpose(0, 2, 3, 1)
        y[done : done + len(labels)] = labels - dataset.first_label
        done += len(labels)
    return x[:done], y[:done]


def _npz(dataset: DataSet, home: Path) -> tuple[Part, Part]:
    def load(part: str) -> Part:
        path = home / _files(dataset, part)[0].name
        shape, kind = formats.npz_headers(path, ("x",))["x"]
        if kind != "uint8" or (*shape[1:], 1)[:3] != dataset.shape:
            raise DataFileError(f"{path}: x is {kind} {list(shape)}; save it as uint8 [N,H,W] or [N,H,W,C].")
        return formats.npz(path, "x").reshape(-1, *dataset.shape), formats.npz_labels(path)

    return load("train"), load("test")


_READERS: dict[str, Callable[[DataSet, Path], tuple[Part, Part]]] = {
    "csv": _csv,
    "photos": _photos,
    "idx": _idx,
    "idx-transposed": _idx,
    "cifar": _cifar,
    "mat": _mat,
    "npz-rows": _npz_rows,
    "npz": _npz,
}
