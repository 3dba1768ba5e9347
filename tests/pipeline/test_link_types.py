"""Snakemake and DVC agree, whatever links the cache uses: eight scenarios that go wrong without the sync.

DVC moves clocks whenever it writes a file, Snakemake's memory stays behind in the folder, and links share their bytes
with the cache.
"""

import os
import shutil
from collections.abc import Callable

import pandas as pd
import pytest
from checkout import PHASES, edit
from repository import CLEAN, Repository

pytestmark = pytest.mark.slow

STATISTICS = "src/fedsift/results/statistics.py"
TABLES = {"reports/quick/mini/cells.csv", "reports/quick/index.html"}
LOSS_THRESHOLD = {phase for phase in PHASES if "loss-threshold" in phase}

Clone = Callable[..., Repository]


@pytest.fixture(params=["hardlink", "copy", "symlink"])
def clone(origin: Repository, request: pytest.FixtureRequest) -> Clone:
    """``clone()``: a new clone of the undisturbed run with this link type, pulled."""

    def made(pull: bool = True) -> Repository:
        return origin.clone(f"{request.node.name}".replace("[", "-").rstrip("]"), request.param, pull)

    return made


def half_widths(repository: Repository) -> list[float]:
    cells = pd.read_csv(repository.folder / "reports/quick/mini/cells.csv")
    return list((cells["high"] - cells["low"]).dropna())


def test_1_a_fresh_clone_has_nothing_to_do(clone: Clone) -> None:
    fresh = clone()
    assert fresh.is_settled()
    assert "didn't change" in fresh.dvc("repro")
    assert not fresh.git("status", "--porcelain")


def test_2_touching_runs_nothing(clone: Clone) -> None:
    touched = clone()
    for path in touched.folder.rglob("*"):
        if path.is_file() and not {".git", ".dvc"} & {*path.parts} and not path.is_symlink():
            os.utime(path)
    assert touched.is_settled()


def test_3_edited_code_is_run_by_dvc_repro(clone: Clone) -> None:
    edited = clone()
    before = half_widths(edited)
    edit(edited.folder / STATISTICS, "0.95", "0.5")
    edited.dvc("repro")
    # Where both seeds have the same value there is nothing to narrow.
    pairs = [(new, old) for new, old in zip(half_widths(edited), before, strict=True) if old > 0]
    assert len(pairs) > 10
    assert all(new < old for new, old in pairs)
    assert edited.is_settled()
    assert not edited.damaged()


def test_4_and_5_a_changed_parameter_and_the_way_back(clone: Clone) -> None:
    changed = clone()
    before = changed.published()
    with open(changed.folder / "config.yaml", "a", encoding="utf-8") as file:
        file.write("methods: {loss-threshold: {lss: 0.2}}\n")
    assert changed.phases_to_run() == LOSS_THRESHOLD
    changed.reproduce("--cores", "1")
    after = changed.published()
    assert after != before
    changed.dvc("commit", "--force", "--quiet")
    assert changed.is_settled()
    changed.commit("another option")
    for commit, there in (("HEAD~1", before), ("main", after)):
        changed.git("checkout", "--quiet", commit)
        changed.dvc("checkout", "--quiet")
        assert changed.published() == there
        assert changed.is_settled()
    assert not changed.damaged()


def test_6_an_experiment_in_a_folder_of_its_own(clone: Clone) -> None:
    base = clone()
    before = base.published()
    base.dvc("exp", "run", "--temp", "--name", "other", "--set-param", "config.yaml:+experiments.mini.margin=0.25")
    assert base.published() == before
    base.dvc("exp", "apply", "other")
    assert "0.25" in (base.folder / "reports/quick/mini/record.json").read_text()
    assert base.is_settled()
    base.git("checkout", "--quiet", ".")
    base.dvc("checkout", "--quiet")
    assert base.published() == before
    assert base.is_settled()


def test_7_an_edit_before_the_pull_is_seen_after_it(clone: Clone) -> None:
    edited = clone(pull=False)
    edit(edited.folder / STATISTICS, "0.95", "0.5")
    edited.dvc("pull", "--quiet")
    assert edited.would_run() >= TABLES
    assert CLEAN not in edited.dvc("status")


def test_8_a_foreign_file_in_place_of_an_output_is_made_again(clone: Clone) -> None:
    """It is older than everything that is made of it, and nothing remembers the one before."""
    mixed = clone()
    phase = "results/quick/mini/runs/closed-set/K10/seed0/fedavg@2"
    history = mixed.folder / phase / "history.csv"
    history.unlink()
    shutil.copy(mixed.folder / phase / "fedavg@6/history.csv", history)
    os.utime(history, (0, 0))
    shutil.rmtree(mixed.folder / ".snakemake", ignore_errors=True)
    assert phase in mixed.phases_to_run()
    assert "history.csv is not the file that its record names" in mixed.run(
        "snakemake", "--profile", "profiles/local", "--dry-run"
    )
