import csv
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from training.tiny import spec_of

from fedsift import models
from fedsift.errors import FedsiftError
from fedsift.methods import registry
from fedsift.specs import TrainSpec
from fedsift.training import checkpoint
from fedsift.training.loop import Federation
from fedsift.training.run import Interrupted, train

STATE = Path("state")


class CrashError(Exception):
    """What no code expects."""


def run(spec: TrainSpec, code: str = "code", rounds: int = 10, seconds: float = 60.0) -> None:
    train(spec, code, "cpu", seconds, rounds, state=STATE, report=lambda line: None)


def outputs(spec: TrainSpec) -> tuple[bytes, bytes]:
    folder = Path(spec.phase)
    return (folder / "checkpoint.safetensors").read_bytes(), (folder / "history.csv").read_bytes()


def clear(spec: TrainSpec) -> None:
    for file in Path(spec.phase).iterdir():
        file.unlink()


def history(spec: TrainSpec) -> list[dict[str, str]]:
    with (Path(spec.phase) / "history.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def resume_of(spec: TrainSpec) -> Path:
    return STATE / spec.phase / "resume.safetensors"


@pytest.fixture
def before_round(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[int], None]], list[int]]:
    """Have something happen before every round; gives the rounds that were begun."""
    plain = Federation.round

    def install(act: Callable[[int], None]) -> list[int]:
        begun: list[int] = []

        def watched(self: Federation, round_: int) -> Any:
            begun.append(round_)
            act(round_)
            return plain(self, round_)

        monkeypatch.setattr(Federation, "round", watched)
        return begun

    return install


def crash_at(wanted: int) -> Callable[[int], None]:
    def act(round_: int) -> None:
        if round_ == wanted:
            raise CrashError

    return act


def test_outputs_of_a_phase(world: Path) -> None:
    spec = spec_of(stop=6)
    run(spec, rounds=2)
    made = checkpoint.load(Path(spec.phase) / "checkpoint.safetensors")
    assert (made.note["round"], made.note["status"]) == (6, "ok")
    assert made.model.keys() == models.build("mtae-digits", 10, 0).state_dict().keys()
    assert [row["round"] for row in history(spec)] == list("012345")
    assert [row["round"] for row in history(spec) if row["accuracy"]] == ["0", "4"]
    assert sorted(path.name for path in Path(spec.phase).iterdir()) == ["checkpoint.safetensors", "history.csv"]
    assert not resume_of(spec).exists()


def test_running_again_gives_the_same_bytes(world: Path) -> None:
    """Also when the resume point is written more often, and whatever the global generators hold."""
    spec = spec_of("loss-iforest", {"start": 2}, stop=8)
    run(spec)
    first = outputs(spec)
    clear(spec)
    torch.manual_seed(5)
    np.random.seed(5)
    run(spec, rounds=1, seconds=1e-9)
    assert outputs(spec) == first


@pytest.mark.parametrize(
    ("method", "options", "rounds"),
    [
        ("fedavg", {}, 3),
        ("loss-threshold", {"start": 2, "tw": 1}, 1),
        ("loss-ocsvm", {"start": 2, "refit_every": 3}, 3),
        ("loss-iforest", {"start": 2, "refit_every": 3, "trains_at_start": False}, 1),
        ("svdd", {"start": 2, "lambda_reg": 0.1}, 3),
        ("svdd+feature-iforest", {"start": 4, "refit_every": 3, "svdd": {"start": 2, "lambda_reg": 0.1}}, 1),
    ],
)
def test_crash_in_any_round_changes_no_byte(
    world: Path, before_round: Any, method: str, options: dict[str, Any], rounds: int
) -> None:
    spec = spec_of(method, options, stop=7)
    run(spec)
    undisturbed = outputs(spec)
    for crash in range(7):
        clear(spec)
        before_round(crash_at(crash))
        with pytest.raises(CrashError):
            run(spec, rounds=rounds)
        assert list(Path(spec.phase).iterdir()) == []
        begun = before_round(lambda round_: None)
        run(spec, rounds=rounds)
        assert outputs(spec) == undisturbed, f"after a crash in round {crash}"
        assert begun[0] == crash - crash % rounds, "it continues from the last resume point"


