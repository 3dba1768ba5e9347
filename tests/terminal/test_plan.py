"""The table of a plan."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import MINIATURE

from fedsift.terminal.plan import data_bytes, rows, size, total
from fedsift.workflow import Plan

ROOT = Path(__file__).parents[2]
HEAD, BODY = MINIATURE.split("  mini:\n")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.yaml").write_text(MINIATURE)
    return tmp_path


def shown(folder: Path, width: int, *arguments: str) -> str:
    command = [sys.executable, "-m", "fedsift", "plan", *arguments]
    env = {"COLUMNS": str(width), "PATH": ""}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("width", [80, 60, 200])
def test_names_are_never_cut_off(project: Path, width: int) -> None:
    names = ["digits-closed", "mnist-with-a-name-of-28-char", "q" * 60]
    (project / "config.yaml").write_text(HEAD + "".join(f"  {name}:\n{BODY}" for name in names))
    text = shown(project, width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    first = [line.split()[0] for line in text.splitlines() if line.strip()]
    if width >= 80:
        assert {"digits-closed", "mnist-with-a-name-of-28-char"} <= set(first)
    # A name that is too long for any terminal goes on in the next line.
    assert sum(word.count("q") for word in first) == 60


def test_the_numbers_of_the_quick_scale() -> None:
    text = shown(ROOT, 80)
    plan = json.loads(shown(ROOT, 80, "--json"))
    for row in plan["experiments"]:
        words = [row["experiment"], *(f"{row[key]:,}" for key in ("cells", "phases", "rounds_alone", "rounds"))]
        assert [*words, f"{row['saved']:.0%}"] == next(
            line.split()[:6] for line in text.splitlines() if line.split()[:1] == [row["experiment"]]
        )
    sums = {key: sum(row[key] for row in plan["experiments"]) for key in ("cells", "phases", "rounds_alone", "rounds")}
    whole = next(line.split() for line in text.splitlines() if line.split()[:1] == ["all"])
    assert whole[1:5] == [f"{value:,}" for value in sums.values()]


def test_one_experiment_needs_no_sum(project: Path) -> None:
    assert "all" not in shown(project, 80).split()


def test_a_row_counts_what_the_grid_holds(project: Path) -> None:
    plan = Plan.of_files([])
    (row,) = rows(plan)
    assert row.cells == len(list(plan.grid.cells())) == 6
    assert row.phases == len(plan.grid.phases) == 8
    assert row.rounds == sum(spec.stop - spec.start for spec in plan.grid.phases.values()) == 28
    assert row.rounds_alone == 36
    assert row.saved == pytest.approx(8 / 36)
    assert row.bytes == 8 * 4 * 22_891
    assert data_bytes(plan) == 1797 * (8 * 8 + 4)
    assert total([row, row]).rounds == 56


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (3.2e6, "3 MB"),
        (7.9e9, "8 GB"),
        (1.25e12, "1.2 TB"),
        (5e15, "5000.0 TB"),
    ],
)
def test_bytes_for_people(count: float, words: str) -> None:
    assert size(count) == words
