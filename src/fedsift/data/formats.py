"""Strict parsers, one for each file format. Whatever is not as declared raises DataFileError naming the file.

No parser loads a pickle, and each checks the declared size before it allocates.
"""

import gzip
import io
import math
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsift.errors import DataFileError

Bytes = NDArray[np.uint8]
AGAIN = "fetch it again"


def gunzip(path: Path, cap: int) -> bytes:
    """The unpacked bytes of a gzip file. Raises DataFileError when damaged or longer than ``cap`` bytes."""
    try:
        with gzip.open(path) as file:
            data = file.read(cap + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DataFileError(f"{path} is not a whole gzip file ({error}): {AGAIN}.") from error
    if len(data) > cap:
        raise DataFileError(f"{path} unpacks to more than {cap:,} bytes: {AGAIN}.")
    return data


def idx(data: bytes, shape: tuple[int, ...], name: Path | str) -> Bytes:
    """An idx file of unsigned bytes with exactly this ``shape``, big-endian header as on the MNIST page.

    Returns uint8 of ``shape``, read-only. Raises DataFileError.
    """
    header = 4 + 4 * len(shape)
    if len(data) < header:
        raise DataFileError(f"{name} ends within its idx header: {AGAIN}.")
    if data[:4] != bytes((0, 0, 8, len(shape))):
        raise DataFileError(f"{name} does not start like an idx file of bytes in {len(shape)} dimensions: {AGAIN}.")
    found = tuple(int.from_bytes(data[at : at + 4], "big") for at in range(4, header, 4))
    if found != shape:
        raise DataFileError(f"{name} declares {list(found)} values instead of {list(shape)}: {AGAIN}.")
    if len(data) != header + math.prod(shape):
        raise DataFileError(f"{name} has {len(data):,} bytes instead of {header + math.prod(shape):,}: {AGAIN}.")
    return np.frombuffer(data, np.uint8, offset=header).reshape(shape)


def cifar(data: bytes, name: Path | str) -> tuple[Bytes, Bytes]:
    """CIFAR-10's binary version: records of a label and 32x32 bytes each of red, green and blue.

    Returns images uint8 [N, 32, 32, 3] and labels uint8 [N]. Raises DataFileError.
    """
    record = 1 + 3 * 32 * 32
    if not data or len(data) % record:
        raise DataFileError(f"{name} has {len(data):,} bytes, not a multiple of {record}: {AGAIN}.")
    rows = np.frombuffer(data, np.uint8).reshape(-1, record)
    return rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), rows[:, 0]


def mat(path: Path, count: int) -> tuple[Bytes, Bytes]:
    """SVHN's cropped digits: X uint8 [32, 32, 3, N] and y uint8 [N, 1], where 10 stands for 0.

    Returns images uint8 [N, 32, 32, 3] and labels uint8 [N] of 0..9. Raises DataFileError.
    """
    from scipy.io import loadmat, whosmat

    wanted = {"X": ((32, 32, 3, count), "uint8"), "y": ((count, 1), "uint8")}
    try:
        found = {key: (shape, kind) for key, shape, kind in whosmat(str(path))}
        held = loadmat(str(path), variable_names=list(wanted)) if found.items() >= wanted.items() else None
    except Exception as error:  # scipy promises no kind of error for damaged files
        raise DataFileError(f"{path} is not a readable .mat file ({error}): {AGAIN}.") from error
    if held is None:
        raise DataFileError(f"{path} declares {found} instead of {wanted}: {AGAIN}.")
    x, y = held["X"], held["y"].reshape(-1)
    if x.dtype != np.uint8 or y.dtype != np.uint8 or y.min() < 1 or y.max() > 10:
        raise DataFileError(f"{path} holds other values than bytes and labels 1..10: {AGAIN}.")
    return x.transpose(3, 0, 1, 2), y % 10


