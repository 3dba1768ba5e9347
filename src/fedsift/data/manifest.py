"""What a fetch left behind: names, sizes and sha256 of a set's raw files, for the workflow and for auditors."""

import json
from collections.abc import Sequence
from pathlib import Path

from fedsift.data.catalog import DataSet
from fedsift.files import sha256, write_text


def write_manifest(dataset: DataSet, folder: Path, files: Sequence[Path]) -> None:
    """Write `<folder>/raw/<set>/fetched.json`; it tells neither when nor whence, so equal files give equal bytes."""
    rows = [{"name": file.name, "size": file.stat().st_size, "sha256": sha256(file)} for file in files]
    note = {"set": dataset.name, "verified": dataset.verified, "files": rows}
    write_text(folder / "raw" / dataset.name / "fetched.json", json.dumps(note, indent=1) + "\n")
