"""What is asked of the command beside the checks themselves: cells, certificates, published folders, replay."""

import json
import shutil
from pathlib import Path

import pytest
from audit.conftest import Audited
from audit.made import REPORT, RUNS, TABLE

from fedsift.audit import replay
from fedsift.errors import FedsiftError
from fedsift.workflow import Plan

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "cell",
    ["mini/closed-set/K10/top-loss", "MINI/closed-set/10/top-loss/", "mini/closed-set/k10/top-loss/macro-f1/last"],
)
def test_the_chain_of_a_cell(audited: Audited, cell: str) -> None:
    code, text = audited(cell=cell)
    assert code == 0
    lines = text.splitlines()
    assert lines[0] == "mini/closed-set/K10/top-loss"
    assert sum("seed " in line and ": " in line for line in lines) == 3
    for stage in ("train", "noise", "partition", "read", "fetch"):
        assert any(f"── {stage}: " in line for line in lines)
    assert "data/raw/digits/digits.csv.gz: sha256 " in text


def test_the_chain_of_a_cell_for_machines(audited: Audited) -> None:
    code, text = audited(cell="mini/closed-set/K10/fedavg/accuracy/best", as_json=True)
    note = json.loads(text)
    assert code == 0
    assert note["cell"] == "mini/closed-set/K10/fedavg"
    assert note["from"][0]["n"] == 3


@pytest.mark.parametrize(
    ("cell", "word"),
    [
        ("mini/closed-set/K10/toploss", "did you mean mini/closed-set/K10/top-loss"),
        ("", "no such cell"),
        ("mini/closed-set/K10/fedavg/acuracy", "did you mean accuracy"),
        ("mini/closed-set/K10/fedavg/accuracy/first", "no such round 'first'"),
    ],
)
def test_a_cell_that_is_none_is_one_sentence(audited: Audited, cell: str, word: str) -> None:
    with pytest.raises(FedsiftError, match=word) as error:
        audited(cell=cell)
    assert "\n" not in str(error.value)


def test_a_certificate_says_what_was_checked(audited: Audited) -> None:
    code, text = audited()
    assert text.splitlines()[-1] == f"quick: holds; certificate: {REPORT}/audit.html"
    note = json.loads(Path(f"{REPORT}/audit.json").read_text())
    (table,) = note["tables"]
    assert (note["result"], note["exit_code"], code) == ("holds", 0, 0)
    assert sum(table["files"].values()) == table["numbers"] > 1000
    assert len(note["records"]) == table["records"]
    page = Path(f"{REPORT}/audit.html").read_text()
    assert "<strong>quick</strong>: holds." in page
    assert "http" not in page


def test_the_certificate_for_machines_is_the_one_that_is_written(audited: Audited) -> None:
    _, text = audited(as_json=True)
    printed, written = json.loads(text), json.loads(Path(f"{REPORT}/audit.json").read_text())
    assert {**printed, "when": ""} == {**written, "when": ""}


def test_a_published_part_is_told_as_far_as_it_goes(audited: Audited, tmp_path: Path) -> None:
    """Histories, records and tables, but neither checkpoints nor data."""
    root = tmp_path / "published"
    shutil.copytree("results", root / "results", ignore=shutil.ignore_patterns("*.safetensors", "*.parquet"))
    shutil.copytree("data", root / "data", ignore=shutil.ignore_patterns("*.safetensors", "*.gz", "fetched.json"))
    shutil.copytree(TABLE, root / "mini", ignore=shutil.ignore_patterns("*.html", "*.png"))
    code, text = audited(root=root)
    assert code == 2
    assert text.startswith("mini: holds; ")
    assert "9 of 9 runs" in text
    assert "of the records' files not here" in text
    assert not (root / "audit.json").exists()

    (root / RUNS / "seed1/fedavg@2/history.csv").write_text("x")
    code, text = audited(root=root)
    assert code == 1
    assert f"broken: {RUNS}/seed1/fedavg@2/history.csv: expected " in text


def test_a_folder_without_tables_is_one_sentence(audited: Audited, tmp_path: Path) -> None:
    with pytest.raises(FedsiftError, match="no folder in it holds tables"):
        audited(root=tmp_path / "nothing")


def test_the_published_results_hold_as_far_as_they_are_here(audited: Audited) -> None:
    code, text = audited(root=ROOT / "reports/published/emfedavg")
    assert code == 2
    assert "mnist-shards: holds; " in text
    assert "mnist-shards-unequal: holds; " in text
    assert "broken: " not in text


def test_another_configuration_is_told_of(audited: Audited) -> None:
    Path("config.yaml").write_text(Path("config.yaml").read_text().replace("seeds: [0, 1, 2]", "seeds: [0, 1]"))
    code, text = audited(deep=True)
    assert code == 2
    assert f"cannot tell: {TABLE}: expected seeds as configured, [0, 1], found [0, 1, 2]" in text


def test_phases_without_their_inputs_are_not_drawn(audited: Audited, plan: Plan, tmp_path: Path) -> None:
    Path("data/arrays/digits.safetensors").unlink()
    code, text = audited(replay=2)
    assert code == 1
    assert "replay: 0 of 2 phases: of 12, 0 have their inputs here" in text


def test_a_phase_that_cannot_be_executed_is_one_sentence(audited: Audited) -> None:
    """The arrays are made up, so that training refuses them."""
    code, text = audited(replay=1, seed=3)
    assert code == 1
    assert ": expected that it can be executed again, found error: " in text
    assert "Traceback" not in text


def test_histories_of_another_machine_are_compared_within_a_tolerance(tmp_path: Path) -> None:
    for name, value in (("a", 0.5), ("b", 0.51)):
        head = ",".join(replay.SHARES)
        (tmp_path / name).write_text(f"{head}\n,,,,\n{','.join([str(value)] * 5)}\n")
    assert replay.distance(tmp_path / "a", tmp_path / "b") == pytest.approx(0.01)
    (tmp_path / "b").write_text(f"{','.join(replay.SHARES)}\n,,,,\n,,,,\n")
    assert replay.distance(tmp_path / "a", tmp_path / "b") == float("inf")
