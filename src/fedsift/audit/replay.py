"""Execute phases again, in a folder of their own, and compare what comes out with the records."""

import csv
import math
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from fedsift.audit.chain import Node
from fedsift.audit.findings import Finding, Outcome
from fedsift.audit.store import Store
from fedsift.provenance.record import Record
from fedsift.specs import TrainSpec

TOLERANCE = 0.02
"""Largest difference of any share in a history on another kind of machine, where floats are summed in another order."""
SHARES = ("accuracy", "balanced_accuracy", "macro_f1", "macro_precision", "macro_recall")
NUMERICAL = ("numpy", "scikit-learn", "scipy", "torch", "python")
"""Packages whose versions may change bits."""


@dataclass
class Replayed:
    """A phase that was executed again.

    Attributes:
        phase: its folder.
        result: in words, for example `same bits`.
    """

    phase: str
    result: str = ""
    findings: list[Finding] = field(default_factory=list)


def replay(
    nodes: Iterable[Node], store: Store, count: int, seed: int, scratch: Path, note: Callable[[str], None]
) -> list[Replayed]:
    """Execute ``count`` phases, drawn at random among those of ``nodes`` whose inputs are here, below ``scratch``."""
    phases = {node.place: node for node in nodes if node.record.stage == "train"}
    able = [phases[place] for place in sorted(phases) if _ready(phases[place], store)]
    drawn = random.Random(seed).sample(able, min(count, len(able)))
    done = []
    for number, node in enumerate(drawn):
        note(f"replay {number + 1} of {len(drawn)}: {node.place}")
        done.append(_again(node, store, scratch / str(number)))
    if len(drawn) < count:
        short = Replayed("", f"{len(drawn)} of {count} phases: of {len(phases)}, {len(able)} have their inputs here")
        if not drawn:
            short.findings.append(
                Finding(
                    "--replay", f"{count} phases with their inputs", "none", "audit where the data are", Outcome.UNTOLD
                )
            )
        done.append(short)
    return done


def _ready(node: Node, store: Store) -> bool:
    """Whether the inputs are here, and are those that were read."""
    return all(store.place(file.path).is_file() and store.check(file) is None for file in node.record.inputs)


def _again(node: Node, store: Store, folder: Path) -> Replayed:
    try:
        spec = TrainSpec.model_validate(node.record.parameters)
    except ValidationError:
        return Replayed(node.place, "not executed: its parameters are of another version")
    folder.mkdir(parents=True)
    done = Replayed(spec.phase)
    # The same relative paths below another folder give the same specification, and so the same bytes; a phase with an
    # absolute path would be written over.
    here = spec if not Path(spec.phase).is_absolute() else spec.model_copy(update={"phase": "again"})
    for path in [*(file.path for file in node.record.inputs), *([spec.method.file] if spec.method.file else [])]:
        _link(store, path, folder)
    (folder / "spec.json").write_text(here.text(), encoding="utf-8")
    (folder / "settings.json").write_text(f'{{"device": "{_device(node.record)}"}}\n', encoding="utf-8")
    command = [sys.executable, "-m", "fedsift", "train", "spec.json", "--settings", "settings.json"]
    ran = subprocess.run(command, cwd=folder, env=_environment(), capture_output=True, check=False)
    if ran.returncode:
        last = ran.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no word"]
        done.result = "failed"
        done.findings.append(
            Finding(spec.phase, "that it can be executed again", last[0], "see that its code and versions are here")
        )
        return done
    _compare(done, node, store, folder / here.phase)
    return done


def _link(store: Store, path: str, folder: Path) -> None:
    """Show an input at its own place in the scratch folder; an absolute path leads to it anyway."""
    place = folder / path
    if Path(path).is_absolute() or place.exists():
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(store.place(path).resolve())


def _device(record: Record) -> str:
    return "cpu" if record.device == "cpu" else "auto"


def _environment() -> dict[str, str]:
    """The scratch folder is elsewhere: relative entries of the search path would lead nowhere."""
    paths = [str(Path(entry).resolve()) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}


def _compare(done: Replayed, node: Node, store: Store, phase: Path) -> None:
    again = Record.read(phase / "record.json")
    wanted = {Path(file.path).name: file for file in node.record.outputs}
    made = {Path(file.path).name: file for file in again.outputs}
    history, checkpoint = wanted["history.csv"], wanted["checkpoint.safetensors"]
    if made["history.csv"].sha256 == history.sha256:
        if made["checkpoint.safetensors"].sha256 == checkpoint.sha256:
            done.result = "same bits"
            return
        # A checkpoint's header names code and specification, which may differ where the tensors do not.
        if _weights(phase / "checkpoint.safetensors", store.place(checkpoint.path)):
            done.result = "same bits, but for the checkpoint's header"
            return
        done.result = "the same history, other weights"
    other = _kind(node.record, again)
    recorded = store.place(history.path)
    if not other:
        where, expected, found = _first_difference(recorded, phase / "history.csv")
        done.result = done.result or "other bits"
        done.findings.append(
            Finding(
                f"{history.path}{where}", expected, f"{found} when executed again", "look for what is not repeatable"
            )
        )
        return
    largest = distance(recorded, phase / "history.csv")
    done.result = f"within {largest:.4f} of the record, tolerance {TOLERANCE}, on another kind of machine ({other})"
    if largest > TOLERANCE:
        done.findings.append(
            Finding(
                history.path,
                f"shares within {TOLERANCE} on another kind of machine ({other})",
                f"{largest:.4f}",
                "execute it on the kind of machine that its record names",
            )
        )


def _kind(ours: Record, again: Record) -> str:
    """What differs between two machines that may change bits, in words; empty where they are of one kind."""
    parts = {
        "processor": (ours.machine.cpu, again.machine.cpu),
        "architecture": (ours.machine.machine, again.machine.machine),
        "device": (ours.device, again.device),
        "code": (ours.code, again.code),
        **{name: (ours.versions.get(name), again.versions.get(name)) for name in NUMERICAL},
    }
    return ", ".join(name for name, (first, second) in parts.items() if first != second)


def _weights(first: Path, second: Path) -> bool:
    """Whether two checkpoints hold the same tensors."""
    from safetensors.numpy import load_file

    if not second.is_file():
        return False
    ours, theirs = load_file(first), load_file(second)
    return ours.keys() == theirs.keys() and all(
        ours[name].dtype == theirs[name].dtype and ours[name].tobytes() == theirs[name].tobytes() for name in ours
    )


def _first_difference(first: Path, second: Path) -> tuple[str, str, str]:
    """Place and fields at which two histories part."""
    ours, theirs = _rows(first), _rows(second)
    for number, (a, b) in enumerate(zip(ours, theirs, strict=False)):
        for name in a:
            if a[name] != b.get(name):
                return f", round {number}, {name}", a[name] or "nothing", b.get(name) or "nothing"
    if len(ours) != len(theirs):
        return "", f"{len(ours)} rounds", str(len(theirs))
    return "", "the same weights at its end", "others"


def distance(first: Path, second: Path) -> float:
    """The largest difference of a share; infinite where the tests are not of the same rounds."""
    ours, theirs = _rows(first), _rows(second)
    if len(ours) != len(theirs):
        return math.inf
    pairs = [(a[name], b[name]) for a, b in zip(ours, theirs, strict=True) for name in SHARES]
    if any(bool(a) != bool(b) for a, b in pairs):
        return math.inf
    return max((abs(float(a) - float(b)) for a, b in pairs if a), default=0.0)


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