def test_many_crashes_on_end(world: Path, before_round: Any) -> None:
    spec = spec_of("loss-ocsvm", {"start": 2, "refit_every": 3}, stop=9)
    run(spec)
    undisturbed = outputs(spec)
    clear(spec)
    for crash in (1, 3, 4, 8):
        before_round(crash_at(crash))
        with pytest.raises(CrashError):
            run(spec, rounds=1)
    before_round(lambda round_: None)
    run(spec)
    assert outputs(spec) == undisturbed


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2])
def test_stop_signal_saves_and_the_next_run_continues(world: Path, before_round: Any, number: int) -> None:
    """submitit#1708: schedulers send different ones."""
    spec = spec_of("loss-threshold", {"start": 2, "tw": 1}, stop=7)
    run(spec)
    undisturbed = outputs(spec)
    clear(spec)
    handler = signal.getsignal(number)
    before_round(lambda round_: os.kill(os.getpid(), number) if round_ == 3 else None)
    with pytest.raises(Interrupted, match="stopped by a signal after round 3; run again to continue"):
        run(spec)
    assert signal.getsignal(number) is handler
    begun = before_round(lambda round_: None)
    run(spec)
    assert begun == [4, 5, 6]
    assert outputs(spec) == undisturbed


def test_stop_signal_in_the_last_round_lets_it_finish(world: Path, before_round: Any) -> None:
    spec = spec_of(stop=3)
    before_round(lambda round_: os.kill(os.getpid(), signal.SIGTERM) if round_ == 2 else None)
    run(spec)
    assert len(history(spec)) == 3


@pytest.mark.parametrize(
    ("method", "options"),
    [
        *((name, {}) for name in registry.names()),
        ("loss-threshold", {"trains_at_start": False}),
        ("loss-ocsvm", {"trains_at_start": False}),
    ],
)
def test_shared_prefix_equals_an_unshared_run(world: Path, method: str, options: dict[str, Any]) -> None:
    """Each phase of the lineage on its own, against the method alone from round 0 to the end, bit for bit."""
    cls = registry.load(registry.find(method))
    lineage = cls.lineage(cls.Options.model_validate(options), 12)
    alone = spec_of(method, options, phase="alone")
    run(alone)
    parent, start, rows = None, 0, []
    for step in [*lineage, (method, options, 12)]:
        phase = f"{parent or 'shared'}/{step[0]}@{step[2]}"
        spec = spec_of(step[0], dict(step[1]), phase=phase, parent=parent, start=start, stop=step[2])
        run(spec)
        parent, start = phase, step[2]
        rows += history(spec)
    assert rows == history(alone)
    shared, unshared = (checkpoint.load(Path(phase) / "checkpoint.safetensors") for phase in (parent, "alone"))
    assert all(torch.equal(shared.model[name], value) for name, value in unshared.model.items())
    assert shared.method.keys() == unshared.method.keys()
    assert all(np.array_equal(shared.method[name], value, equal_nan=True) for name, value in unshared.method.items())
    assert method == "fedavg" or len({row["used"] for row in rows}) > 1


@pytest.mark.parametrize("method", [name for name in registry.names() if name != "fedavg"])
def test_methods_differ_from_fedavg_after_their_start(world: Path, method: str) -> None:
    """Otherwise the test above could not fail."""
    for name in ("fedavg", method):
        run(spec_of(name, phase=name))
    states = [checkpoint.load(Path(name) / "checkpoint.safetensors").model for name in ("fedavg", method)]
    assert not all(torch.equal(states[0][name], states[1][name]) for name in states[0])


