"""Write a crate, as one file or as a folder; equal contents give equal bytes."""

import shutil
import zipfile
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path, PurePosixPath

from fedsift.errors import FedsiftError
from fedsift.files import atomic


def write_zip(files: Mapping[str, bytes], moment: str, path: Path) -> None:
    """Write ``files`` by place in the crate; every clock in the archive shows ``moment`` (ISO 8601, UTC)."""
    when = datetime.fromisoformat(moment)
    clock = (when.year, when.month, when.day, when.hour, when.minute, when.second)
    with atomic(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for place in sorted({*files, *_folders(files)}):
            entry = zipfile.ZipInfo(place, clock)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100644 if place in files else 0o040755) << 16
            entry.create_system = 3  # Unix, wherever it is written
            archive.writestr(entry, files.get(place, b""), compresslevel=9)


def _folders(files: Iterable[str]) -> set[str]:
    """The folders that files lie in. Archives need none, but readers of crates look for those that are described."""
    return {f"{folder}/" for place in files for folder in PurePosixPath(place).parents if folder.name}


def write_folder(files: Mapping[str, bytes], path: Path) -> None:
    """Write ``files`` by place in the crate into the new folder ``path``.

    Raises:
        FedsiftError: there is something at ``path`` already, of which the crate would not tell.
    """
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise FedsiftError(f"{path}: it is not empty; remove it or name another folder.")
    temporary = path.with_name(f".{path.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    for place, data in files.items():
        target = temporary / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    temporary.replace(path)
