"""Columns as CSV, fast enough for millions of rows, with equal bytes for equal values."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv

from fedsift.files import atomic


def write_csv(path: Path, columns: Mapping[str, Any]) -> None:
    """Write ``columns`` (of equal length; None and NaN are blank) to ``path`` atomically.

    Numbers are the shortest texts that read back as the same numbers.
    """
    table = pa.table({name: pa.array(column, from_pandas=True) for name, column in columns.items()})
    with atomic(path) as temporary, temporary.open("wb") as file:
        # The header of pyarrow's own is always in quotes.
        file.write(",".join(columns).encode() + b"\n")
        csv.write_csv(table, file, csv.WriteOptions(include_header=False, quoting_style="none", batch_size=1 << 16))
