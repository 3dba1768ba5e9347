"""Whatever is changed by hand is found, and the first sentence names the file."""

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from audit.conftest import Audited
from audit.made import REPORT, RUNS, TABLE, edit_row, flip, tabulate

from fedsift.files import sha256
from fedsift.workflow import Plan

PHASE = f"{RUNS}/seed0/fedavg@2"


def first(text: str) -> str:
    """The first finding."""
    return next((line for line in text.splitlines() if line.startswith(("broken: ", "cannot tell: "))), text)


def rewrite(path: str, **changes: Any) -> None:
    """Change keys of a record."""
    Path(path).write_text(json.dumps(json.loads(Path(path).read_text()) | changes))


def renew(record: str, path: str) -> None:
    """Make a record fit a file that was changed, as a careful forger would."""
    values = json.loads(Path(record).read_text())
    for files in (values["outputs"], values["inputs"]):
        for file in files:
            if file["path"] == path:
                file |= {"sha256": sha256(path), "size": Path(path).stat().st_size}
    Path(record).write_text(json.dumps(values))


def test_an_untouched_run_holds(audited: Audited) -> None:
    code, text = audited()
    assert code == 0, text
    assert text.startswith("mini: holds; ")
    assert "9 of 9 runs" in text


def test_an_untouched_run_holds_in_depth(audited: Audited) -> None:
    assert audited(deep=True)[0] == 0


@pytest.mark.parametrize(
    ("path", "deep"),
    [
        ("data/raw/digits/digits.csv.gz", False),
        ("data/raw/digits/fetched.json", False),
        ("data/arrays/digits.safetensors", True),
        ("results/quick/mini/partitions/K10.parquet", False),
        ("results/quick/mini/noises/closed-set/K10.parquet", False),
        ("results/quick/mini/noises/closed-set/K10.rates.parquet", False),
        (f"{PHASE}/checkpoint.safetensors", True),
        (f"{PHASE}/history.csv", False),
        (f"{TABLE}/cells.csv", False),
        (f"{TABLE}/tables/closed-set-accuracy-best.html", False),
        (f"{TABLE}/figures/closed-set-rounds.svg", False),
        (f"{REPORT}/index.html", False),
        ("reports/reference/mtae.yaml", False),
    ],
)
def test_one_flipped_bit_of_an_artefact_is_found(audited: Audited, path: str, deep: bool) -> None:
    flip(path)
    code, text = audited(deep=deep)
    assert code == 1
    assert first(text).startswith(f"broken: {path}: expected sha256 ")


def test_a_shallow_audit_looks_at_the_size_of_large_files(audited: Audited) -> None:
    path = f"{PHASE}/checkpoint.safetensors"
    flip(path)
    code, text = audited()
    assert code == 0
    assert "large ones by size alone" in text
    with Path(path).open("ab") as file:
        file.write(b"x")
    code, text = audited()
    assert code == 1
    assert first(text).startswith(f"broken: {path}: expected 1,048,577 bytes, found 1,048,578")


def test_one_flipped_bit_of_a_records_checksum_is_found(audited: Audited) -> None:
    place = f"{PHASE}/record.json"
    text = Path(place).read_text()
    flip(place, text.index('"sha256": "') + 12)
    code, text = audited()
    assert code == 1
    assert PHASE in first(text)


def test_what_nothing_else_tells_of_a_record_is_found_by_the_next_audit(audited: Audited) -> None:
    place = f"{PHASE}/record.json"
    audited()
    rewrite(place, machine=json.loads(Path(place).read_text())["machine"] | {"host": "elsewhere"})
    for _ in range(2):
        code, text = audited()
        assert code == 1
        assert first(text).startswith(f"broken: {place}: expected sha256 ")


def test_a_record_of_a_stage_that_has_run_again_is_not_edited(audited: Audited, plan: Plan) -> None:
    audited()
    time.sleep(0.002)
    tabulate(plan)
    assert audited()[0] == 0


def test_a_flipped_bit_of_the_lock_is_found(audited: Audited) -> None:
    flip("envs/requirements.lock")
    code, text = audited(deep=True)
    assert code == 2
    assert first(text).startswith("cannot tell: envs/requirements.lock: expected sha256 ")


def test_swapped_files_of_two_seeds_are_found(audited: Audited) -> None:
    one, other = (f"{RUNS}/seed{seed}/fedavg@2/history.csv" for seed in (0, 1))
    Path(one).rename("aside")
    Path(other).rename(one)
    Path("aside").rename(other)
    code, text = audited()
    assert code == 1
    assert first(text).startswith(f"broken: {one}: expected ")


def test_swapped_folders_of_two_seeds_are_found(audited: Audited) -> None:
    one, other = (f"{RUNS}/seed{seed}" for seed in (0, 1))
    Path(one).rename("aside")
    Path(other).rename(one)
    Path("aside").rename(other)
    code, text = audited()
    assert code == 1
    assert f"{one}/" in first(text)
    assert "expected a record of what made it" in first(text)


def test_a_record_of_another_seed_is_found(audited: Audited) -> None:
    parameters = json.loads(Path(f"{PHASE}/record.json").read_text())["parameters"]
    rewrite(f"{PHASE}/record.json", parameters=parameters | {"seed": 1})
    code, text = audited()
    assert code == 1
    assert first(text).startswith(f"broken: {PHASE}/record.json: expected seed 0, for the run of fedavg, found 1; ")