def test_diverged_run_ends_and_so_do_its_children(world: Path, before_round: Any) -> None:
    spec = spec_of(phase="parent", stop=4, training={"lr": 1e30})
    begun = before_round(lambda round_: None)
    run(spec)
    assert begun == [0]
    assert [row["status"] for row in history(spec)] == ["diverged"]
    made = checkpoint.load(Path("parent/checkpoint.safetensors"))
    assert (made.note["status"], made.note["round"]) == ("diverged", 4)
    child = spec_of("loss-ocsvm", {"start": 4}, parent="parent", start=4, training={"lr": 1e30})
    run(child)
    assert begun == [0]
    assert history(child) == []
    made = checkpoint.load(Path(child.phase) / "checkpoint.safetensors")
    assert (made.note["status"], made.note["round"]) == ("diverged", 12)


def test_diverging_later_keeps_the_rounds_before(world: Path, before_round: Any, monkeypatch: Any) -> None:
    """The same bytes, too, if the process is killed between the last round and its outputs."""
    plain = Federation.round

    def poisoned(self: Federation, round_: int) -> Any:
        if round_ == 2:
            next(iter(self.state.values())).fill_(torch.inf)
        return plain(self, round_)

    monkeypatch.setattr(Federation, "round", poisoned)
    spec = spec_of(stop=6)
    run(spec, rounds=1)
    assert [row["status"] for row in history(spec)] == ["ok", "ok", "diverged"]
    first = outputs(spec)
    clear(spec)
    with monkeypatch.context() as patch:
        patch.setattr("fedsift.training.run.write_history", lambda *_: (_ for _ in ()).throw(CrashError()))
        with pytest.raises(CrashError):
            run(spec, rounds=1)
    run(spec, rounds=1)
    assert outputs(spec) == first


def relabel() -> None:
    """Other noise in the file of the same name."""
    noise = pd.read_parquet("noise.parquet")
    Path("noise.parquet").unlink()
    noise.assign(label=(noise["label"] + 3) % 10).to_parquet("noise.parquet")


@pytest.mark.parametrize("changed", ["code", "seed", "noise", "nothing"])
def test_resume_point_of_something_else_is_not_used(world: Path, before_round: Any, changed: str) -> None:
    """PFLlib#223: results of two code versions never mix silently. Nor those of two noise tables."""
    before_round(crash_at(4))
    with pytest.raises(CrashError):
        run(spec_of(phase="p", stop=6), rounds=1)
    assert resume_of(spec_of(phase="p")).exists()
    if changed == "noise":
        relabel()
    spec = spec_of(phase="p", stop=6, seed=4 if changed == "seed" else 3)
    code = "other code" if changed == "code" else "code"
    begun = before_round(lambda round_: None)
    run(spec, code)
    assert begun == ([4, 5] if changed == "nothing" else [0, 1, 2, 3, 4, 5])
    fresh = outputs(spec)
    clear(spec)
    run(spec, code)
    assert outputs(spec) == fresh


def test_resume_point_of_the_other_kind_of_device_is_not_used(world: Path, before_round: Any) -> None:
    """Its bits differ, and a result is of one device. (Written by hand here, since there may be no other device.)"""
    spec = spec_of(stop=6)
    before_round(crash_at(4))
    with pytest.raises(CrashError):
        run(spec, rounds=1)
    saved = checkpoint.load(resume_of(spec))
    key = str(saved.note["key"])
    assert key.endswith(" cpu")
    moved = dict(saved.note) | {"key": key.removesuffix("cpu") + "cuda"}
    checkpoint.save(resume_of(spec), checkpoint.Checkpoint(saved.model, saved.method, moved))
    begun = before_round(lambda round_: None)
    run(spec)
    assert begun == [0, 1, 2, 3, 4, 5]


