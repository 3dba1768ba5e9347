"""Records in the workflow: every job leaves one, none re-runs anything, and a job without one is not done."""

import os
import signal
import time
from pathlib import Path

import pytest
from checkout import PHASES, Checkout, edit

from fedsift.files import sha256
from fedsift.provenance.record import Record

pytestmark = pytest.mark.slow

ROOT_PHASE = "results/quick/mini/runs/closed-set/K10/seed0/fedavg@2"


def records(checkout: Checkout) -> list[Path]:
    return sorted(checkout.folder.rglob("*record.json"))


def test_every_job_of_a_run_leaves_a_record_of_the_bytes(finished: Checkout) -> None:
    assert len(records(finished)) == 4 + len(PHASES) + 2
    for path in records(finished):
        for file in Record.read(path).outputs:
            assert sha256(finished.folder / file.path) == file.sha256


def test_the_bytes_of_a_record_re_run_nothing(copy: Checkout) -> None:
    for path in records(copy):
        path.write_text(path.read_text() + "\n")
    assert copy.would_run() == set()


def test_editing_how_records_are_written_re_runs_nothing(copy: Checkout) -> None:
    for path in (copy.folder / "src/fedsift/provenance").glob("record*.py"):
        path.write_text(path.read_text() + "\nADDED = 1\n")
    assert copy.would_run() == set()


def test_a_job_whose_record_is_gone_runs_again_and_what_is_made_of_it(copy: Checkout) -> None:
    """Snakemake plans the consumers too, before it can see that the outputs come out with the same bytes."""
    before = copy.published()
    (copy.folder / ROOT_PHASE / "record.json").unlink()
    assert copy.phases_to_run() == {phase for phase in PHASES if phase.startswith(ROOT_PHASE)}
    copy.reproduce("--cores", "2")
    assert copy.would_run() == set()
    assert copy.published() == before
    assert len(records(copy)) == 4 + len(PHASES) + 2


def test_a_run_that_is_killed_before_a_record_makes_the_job_again(copy: Checkout) -> None:
    before = copy.published()
    recording = copy.folder / "src/fedsift/provenance/recording.py"
    edit(recording, "    write_text(path, record.text())", "    time.sleep(100)\n    write_text(path, record.text())")
    child = f"{ROOT_PHASE}/top-loss@6"
    (copy.folder / child / "history.csv").unlink()
    (copy.folder / child / "record.json").unlink()
    process = copy.start("fedsift", "run", "--", "--cores", "1")
    end = time.monotonic() + 120
    while not (copy.folder / child / "history.csv").exists():
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (copy.folder / child / "record.json").exists()
    edit(recording, "    time.sleep(100)\n", "")
    assert copy.phases_to_run() == {child}
    copy.reproduce("--cores", "2")
    assert copy.published() == before


def test_a_stage_that_cannot_write_its_record_has_failed(copy: Checkout) -> None:
    recording = copy.folder / "src/fedsift/provenance/recording.py"
    edit(
        recording, "    write_text(path, record.text())", "    raise OSError(28, 'No space left on device', str(path))"
    )
    child = f"{ROOT_PHASE}/top-loss@6"
    (copy.folder / child / "record.json").unlink()
    copy.run("snakemake", "--profile", "profiles/local", f"{child}/record.json", code=1)
    assert not list((copy.folder / child).glob("*.*"))
