"""When a record is written, and when not."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fedsift.errors import FedsiftError
from fedsift.files import sha256
from fedsift.provenance.jobs import Job
from fedsift.provenance.record import Record, record_path
from fedsift.provenance.recording import command, recorded

CODE = "0" * 64
JOB = Job("train", "made", {"lr": 0.5}, ["in.bin"], ["made/a", "made/b"], CODE)
RECORD = Path("made/record.json")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["/usr/bin/fedsift", "train", "spec.json"])
    Path("in.bin").write_bytes(b"input")
    return tmp_path


def make(content: bytes = b"output") -> None:
    for output in JOB.outputs:
        Path(output).parent.mkdir(exist_ok=True)
        Path(output).write_bytes(content)


def test_a_record_describes_what_was_read_and_made() -> None:
    with recorded(JOB) as remarks:
        make()
        remarks.device, remarks.resumed_from = "cpu", 4
    record = Record.read(RECORD)
    assert [(file.path, file.sha256, file.size) for file in record.outputs] == [
        (path, sha256(path), 6) for path in JOB.outputs
    ]
    assert [(file.path, file.sha256, file.size) for file in record.inputs] == [("in.bin", sha256("in.bin"), 5)]
    assert (record.stage, record.parameters, record.code, record.missing) == ("train", {"lr": 0.5}, CODE, [])
    assert record.command == ["fedsift", "train", "spec.json"]
    assert (record.device, record.resumed_from) == ("cpu", 4)
    assert record.started <= record.ended
    assert sorted(path.name for path in Path("made").iterdir()) == ["a", "b", "record.json"]


def test_the_old_record_is_gone_before_the_stage_begins() -> None:
    with recorded(JOB):
        make()
    with recorded(JOB):
        assert not RECORD.exists()
        make(b"other")
    assert Record.read(RECORD).outputs[0].sha256 == sha256("made/a")


@pytest.mark.parametrize("error", [FedsiftError("no"), KeyError("fault"), KeyboardInterrupt(), SystemExit(3)])
def test_a_failed_stage_leaves_no_record(error: BaseException) -> None:
    with recorded(JOB):
        make()

    def fail() -> None:
        make(b"half")
        raise error

    with pytest.raises(type(error)), recorded(JOB):
        fail()
    assert not RECORD.exists()


def test_an_output_that_was_not_made_is_a_fault() -> None:
    with pytest.raises(FileNotFoundError), recorded(JOB):
        pass
    assert not RECORD.exists()


def change() -> None:
    Path("in.bin").write_bytes(b"INPUT")


def change_and_hide_it() -> None:
    stat = Path("in.bin").stat()
    Path("new").write_bytes(b"INPUT")
    os.utime("new", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    Path("new").replace("in.bin")


@pytest.mark.parametrize("act", [change, change_and_hide_it, lambda: Path("in.bin").unlink()])
def test_an_input_that_changes_under_a_stage_is_an_error(act: Callable[[], None]) -> None:
    make()
    with (
        pytest.raises(FedsiftError, match=r"^in\.bin: it was changed while `fedsift train` ran; run that again\.$"),
        recorded(JOB),
    ):
        act()
    assert not RECORD.exists()


def test_an_input_that_comes_under_a_stage_is_an_error() -> None:
    job = replace(JOB, inputs=["in.bin", "late.bin"])
    make()
    with pytest.raises(FedsiftError, match=r"^late\.bin: it was changed while"), recorded(job):
        Path("late.bin").touch()


def test_a_touched_input_is_the_same_input() -> None:
    with recorded(JOB):
        os.utime("in.bin")
        make()
    assert Record.read(RECORD).inputs[0].size == 5


def test_missing_inputs_are_told() -> None:
    with recorded(replace(JOB, inputs=["in.bin", "gone/history.csv"])):
        make()
    record = Record.read(RECORD)
    assert [file.path for file in record.inputs] == ["in.bin"]
    assert record.missing == ["gone/history.csv"]


def test_a_single_file_has_its_record_beside_it() -> None:
    job = replace(JOB, made="x.parquet", outputs=["x.parquet", "x.rates.parquet"])
    with recorded(job):
        for output in job.outputs:
            Path(output).write_bytes(b"")
    assert record_path(job.made) == "x.parquet.record.json"
    assert len(Record.read("x.parquet.record.json").outputs) == 2


def test_arguments_that_are_not_text() -> None:
    assert command(["python", os.fsdecode(b"sp\xff.json"), "ä"]) == ["fedsift", "sp\\udcff.json", "ä"]


KILLED = """
import os, signal, sys
from pathlib import Path
from fedsift.provenance import recording
from fedsift.provenance.jobs import Job
def kill(*_):
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[1] == "before":
    recording.write_text = kill
else:
    Path.replace = kill
job = Job("train", "made", {}, [], ["made/a"], "0" * 64)
with recording.recorded(job):
    Path("made/a").write_bytes(b"new")
"""


@pytest.mark.parametrize("moment", ["before", "within"])
def test_killed_between_outputs_and_record(moment: str) -> None:
    with recorded(JOB):
        make()
    done = subprocess.run([sys.executable, "-c", KILLED, moment], check=False)
    assert done.returncode == -signal.SIGKILL
    assert Path("made/a").read_bytes() == b"new"
    assert not RECORD.exists()


def test_an_input_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> str:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("fedsift.provenance.recording.sha256", refuse)
    with (
        pytest.raises(FedsiftError, match=r"^in\.bin: permission denied; make it readable and run again\.$"),
        recorded(JOB),
    ):
        make()
