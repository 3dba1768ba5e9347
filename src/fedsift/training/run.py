"""The train stage: one phase, from its parent's checkpoint (or round 0) to its own, in spite of interruptions."""

from __future__ import annotations

import fcntl
import hashlib
import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch

from fedsift import models
from fedsift.data.clients import load_federation
from fedsift.errors import FedsiftError
from fedsift.files import sha256
from fedsift.methods import registry
from fedsift.methods.base import Task, floor_share
from fedsift.training import checkpoint, device
from fedsift.training.checkpoint import Checkpoint
from fedsift.training.failures import STATE
from fedsift.training.history import Row, write_history
from fedsift.training.loop import Federation
from fedsift.training.streams import seed_of
from fedsift.training.tensors import Samples

if TYPE_CHECKING:
    from fedsift.specs import TrainSpec


class Interrupted(FedsiftError):
    """The phase was asked to stop; its resume point is saved."""


def train(
    spec: TrainSpec,
    code: str,
    wanted_device: str = "auto",
    seconds: float = 60.0,
    rounds: int = 10,
    *,
    state: Path = STATE,
    report: Callable[[str], None] = print,
) -> None:
    """Train the phase of ``spec`` and write its `checkpoint.safetensors` and `history.csv`.

    Args:
        spec: the phase.
        code: fingerprint of the code; a resume point of other code, another specification, other inputs or the other
            kind of device is not used.
        wanted_device: auto, cpu or cuda.
        seconds: the resume point is never older than this (counted at the ends of rounds)
        rounds: and never more rounds behind than this.
        state: folder of the resume points of all phases.
        report: gets a line for every evaluation, and one for the time that selection took.

    Raises:
        FedsiftError: an input is missing or broken, another process is at this phase, or the phase was interrupted.
    """
    own = state / spec.phase
    with _sole_writer(spec, own), _stop_signals() as asked_to_stop:
        where = device.choose(wanted_device)
        key = f"{spec.digest()} {code} {_inputs(spec)} {where.type}"
        resume = own / "resume.safetensors"
        start, rows = _first(spec, key, resume)
        federation = _federation(spec, start, where)
        saved_at, saved_round = time.monotonic(), int(start.note["round"])
        began, first_round, status = time.monotonic(), saved_round, str(start.note["status"])
        for round_ in range(first_round, spec.stop if status == "ok" else first_round):
            row = federation.round(round_)
            rows.append(row)
            status = str(row["status"])
            _progress(own, spec, round_ + 1, first_round, began)
            if "accuracy" in row:
                report(f"round {round_}: accuracy {row['accuracy']:.4f}, loss {row['loss']:.4f}")
            if status != "ok":
                report(f"round {round_}: the model is no longer finite; the run ends here as diverged.")
                break
            stale = time.monotonic() - saved_at >= seconds or round_ + 1 - saved_round >= rounds
            stop = bool(asked_to_stop)  # a signal may come at any time; one that comes later waits for the next round
            if round_ + 1 < spec.stop and (stop or stale):
                checkpoint.save(resume, _now(federation, key, round_ + 1, status, rows))
                saved_at, saved_round = time.monotonic(), round_ + 1
            if stop and round_ + 1 < spec.stop:
                raise Interrupted(f"{spec.phase}: stopped by a signal after round {round_}; run again to continue.")
        if line := cost(federation.engine.scoring.seconds, federation.fitting.seconds, time.monotonic() - began):
            report(line)
        end = _now(federation, key, spec.stop, status)
        checkpoint.save(Path(spec.phase) / "checkpoint.safetensors", end)
        write_history(Path(spec.phase) / "history.csv", rows)
        resume.unlink(missing_ok=True)


def server_at_start(spec: TrainSpec, wanted_device: str = "auto") -> tuple[Federation, str]:
    """The server before the first round of the phase of ``spec``, and `ok` or `diverged` for the run until there.

    Raises:
        FedsiftError: an input is missing or broken.
    """
    start = _parent(spec)
    return _federation(spec, start, device.choose(wanted_device)), str(start.note["status"])


def cost(scoring: float, fitting: float, total: float) -> str:
    """A sentence on the seconds that selection took on clients and server; nothing where it took none to speak of."""
    seconds = scoring + fitting
    if seconds < 0.05:
        return ""
    parts = f"{scoring:.1f} s on the clients, {fitting:.1f} s on the server"
    return f"selection took {seconds:.1f} s of {total:.1f} s ({seconds / total:.1%}): {parts}"


