"""Where raw files lie, and whether they are the pinned ones."""

import hashlib
import json
from pathlib import Path

from fedsift.data.catalog import DataSet, Download
from fedsift.files import sha256, write_text


def raw_folder(folder: Path, dataset: DataSet) -> Path:
    """``<folder>/raw/<set>``."""
    return Path(folder) / "raw" / dataset.name


def mismatch(path: Path, item: Download, accepted: str | None = None) -> str | None:
    """Why the bytes at ``path`` are not those of ``item``; None when they are.

    ``accepted`` is the sha256 that was noted when a file without a published sha256 was accepted.
    """
    size = path.stat().st_size
    if item.size is not None and size != item.size:
        return f"it has {size:,} bytes instead of {item.size:,}"
    if size > item.cap:
        return f"it has {size:,} bytes, more than the {item.cap:,} allowed"
    wanted = item.sha256 or accepted
    if wanted is not None and (found := sha256(path)) != wanted:
        return f"its sha256 starts with {found[:12]} instead of {wanted[:12]}"
    # With a sha256 at hand the md5 adds nothing but time.
    if wanted is None and item.md5 is not None:
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
        if digest != item.md5:
            return f"its md5 starts with {digest[:12]} instead of {item.md5[:12]}"
    return None


def accepted(folder: Path, dataset: DataSet) -> dict[str, str]:
    """The sha256 by file name that were noted when the user accepted files without a published sha256."""
    try:
        noted = json.loads((raw_folder(folder, dataset) / "accepted.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError, UnicodeDecodeError):
        return {}
    return {str(name): str(value) for name, value in noted.items()} if isinstance(noted, dict) else {}


def accept(folder: Path, dataset: DataSet, name: str) -> None:
    """Note the present sha256 of a file that has no published one, so that later damage is noticed."""
    noted = accepted(folder, dataset) | {name: sha256(raw_folder(folder, dataset) / name)}
    write_text(raw_folder(folder, dataset) / "accepted.json", json.dumps(noted, indent=1, sort_keys=True) + "\n")