@pytest.mark.parametrize(
    ("record", "file"),
    [
        (f"{PHASE}/record.json", f"{PHASE}/"),
        ("data/raw/digits/record.json", "data/raw/digits/digits.csv.gz"),
        ("results/quick/mini/noises/closed-set/K10.parquet.record.json", "results/quick/mini/noises/closed-set/K10"),
        (f"{TABLE}/record.json", f"{TABLE}/record.json"),
        (f"{REPORT}/record.json", f"{REPORT}/record.json"),
    ],
)
def test_a_deleted_record_is_found(audited: Audited, record: str, file: str) -> None:
    Path(record).unlink()
    code, text = audited()
    assert code == 1
    assert file in first(text)


def test_a_deleted_artefact_is_found(audited: Audited) -> None:
    Path(f"{PHASE}/checkpoint.safetensors").unlink()
    code, text = audited()
    assert code == 1
    assert first(text).startswith(f"broken: {PHASE}/checkpoint.safetensors: expected the file of the record beside it")


def test_a_changed_clock_changes_nothing(audited: Audited) -> None:
    for path in Path().rglob("*"):
        os.utime(path, (1, 1))
    assert audited(deep=True)[0] == 0


@pytest.mark.parametrize(
    ("file", "at", "column"),
    [
        ("cells.csv", {"method": "top-loss", "metric": "macro_f1", "at": "last"}, "mean"),
        ("cells.csv", {"method": "top-loss", "metric": "accuracy", "at": "best"}, "gain_high"),
        ("cells.csv", {"method": "loss-threshold", "metric": "detection_recall"}, "low"),
        ("runs.csv", {"method": "fedavg", "seed": "1"}, "last-10_loss"),
        ("rounds.csv", {"method": "fedavg", "after_rounds": "4"}, "mean"),
        ("classes.csv", {"method": "fedavg", "class": "2"}, "mean"),
        ("participation.csv", {"method": "fedavg", "quantity": "refused_share"}, "high"),
    ],
)
def test_a_number_that_was_edited_together_with_its_record_is_computed_again(
    audited: Audited, file: str, at: dict[str, str], column: str
) -> None:
    edit_row(f"{TABLE}/{file}", at, {column: "0.8765"})
    renew(f"{TABLE}/record.json", f"{TABLE}/{file}")
    Path(f"{REPORT}/record.json").unlink()
    Path(f"{REPORT}/index.html").unlink()
    code, text = audited()
    assert code == 1
    assert first(text).startswith(f"broken: {TABLE}/{file}: ")
    assert f" {column}: expected 0." in first(text)
    assert "found 0.8765" in first(text)


@pytest.mark.parametrize(
    "name", ["accuracy-best", "K10-class-recall", "detection", "reconstruction", "K10-participation"]
)
def test_an_edited_cell_of_a_printed_table_is_found(audited: Audited, name: str) -> None:
    path = f"{TABLE}/tables/closed-set-{name}.csv"
    lines = Path(path).read_text().splitlines()
    head, _, rest = lines[1].rpartition(" ± ")
    lines[1] = f"{head} ± 9{rest}"
    Path(path).write_text("\n".join(lines) + "\n")
    renew(f"{TABLE}/record.json", path)
    code, text = audited()
    assert code == 1
    assert first(text).startswith(f"broken: {path}: ")


def test_a_row_that_was_taken_out_is_found(audited: Audited) -> None:
    path = f"{TABLE}/cells.csv"
    lines = Path(path).read_text().splitlines(keepends=True)
    Path(path).write_text("".join(lines[:3] + lines[4:]))
    renew(f"{TABLE}/record.json", path)
    code, text = audited()
    assert code == 1
    assert "expected a row, found none" in first(text)


def test_two_codes_of_one_method_in_a_table_are_found(audited: Audited) -> None:
    rewrite(f"{RUNS}/seed1/fedavg@2/record.json", code="f" * 64)
    code, text = audited()
    assert code == 1
    assert "seed1/fedavg@2/record.json: expected code " in first(text)
    assert "found ffffffffffff" in first(text)


def test_a_history_that_was_made_again_after_the_tables_is_found(audited: Audited) -> None:
    path = f"{PHASE}/history.csv"
    edit_row(path, {"round": "1"}, {"accuracy": "0.99"})
    renew(f"{PHASE}/record.json", path)
    code, text = audited()
    assert code == 1
    assert first(text).startswith(f"broken: {path}: expected sha256 ")
    assert f"which {TABLE}/record.json has read" in first(text)


def test_a_table_with_missing_runs_holds_and_says_how_many(audited: Audited, plan: Plan) -> None:
    shutil.rmtree(f"{RUNS}/seed2")
    tabulate(plan)
    Path(f"{REPORT}/record.json").unlink()
    Path(f"{REPORT}/index.html").unlink()
    code, text = audited()
    assert code == 0, text
    assert "3 runs missing" in text
    assert "6 of 9 runs" in text


def test_a_scale_that_was_not_run_cannot_be_told(audited: Audited) -> None:
    shutil.rmtree(REPORT)
    code, text = audited()
    assert code == 2
    assert "run this experiment first" in text


def test_a_stage_that_other_code_has_made_is_told_with_the_file_that_is_its_own(audited: Audited) -> None:
    rewrite("results/quick/mini/partitions/K10.parquet.record.json", code="f" * 64)
    code, text = audited(deep=True)
    assert code == 2
    assert first(text).startswith("cannot tell: ")
    assert "data/partition.py" in first(text).partition(": expected the code ffffffffffff that made partition")[0]
