"""The real command, and what schedulers do to it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from training.tiny import spec_of

from fedsift.errors import FedsiftError
from fedsift.specs import Settings
from fedsift.training.run import train

OUTPUTS = ("checkpoint.safetensors", "history.csv")


def start(rounds: int = 10) -> "subprocess.Popen[str]":
    """``fedsift train`` on the specification in the working directory."""
    Path("settings.json").write_text(Settings(device="cpu", checkpoint_rounds=rounds).text())
    return subprocess.Popen(
        [sys.executable, "-m", "fedsift", "train", "spec.json", "--settings", "settings.json"],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish(process: "subprocess.Popen[str]", code: int) -> str:
    output, _ = process.communicate(timeout=120)
    assert process.returncode == code, output
    return output


def wait_for_round(phase: str, wanted: int) -> None:
    progress, deadline = Path(".fedsift/runs") / phase / "progress.json", time.monotonic() + 120
    while time.monotonic() < deadline:
        if progress.exists() and json.loads(progress.read_text())["done"] >= wanted:
            return
        time.sleep(0.005)
    raise AssertionError("the run did not get anywhere")


@pytest.mark.slow
def test_killed_in_the_middle_changes_no_byte(world: Path) -> None:
    """SIGTERM, then SIGKILL, then to the end; with a second process that is refused in between."""
    spec = spec_of("loss-ocsvm", {"start": 5}, phase="runs/p", stop=120, rounds=120)
    Path("spec.json").write_text(spec.text())
    finish(start(), 0)
    undisturbed = [(Path(spec.phase) / name).read_bytes() for name in OUTPUTS]
    for name in OUTPUTS:
        (Path(spec.phase) / name).unlink()
    Path(".fedsift/runs/runs/p/progress.json").unlink()

    process = start()
    wait_for_round(spec.phase, 20)
    with pytest.raises(FedsiftError, match="another process is training this phase"):
        train(spec, "code", "cpu")
    process.send_signal(signal.SIGTERM)
    stopped = finish(process, 1)
    assert "stopped by a signal after round" in stopped.splitlines()[-1]
    assert "Traceback" not in stopped

    done = json.loads(Path(".fedsift/runs/runs/p/progress.json").read_text())["done"]
    process = start(rounds=3)
    wait_for_round(spec.phase, done + 8)
    process.kill()
    finish(process, -signal.SIGKILL)
    assert not any((Path(spec.phase) / name).exists() for name in OUTPUTS)

    finish(start(), 0)
    assert [(Path(spec.phase) / name).read_bytes() for name in OUTPUTS] == undisturbed
    assert sorted(path.name for path in Path(spec.phase).iterdir()) == sorted([*OUTPUTS, "record.json"])
