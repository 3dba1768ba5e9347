"""Runs that are killed, doubled or broken."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from checkout import MINIATURE, PHASES, Checkout

pytestmark = pytest.mark.slow

BROKEN = """\
from fedsift.methods.from_start import FromStart


class Broken(FromStart):
    def select(self, round_, client, signals, rng):
        raise ValueError("on purpose")


METHOD = Broken
"""


def wait_for(condition: Callable[[], object], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


@pytest.mark.parametrize("moment", ["resume.safetensors", "history.csv", "partitions/K10.parquet"])
def test_a_killed_run_goes_on_to_the_same_bytes(finished: Checkout, tmp_path: Path, moment: str) -> None:
    checkout = Checkout.new(tmp_path / "killed")
    process = checkout.start("fedsift", "run", "--", "--cores", "2")
    wait_for(lambda: list(checkout.folder.glob(f"**/{moment}")) or process.poll() is not None)
    assert process.poll() is None, "it ended before it could be killed"
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    checkout.reproduce("--cores", "2")
    assert checkout.published() == finished.published()


def test_a_second_controller_is_told_of_the_first(copy: Checkout) -> None:
    copy.run("fedsift", "config")
    (copy.folder / "reports/quick/index.html").unlink()
    (copy.folder / "reports/quick/mini/cells.csv").unlink()
    first = copy.start("snakemake", "--profile", "profiles/local")
    lock = copy.folder / ".fedsift/workflow.lock"
    wait_for(lambda: lock.exists() and lock.read_text().strip() == str(first.pid))
    text = copy.run("snakemake", "--profile", "profiles/local", code=1)
    assert f"another run is at work in this folder (process {first.pid})" in text
    first.communicate()
    assert first.returncode == 0


def test_a_failed_method_leaves_the_others_and_says_why(tmp_path: Path) -> None:
    config = MINIATURE.replace("top-loss]", "top-loss, broken]").replace("[0, 1]", "[0]")
    checkout = Checkout.new(tmp_path / "broken", config + "method_folders: [mine]\n")
    (checkout.folder / "mine").mkdir()
    (checkout.folder / "mine/broken.py").write_text(BROKEN)
    text = checkout.reproduce("--cores", "2", code=1)
    assert "3 of 4 cells done, 1 not" in text
    assert "ValueError: on purpose" in text
    cells = pd.read_csv(checkout.folder / "reports/quick/mini/cells.csv").set_index("method")
    assert cells.loc["broken", "mean"].isna().all()
    assert cells.loc["broken", "missing"].str.contains("on purpose").all()
    assert cells.loc["top-loss", "mean"].notna().all()
    assert "on purpose" in (checkout.folder / "reports/quick/index.html").read_text()

    fixed = BROKEN.replace('raise ValueError("on purpose")', "return None")
    (checkout.folder / "mine/broken.py").write_text(fixed)
    assert "4 of 4 cells done" in checkout.reproduce("--cores", "2")


def test_a_diverged_run_is_a_result_of_its_own(tmp_path: Path) -> None:
    config = MINIATURE.replace("lr: 0.5", "lr: 1.0e+30").replace("[0, 1]", "[0]")
    checkout = Checkout.new(tmp_path / "diverged", config)
    text = checkout.reproduce("--cores", "2")
    assert "0 of 3 cells done, 3 not" in text
    assert "diverged" in text
    cells = pd.read_csv(checkout.folder / "reports/quick/mini/cells.csv")
    assert cells["mean"].isna().all()


def test_a_dry_run_beside_a_run_reads_and_changes_nothing(copy: Checkout) -> None:
    config = copy.folder / "config.yaml"
    before = config.read_text()
    hold = "import time; from fedsift.workflow import hold_lock; l = hold_lock(); print(flush=True); time.sleep(100)"
    holder = copy.start("python", "-c", hold)
    assert holder.stdout
    holder.stdout.readline()
    try:
        assert copy.would_run() == set()
        config.write_text(before.replace("lr: 0.5", "lr: 0.4"))
        text = copy.run("snakemake", "--profile", "profiles/local", "-n", code=1)
        assert "the configuration has changed, so that even a dry run must wait" in text
    finally:
        holder.kill()
        holder.wait()
    assert copy.phases_to_run() == PHASES
