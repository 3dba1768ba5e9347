import csv
import math
from pathlib import Path

import pytest

from fedsift.training.history import COLUMNS, write_history


def test_all_digits_come_back_and_blanks_stay_blank(tmp_path: Path) -> None:
    rows = [
        {"round": 0, "status": "ok", "clients": 3, "samples": 30, "used": 20, "accuracy": 0.1 + 0.2, "loss": 1e-17},
        {"round": 1, "status": "diverged", "clients": 3, "samples": 30, "used": 20, "loss": math.nan},
    ]
    write_history(tmp_path / "new" / "history.csv", rows)
    with (tmp_path / "new" / "history.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    assert tuple(read[0]) == COLUMNS
    assert float(read[0]["accuracy"]) == 0.1 + 0.2
    assert float(read[0]["loss"]) == 1e-17
    assert read[0]["mse"] == read[1]["accuracy"] == ""
    assert read[1]["status"] == "diverged"
    assert math.isnan(float(read[1]["loss"]))


def test_no_rows_still_have_a_header(tmp_path: Path) -> None:
    write_history(tmp_path / "history.csv", [])
    assert (tmp_path / "history.csv").read_text() == ",".join(COLUMNS) + "\n"


def test_unknown_column_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="surprise"):
        write_history(tmp_path / "history.csv", [{"surprise": 1}])
    assert not (tmp_path / "history.csv").exists()