def _first(spec: TrainSpec, key: str, resume: Path) -> tuple[Checkpoint, list[Row]]:
    """Where to begin: the resume point, else the parent's end, else a fresh model."""
    if resume.exists():
        try:
            found = checkpoint.load(resume)
        except FedsiftError:
            resume.unlink()
        else:
            if found.note.get("key") == key:
                return found, list(found.note["history"])
    return _parent(spec), []


def _parent(spec: TrainSpec) -> Checkpoint:
    """The parent's end, else a fresh model."""
    if spec.parent:
        parent = checkpoint.load(Path(spec.parent) / "checkpoint.safetensors")
        if parent.note["round"] != spec.start:
            raise FedsiftError(
                f"{spec.parent}: its checkpoint is for round {parent.note['round']}, but {spec.phase} starts at "
                f"{spec.start}; delete that folder and run again."
            )
        return parent
    return Checkpoint({}, {}, {"round": spec.start, "status": "ok"})


def _inputs(spec: TrainSpec) -> str:
    """SHA-256 of the phase's input files: their paths, which the specification holds, do not tell what is in them."""
    files = [spec.arrays, spec.source_arrays, spec.partition, spec.noise, spec.rates]
    files.append(f"{spec.parent}/checkpoint.safetensors" if spec.parent else None)
    found = [sha256(file) if file and Path(file).is_file() else "none" for file in files]
    return hashlib.sha256(" ".join(found).encode()).hexdigest()


def _federation(spec: TrainSpec, start: Checkpoint, where: torch.device) -> Federation:
    data, truth = load_federation(spec)
    model = models.build(spec.model, data.classes, seed_of(spec.seed, "init"))
    model.to(device=where).to(memory_format=torch.channels_last)
    participants = max(1, floor_share(spec.sampling.share, spec.clients))
    task = Task(spec.rounds, spec.clients, data.classes, spec.seed, participants)
    file = Path(spec.method.file) if spec.method.file else registry.find(spec.method.name)
    cls = registry.load(file)
    method = cls(cls.Options.model_validate(spec.method.options), task)
    if start.model:
        model.load_state_dict(start.model)
    method.load_state_dict(start.method)
    federation = Federation(spec, model, method, Samples.of(data, truth, where, spec.evaluation.validation))
    if not start.model:
        federation.warm_up()
    return federation


def _now(federation: Federation, key: str, round_: int, status: str, rows: list[Row] | None = None) -> Checkpoint:
    note: dict[str, Any] = {"key": key, "round": round_, "status": status}
    if rows is not None:
        note["history"] = rows
    return Checkpoint(federation.state, federation.method.state_dict(), note)


def _progress(own: Path, spec: TrainSpec, done: int, first: int, began: float) -> None:
    """For the progress line; losing it in a crash does no harm, so it is not synced."""
    seconds = time.monotonic() - began
    note = {"start": spec.start, "stop": spec.stop, "done": done, "rounds_per_second": (done - first) / seconds}
    temporary = own / ".progress.tmp"
    temporary.write_text(json.dumps(note), encoding="utf-8")
    temporary.replace(own / "progress.json")


@contextmanager
def _sole_writer(spec: TrainSpec, own: Path) -> Iterator[None]:
    """Hold the phase's lock; the kernel lets go of it however the process ends."""
    own.mkdir(parents=True, exist_ok=True)
    with (own / "lock").open("w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FedsiftError(
                f"{spec.phase}: another process is training this phase; wait for it or stop it, then run again."
            ) from None
        # Only a process that was killed while it wrote leaves these, and no other can be writing here now.
        for left in (*own.glob(".*.tmp"), *Path(spec.phase).glob(".*.tmp")):
            left.unlink(missing_ok=True)
        yield


@contextmanager
def _stop_signals() -> Iterator[list[int]]:
    """Collect SIGTERM, SIGUSR1 and SIGUSR2 (what schedulers send before the end) instead of dying of them."""
    caught: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        caught.append(number)

    numbers = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
    before = [signal.signal(number, note) for number in numbers]
    try:
        yield caught
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