def csv(path: Path, shape: tuple[int, int, int], count: int, cap: int) -> tuple[Bytes, NDArray[np.int32]]:
    """A gzipped table without header: H*W*C pixel values, then the label.

    Returns images uint8 [count, H, W, C] and labels int32 [count]. Raises DataFileError.
    """
    text = gunzip(path, cap)
    if not text.strip():
        raise DataFileError(f"{path} is empty: {AGAIN}.")
    try:
        table = np.loadtxt(io.BytesIO(text), delimiter=",", dtype=np.float32, ndmin=2)
    except ValueError as error:
        raise DataFileError(f"{path} is not a table of numbers ({error}): {AGAIN}.") from error
    if table.shape != (count, math.prod(shape) + 1):
        raise DataFileError(
            f"{path} holds a table of {table.shape} instead of {(count, math.prod(shape) + 1)}: {AGAIN}."
        )
    whole = table.astype(np.uint8)
    if not np.array_equal(whole, table):
        raise DataFileError(f"{path} holds values that are no bytes: {AGAIN}.")
    return whole[:, :-1].reshape(count, *shape), whole[:, -1].astype(np.int32)


def patches(path: Path, side: int, stride: int) -> Bytes:
    """Square patches of a photograph, row by row: uint8 [N, side, side, 3]. Raises DataFileError."""
    from PIL import Image

    try:
        with Image.open(path, formats=["JPEG"]) as image:
            photo = np.asarray(image.convert("RGB"))
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise DataFileError(f"{path} is not a readable JPEG ({error}): {AGAIN}.") from error
    if min(photo.shape[:2]) < side:
        raise DataFileError(f"{path} is smaller than {side}x{side} pixels: {AGAIN}.")
    windows = np.lib.stride_tricks.sliding_window_view(photo, (side, side), axis=(0, 1))
    # The windows' own axes come last, after the channels.
    return windows[::stride, ::stride].transpose(0, 1, 3, 4, 2).reshape(-1, side, side, 3)


def npz_headers(path: Path, keys: Iterable[str]) -> dict[str, tuple[tuple[int, ...], str]]:
    """Shape and dtype name of arrays in an npz file, without reading them. Raises DataFileError."""
    found = {}
    try:
        with zipfile.ZipFile(path) as zipped:
            for key in keys:
                with zipped.open(f"{key}.npy") as file:
                    version = np.lib.format.read_magic(file)
                    header: Any = (
                        np.lib.format.read_array_header_1_0
                        if version == (1, 0)
                        else np.lib.format.read_array_header_2_0
                    )
                    shape, _, dtype = header(file)
                    found[key] = (tuple(shape), str(dtype))
    except KeyError as error:
        raise DataFileError(
            f"{path} lacks an array ({error.args[0]}): save it with the arrays {', '.join(keys)}."
        ) from error
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error, RuntimeError) as error:
        raise DataFileError(f"{path} is not a readable npz file ({error}): write it again with numpy.savez.") from error
    return found


def npz(path: Path, key: str) -> NDArray[Any]:
    """One array of an npz file. Arrays of Python objects (pickles) are refused. Raises DataFileError."""
    try:
        with np.load(path, allow_pickle=False) as held:
            return np.asarray(held[key])
    except (
        ValueError,
        KeyError,
        OSError,
        EOFError,
        zipfile.BadZipFile,
        zlib.error,
        RuntimeError,
        MemoryError,
    ) as error:
        raise DataFileError(f"{path}: array {key} cannot be read ({error}); pickled arrays are refused.") from error


def npz_labels(path: Path, key: str = "y") -> NDArray[np.int32]:
    """Whole-number labels from 0, as int32 [N]. Raises DataFileError."""
    shape, kind = npz_headers(path, (key,))[key]
    if len(shape) != 1 or np.dtype(kind).kind not in "iu":
        raise DataFileError(f"{path}: {key} is {kind} {list(shape)}; save it as whole numbers [N].")
    labels = npz(path, key)
    if labels.size and not 0 <= int(labels.min()) <= int(labels.max()) < 2**31:
        raise DataFileError(f"{path}: {key} holds labels outside of 0..2147483647; number the classes from 0.")
    return labels.astype(np.int32)
