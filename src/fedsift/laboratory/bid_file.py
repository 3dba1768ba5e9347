"""A bid log as a CSV file with the columns t, client, b and q."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv

from fedsift.config.shape import close, shown
from fedsift.errors import DataFileError
from fedsift.market.log import BidLog

COLUMNS = ("t", "client", "b", "q")
MOST = 10_000_000
"""Of rounds and of clients; a slip of the pen must not fill the memory."""


def read_bids(path: Path) -> BidLog:
    """The log in ``path``: comma-separated UTF-8 with a header, the rows of a round in the order of arrival.

    `t` is the round from 1, ascending; `client` its number from 0; `b` the bid in [0, 1]; `q` the quality in (0, 1],
    1 for all where the column is missing.

    Raises:
        DataFileError: one sentence with the file and the line of the first thing that is wrong.
    """
    table = _read(path)
    columns = {name: _column(path, table, name) for name in COLUMNS if name in table.column_names}
    if len(table) == 0:
        raise DataFileError(f"{path}: the bid log is empty; give it at least one bid.")
    t, client, b = (columns[name] for name in ("t", "client", "b"))
    q = columns.get("q", np.ones(len(table)))
    _all(path, (t >= 1) & (t <= MOST), t, f"round {{}} is none; rounds go from 1 to at most {MOST:,}.")
    _all(path, np.diff(t, prepend=1) >= 0, t, "round {} comes after a later one; sort the rows by t.")
    _all(path, (client >= 0) & (client < MOST), client, f"client {{}} is none; number clients from 0 to {MOST - 1:,}.")
    _all(path, (b >= 0) & (b <= 1), b, "the bid is {}; a bid is a number from 0 to 1.")
    _all(path, (q > 0) & (q <= 1), q, "the quality is {}; a quality is above 0 and at most 1.")
    _once_a_round(path, t, client)
    return BidLog(t, client, b, q)


def _read(path: Path) -> pa.Table:
    wrong: list[Any] = []

    def note(row: Any) -> str:
        wrong.append(row)
        return "skip"

    try:
        table = csv.read_csv(
            path,
            # A row's number is known to a single thread only.
            csv.ReadOptions(use_threads=False),
            csv.ParseOptions(ignore_empty_lines=False, invalid_row_handler=note),
            csv.ConvertOptions(column_types=dict.fromkeys(COLUMNS, pa.string()), strings_can_be_null=False),
        )
    except FileNotFoundError:
        raise DataFileError(f"{path}: no such file; --bids takes a CSV file with t, client, b and q.") from None
    except OSError as error:
        raise DataFileError(f"{path}: {error.strerror or error}; --bids takes a readable CSV file.") from None
    except pa.ArrowInvalid as error:
        words = " ".join(str(error).split())
        if "Empty CSV" in words:
            raise DataFileError(f"{path}: the file is empty; give it the header t,client,b,q and a bid.") from None
        raise DataFileError(f"{path}: not valid CSV: {words}; save it as comma-separated UTF-8 text.") from None
    _header(path, table.column_names)
    if wrong:
        first = wrong[0]
        raise DataFileError(
            f"{path}:{first.number}: {first.actual_columns} values for {first.expected_columns} columns; "
            "give each row one value a column."
        )
    return table


def _header(path: Path, names: list[str]) -> None:
    for name in names:
        if name not in COLUMNS:
            raise DataFileError(f"{path}:1: unknown column {shown(name)}; {close(name, COLUMNS, 'known')}")
        if names.count(name) > 1:
            raise DataFileError(f"{path}:1: the column '{name}' stands twice; keep one.")
    for name in COLUMNS[:3]:
        if name not in names:
            raise DataFileError(f"{path}:1: the column '{name}' is missing; the columns are t, client, b and q.")


def _column(path: Path, table: pa.Table, name: str) -> NDArray[Any]:
    kind = pa.int64() if name in ("t", "client") else pa.float64()
    texts = pc.utf8_trim_whitespace(table[name])
    try:
        return np.asarray(pc.cast(texts, kind).to_numpy())
    except pa.ArrowInvalid:
        line, text = next((line, text) for line, text in enumerate(texts.to_pylist(), 2) if not _is_number(text, kind))
        what = "a whole number" if kind == pa.int64() else "a number"
        raise DataFileError(f"{path}:{line}: '{name}' is {shown(text)}; write {what}.") from None


def _is_number(text: str, kind: pa.DataType) -> bool:
    try:
        pc.cast(pa.scalar(text), kind)
    except pa.ArrowInvalid:
        return False
    return True


def _all(path: Path, right: NDArray[np.bool_], values: NDArray[Any], sentence: str) -> None:
    if not right.all():
        row = int(np.argmin(right))
        raise DataFileError(f"{path}:{row + 2}: {sentence.format(values[row])}")


def _once_a_round(path: Path, t: NDArray[np.int64], client: NDArray[np.int64]) -> None:
    order = np.lexsort((client, t))
    again = (np.diff(t[order]) == 0) & (np.diff(client[order]) == 0)
    if again.any():
        row = int(order[1:][again].min())
        raise DataFileError(
            f"{path}:{row + 2}: a second bid of client {client[row]} in round {t[row]}; leave it one bid a round."
        )
