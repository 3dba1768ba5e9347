"""One packed file a data set: what every stage after ``fetch`` reads.

Apart from the parsers, so that mending a parser does not change the code that training depends on.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedsift.errors import DataFileError
from fedsift.files import atomic

if TYPE_CHECKING:
    from fedsift.data.catalog import DataSet

PARTS = ("train", "test")
KEYS = {"x_train": "U8", "y_train": "I32", "x_test": "U8", "y_test": "I32"}
TYPES: dict[str, np.dtype[Any]] = {"U8": np.dtype(np.uint8), "I32": np.dtype("<i4")}
MOST_HEADER = 2**20


@dataclass(frozen=True, eq=False)
class Arrays:
    """Images uint8 [N, H, W, C] of 0..``max_value`` and labels int32 [N] below ``classes``, of both parts."""

    x_train: NDArray[np.uint8]
    y_train: NDArray[np.int32]
    x_test: NDArray[np.uint8]
    y_test: NDArray[np.int32]
    classes: int
    max_value: int


def write_arrays(arrays: Arrays, dataset: DataSet, path: Path | str) -> None:
    """Pack ``arrays`` into one safetensors file, atomically; equal input gives equal bytes.

    Keys: x_train, y_train, x_test, y_test. Metadata: ``fedsift``, sorted JSON with set, max, classes,
    class_names and shape.
    """
    from safetensors.numpy import save_file

    facts = {
        "set": dataset.name,
        "max": dataset.max_value,
        "classes": dataset.classes,
        "class_names": dataset.class_names,
        "shape": list(dataset.shape),
    }
    tensors = {key: np.ascontiguousarray(getattr(arrays, key)) for key in KEYS}
    # One metadata key only: safetensors writes several in random order.
    with atomic(path) as temporary:
        save_file(tensors, str(temporary), metadata={"fedsift": json.dumps(facts, sort_keys=True)})


def load_arrays(path: Path | str, parts: Iterable[str] = PARTS) -> Arrays:
    """Map a packed file into memory, read-only: processes share its pages, untouched images cost nothing.

    ``parts`` are "train" or "test" for images and labels, or single keys such as "y_train". What is not among
    them comes with length zero. Raises DataFileError.
    """
    wanted = set(parts)
    if not wanted <= {*PARTS, *KEYS}:
        raise ValueError(f"parts are {PARTS} or {tuple(KEYS)}, not {sorted(wanted)}")
    path = Path(path)
    header, start = _header(path)
    facts = load_facts(path)
    held = {key: _mapped(path, key, header, start, key in wanted or key[2:] in wanted) for key in KEYS}
    try:
        return Arrays(**held, classes=int(facts["classes"]), max_value=int(facts["max"]))
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(path, "its metadata lack classes and max") from error


def load_facts(path: Path | str) -> dict[str, Any]:
    """What ``write_arrays`` noted: set, max, classes, class_names, shape. Raises DataFileError."""
    try:
        facts: dict[str, Any] = json.loads(_header(Path(path))[0]["__metadata__"]["fedsift"])
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(Path(path), "it lacks the metadata") from error
    return facts


def _header(path: Path) -> tuple[dict[str, Any], int]:
    """The safetensors header (8 bytes of length, then JSON) and where the values start.

    Read here rather than by the safetensors library, which copies where a mapping will do.
    """
    try:
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= MOST_HEADER:
                raise _damaged(path, "it has no header")
            header = json.loads(file.read(length))
    except FileNotFoundError as error:
        raise DataFileError(f"{path} is missing: run the data step first.") from error
    except ValueError as error:
        raise _damaged(path, "its header is not readable") from error
    if not isinstance(header, dict):
        raise _damaged(path, "its header is not readable")
    return header, 8 + length


def _mapped(path: Path, key: str, header: dict[str, Any], start: int, wanted: bool) -> NDArray[Any]:
    try:
        entry = header[key]
        shape = tuple(int(length) for length in entry["shape"])
        begin, end = (int(offset) for offset in entry["data_offsets"])
        dtype = TYPES[entry["dtype"]]
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(path, f"it lacks a proper {key}") from error
    sound = entry["dtype"] == KEYS[key] and min(shape, default=-1) >= 0 and len(shape) == (4 if key[0] == "x" else 1)
    if not sound or begin < 0 or end - begin != math.prod(shape) * dtype.itemsize or start + end > path.stat().st_size:
        raise _damaged(path, f"{key} is not whole")
    if not wanted or begin == end:
        return np.empty((0, *shape[1:]), dtype)
    # A view as a plain array: numpy.memmap's own class would follow every slice around.
    return np.memmap(path, dtype, "r", offset=start + begin, shape=shape).view(np.ndarray)


def _damaged(path: Path, reason: str) -> DataFileError:
    return DataFileError(f"{path} is damaged ({reason}): delete it and run the data step again.")
