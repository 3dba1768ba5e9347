"""Files that appear whole or not at all."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def sha256(path: Path | str) -> str:
    """Hex digest of a file's bytes."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def atomic(path: Path | str, durable: bool = True) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on success fsync it and rename it to ``path``.

    The folder is created where needed. On failure nothing is left and an older ``path`` stays as it was. What can be
    made again at once need not be ``durable``: it skips the fsyncs, which cost a disk access each.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        # Some writers (safetensors) make files that only their owner may read; colleagues need the usual mode.
        temporary.chmod(0o666 & ~_umask())
        if not durable:
            temporary.replace(path)
            return
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
        # The rename itself must survive a power cut, which takes an fsync of the folder.
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_text(path: Path | str, text: str, durable: bool = True) -> None:
    """Write ``text`` (UTF-8) to ``path`` atomically."""
    with atomic(path, durable) as temporary:
        temporary.write_bytes(text.encode())


def write_text_if_changed(path: Path | str, text: str, durable: bool = True) -> bool:
    """Write ``text`` unless ``path`` holds it already, so that an unchanged file keeps its time. Tells if it wrote."""
    try:
        if Path(path).read_bytes() == text.encode():
            return False
    except FileNotFoundError:
        pass
    write_text(path, text, durable)
    return True
