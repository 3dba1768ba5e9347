from pathlib import Path

import numpy as np
import pytest
from laboratory.made import drawn

from fedsift.errors import DataFileError
from fedsift.laboratory.bid_file import read_bids
from fedsift.laboratory.files import write_csv

GOOD = "t,client,b,q\n1,0,0.5,1\n1,3,0.25,0.5\n4,0,1,1e-3\n"


def file(folder: Path, text: str | bytes) -> Path:
    path = folder / "log.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        "\ufeff" + GOOD.replace("\n", "\r\n"),
        GOOD.replace(",", " , "),
        GOOD.removesuffix("\n"),
        "q,b,client,t\n1,0.5,0,1\n0.5,0.25,3,1\n1e-3,1,0,4\n",
        '"t","client","b","q"\n1,0,0.5,1\n1,3,0.25,"0.5"\n4,0,1,1e-3\n',
    ],
    ids=["plain", "bom and crlf", "blanks", "no last newline", "other order", "quotes"],
)
def test_what_is_read(tmp_path: Path, text: str) -> None:
    log = read_bids(file(tmp_path, text.replace("t , client , b , q", "t,client,b,q")))
    assert (log.t.tolist(), log.client.tolist()) == ([1, 1, 4], [0, 3, 0])
    assert (log.b.tolist(), log.q.tolist()) == ([0.5, 0.25, 1.0], [1.0, 0.5, 1e-3])


def test_quality_is_one_without_its_column(tmp_path: Path) -> None:
    assert read_bids(file(tmp_path, "t,client,b\n1,0,0.5\n2,0,0\n")).q.tolist() == [1.0, 1.0]


def test_what_is_written_is_read_to_the_same_bits(tmp_path: Path) -> None:
    log, _ = drawn(64, 20)
    path = tmp_path / "bids.csv"
    write_csv(path, {"t": log.t, "client": log.client, "b": log.b, "q": log.q})
    again = read_bids(path)
    assert all(np.array_equal(getattr(log, name), getattr(again, name)) for name in ("t", "client", "b", "q"))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", ": the file is empty; give it the header t,client,b,q and a bid."),
        ("t,client,b\n", ": the bid log is empty; give it at least one bid."),
        ("t,client\n1,0\n", ":1: the column 'b' is missing; the columns are t, client, b and q."),
        ("t;client;b\n1;0;1\n", ":1: unknown column 't;client;b'; did you mean 'client'?"),
        ("t,client,b,cost\n1,0,1,1\n", ":1: unknown column 'cost'; known: t, client, b, q."),
        ("t,clint,b\n1,0,1\n", ":1: unknown column 'clint'; did you mean 'client'?"),
        ("t,client,b,b\n1,0,1,1\n", ":1: the column 'b' stands twice; keep one."),
        ("t,client,b\n1,0,1\n1,1\n", ":3: 2 values for 3 columns; give each row one value a column."),
        ("t,client,b\n1,0,1\n\n2,0,1\n", ":3: 't' is ''; write a whole number."),
        ("t,client,b\n1,0,1\n1.5,1,1\n", ":3: 't' is '1.5'; write a whole number."),
        ("t,client,b\n1,a,1\n", ":2: 'client' is 'a'; write a whole number."),
        ("t,client,b\n1,0,\n", ":2: 'b' is ''; write a number."),
        ("t,client,b\n1,0,1/2\n", ":2: 'b' is '1/2'; write a number."),
        ("t,client,b\n0,0,1\n", ":2: round 0 is none; rounds go from 1 to at most 10,000,000."),
        ("t,client,b\n99999999,0,1\n", ":2: round 99999999 is none; rounds go from 1 to at most 10,000,000."),
        ("t,client,b\n2,0,1\n1,0,1\n", ":3: round 1 comes after a later one; sort the rows by t."),
        ("t,client,b\n1,-1,1\n", ":2: client -1 is none; number clients from 0 to 9,999,999."),
        ("t,client,b\n1,0,1\n1,1,1.5\n", ":3: the bid is 1.5; a bid is a number from 0 to 1."),
        ("t,client,b\n1,0,-0.1\n", ":2: the bid is -0.1; a bid is a number from 0 to 1."),
        ("t,client,b\n1,0,nan\n", ":2: the bid is nan; a bid is a number from 0 to 1."),
        ("t,client,b\n1,0,inf\n", ":2: the bid is inf; a bid is a number from 0 to 1."),
        ("t,client,b,q\n1,0,1,0\n", ":2: the quality is 0.0; a quality is above 0 and at most 1."),
        (
            "t,client,b\n1,5,1\n1,2,1\n1,5,0\n",
            ":4: a second bid of client 5 in round 1; leave it one bid a round.",
        ),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    path = file(tmp_path, text)
    with pytest.raises(DataFileError) as error:
        read_bids(path)
    assert str(error.value) == f"{path}{sentence}"


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match="no such file; --bids takes a CSV file with t, client, b and q."):
        read_bids(tmp_path / "nothing.csv")
    with pytest.raises(DataFileError, match="--bids takes a readable CSV file."):
        read_bids(tmp_path)
    with pytest.raises(DataFileError, match=r"not valid CSV: .*UTF-?8.*; save it as comma-separated UTF-8 text."):
        read_bids(file(tmp_path, "t,client,b\n1,0,\xe4\n".encode("latin-1")))
