"""A grid of the paper's size is audited in seconds."""

import time
from pathlib import Path

import pytest
from audit.made import CONFIG, asked, make

from fedsift.audit.command import run

pytestmark = pytest.mark.slow

RUNS = 700
GRID = {
    "clients: [10]": "clients: [10, 20, 50, 100]",
    "methods: [fedavg, loss-threshold, top-loss]": "methods: [fedavg, loss-threshold, top-loss, oracle, random-drop]",
    "seeds: [0, 1, 2]": f"seeds: {[*range(35)]}",
    "rounds: 6": "rounds: 1000",
    "samples: 300}": "samples: 1400}",
}


def test_seven_hundred_runs_are_audited_in_ten_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of 1000 rounds each, tested every other round. Seconds of this process, since the machine may be shared."""
    config = CONFIG
    for old, new in GRID.items():
        assert old in config
        config = config.replace(old, new)
    plan = make(tmp_path / "grid", monkeypatch, config)
    assert len(list(plan.grid.cells())) == RUNS
    began = time.process_time()
    code = run(asked())
    took = time.process_time() - began
    out = capsys.readouterr().out
    assert code == 0, out
    assert f"{RUNS} of {RUNS} runs" in out
    assert took < 10
    print(f"{took:.2f} s")