def test_parent_made_again_is_another_parent(world: Path, before_round: Any) -> None:
    parents = [spec_of(phase="parent", stop=4, seed=seed) for seed in (3, 4)]
    child = spec_of("top-loss", {"start": 4}, phase="parent/child", parent="parent", start=4)
    run(parents[0])
    before_round(crash_at(7))
    with pytest.raises(CrashError):
        run(child, rounds=1)
    run(parents[1])
    begun = before_round(lambda round_: None)
    run(child)
    assert begun == [4, 5, 6, 7, 8, 9, 10, 11]


@pytest.mark.parametrize("content", [b"", b"garbage", b"\x80\x04garbage"])
def test_damaged_resume_point_is_not_used(world: Path, content: bytes) -> None:
    spec = spec_of(stop=3)
    run(spec)
    first = outputs(spec)
    resume_of(spec).write_bytes(content)
    run(spec)
    assert outputs(spec) == first


def test_second_writer_is_refused(world: Path, before_round: Any) -> None:
    """SPE#316, SPE#459: a script is started twice."""
    spec, refused = spec_of(stop=3), []

    def start_again(round_: int) -> None:
        with pytest.raises(FedsiftError, match=r"runs/fedavg@3: another process is training this phase") as caught:
            run(spec)
        refused.append(str(caught.value))

    begun = before_round(start_again)
    run(spec)
    assert begun == [0, 1, 2]
    assert len(refused) == 3
    assert not any("\n" in sentence for sentence in refused)
    assert len(history(spec)) == 3


def test_missing_parent(world: Path) -> None:
    with pytest.raises(FedsiftError, match=r"parent/checkpoint\.safetensors: no such checkpoint"):
        run(spec_of(parent="parent", start=4))


def test_parent_of_another_round(world: Path) -> None:
    run(spec_of(phase="parent", stop=3))
    with pytest.raises(FedsiftError, match=r"is for round 3, but .* starts at 4; delete that folder"):
        run(spec_of(parent="parent", start=4))


def test_missing_data(world: Path) -> None:
    Path("partition.parquet").unlink()
    with pytest.raises(FedsiftError, match=r"partition\.parquet cannot be read"):
        run(spec_of())


def test_what_a_killed_process_left_half_written_is_cleared_away(world: Path) -> None:
    spec = spec_of(stop=2)
    left = [Path(spec.phase) / ".checkpoint.safetensors.123.tmp", STATE / spec.phase / ".resume.safetensors.123.tmp"]
    for path in left:
        path.parent.mkdir(parents=True)
        path.write_bytes(b"half")
    run(spec)
    assert not any(path.exists() for path in left)


def test_progress_is_readable(world: Path, before_round: Any) -> None:
    spec = spec_of(stop=6)
    before_round(crash_at(4))
    with pytest.raises(CrashError):
        run(spec)
    note = json.loads((STATE / spec.phase / "progress.json").read_text())
    assert (note["start"], note["stop"], note["done"]) == (0, 6, 4)
    assert note["rounds_per_second"] > 0


def test_reports_evaluations_and_divergence(world: Path) -> None:
    lines: list[str] = []
    train(spec_of(stop=6), "code", "cpu", state=STATE, report=lines.append)
    assert [line.split(":")[0] for line in lines] == ["round 0", "round 4"]
    train(spec_of(stop=5, training={"lr": 1e30}), "code", "cpu", state=STATE, report=lines.append)
    assert lines[-1] == "round 0: the model is no longer finite; the run ends here as diverged."


def test_reports_the_time_of_selection_at_the_end_and_in_no_file(world: Path, monkeypatch: Any) -> None:
    spec = spec_of("loss-ocsvm", {"start": 2}, stop=4)
    run(spec)
    first = outputs(spec)
    clear(spec)
    lines: list[str] = []
    plain = Federation.round

    def slow(self: Federation, round_: int) -> Any:
        self.fitting.seconds += 1.0
        return plain(self, round_)

    monkeypatch.setattr(Federation, "round", slow)
    train(spec, "code", "cpu", state=STATE, report=lines.append)
    assert lines[-1].startswith("selection took 4.")
    assert lines[-1].endswith(" s on the server")
    assert outputs(spec) == first
