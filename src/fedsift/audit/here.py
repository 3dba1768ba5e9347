"""Is what is here what made the results: sources, lock and configuration? For deep audits.

A difference contradicts no number, since records say what made it; but nobody can make it again with what is here.
"""

import os
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fedsift.audit import links
from fedsift.audit.chain import Node
from fedsift.audit.findings import Finding, Outcome
from fedsift.errors import FedsiftError
from fedsift.provenance import environment
from fedsift.provenance.code import FETCHING, READING, parts_of
from fedsift.provenance.fingerprint import ROOT, closure, fingerprint
from fedsift.provenance.record import Git, Record
from fedsift.specs import ContributionSpec, TableSpec, TrainSpec

GIT_SECONDS = 60.0
MOST = 3
"""Source files that a sentence names."""


@dataclass(frozen=True)
class _Stage:
    """What one kind of record was made by, and what is here for it."""

    name: str
    record: Record
    now: str
    modules: frozenset[str]


def sources(nodes: Iterable[Node]) -> Iterator[Finding]:
    """Stages whose code is not the one that is here, with the files that can be the reason.

    Files of stages that are as they were cannot be; of the rest, git tells where the commit is at hand.
    """
    stages: list[_Stage] = []
    seen: set[tuple[str, str]] = set()
    for node in nodes:
        name = _name(node.record)
        if (name, node.record.code) in seen:
            continue
        seen.add((name, node.record.code))
        try:
            modules, files = _parts(node.record)
            stages.append(_Stage(name, node.record, fingerprint(modules, files), frozenset(closure(modules, files))))
        except ValidationError:
            continue  # `links.fits` says so.
        except FedsiftError as error:
            yield _told(node.place, "the method that made it", str(error), "restore its file")
        except (SyntaxError, OSError, ValueError) as error:
            where = getattr(error, "filename", None)
            yield _told(_near(where) if where else node.place, "source code", f"none ({error})", "restore it")
    same = frozenset[str]().union(*(stage.modules for stage in stages if stage.now == stage.record.code))
    suspects: dict[tuple[str, ...], list[_Stage]] = {}
    for stage in stages:
        if stage.now != stage.record.code:
            suspects.setdefault(_suspects(stage, same), []).append(stage)
    for files_, those in suspects.items():
        names = sorted({stage.name for stage in those})
        words = ", ".join(names[:MOST]) + (f" and {len(names) - MOST} more" if len(names) > MOST else "")
        one = those[0]
        yield _told(
            _list(files_),
            f"the code {one.record.code[:12]} that made {words}",
            one.now[:12],
            _advice(one.record),
        )


def lock(nodes: Iterable[Node]) -> Iterator[Finding]:
    """The lock of the environment, if it is not the one that was there."""
    now = environment.lock()
    other = next((node for node in nodes if node.record.lock != now), None)
    if other:
        yield _told(
            str(environment.LOCK),
            f"sha256 {(other.record.lock or 'none')[:16]}, as for {other.place}",
            (now or "none")[:16],
            "restore it to make these results again",
        )


def configuration(spec: TableSpec, planned: TableSpec | None) -> Iterator[Finding]:
    """What the configuration here asks for, if it is not what the tables are of."""
    if planned is None:
        yield _told(spec.output, "an experiment of this configuration", "none of that name", "restore config.yaml")
        return
    for name in TableSpec.model_fields:
        if (ours := getattr(spec, name)) != (asked := getattr(planned, name)):
            yield _told(spec.output, f"{name} as configured, {_short(asked)}", _short(ours), "run this scale again")
            return


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _told(file: str, expected: str, found: str, advice: str) -> Finding:
    return Finding(file, expected, found.rstrip("."), advice, Outcome.UNTOLD)


def _parts(record: Record) -> tuple[Iterable[str], Iterable[Path]]:
    spec = links.spec_of(record)
    if spec is not None:
        return parts_of(spec)
    return (READING if record.stage == "read" else FETCHING), ()


def _name(record: Record) -> str:
    """The stage, and for training the method, which the code depends on."""
    if record.stage not in ("train", "contributions"):
        return record.stage
    try:
        spec = links.spec_of(record)
    except ValidationError:
        return record.stage
    run = spec.run if isinstance(spec, ContributionSpec) else spec
    return f"{record.stage} ({run.method.label})" if isinstance(run, TrainSpec) else record.stage


def _suspects(stage: _Stage, same: frozenset[str]) -> tuple[str, ...]:
    files = sorted(_file(name) for name in stage.modules - same)
    told = _changed(stage.record.git) if stage.record.git and not stage.record.git.dirty else None
    if told is not None:
        # A new file is in no commit: where git clears all of them, they stay suspects.
        files = [file for file in files if file in told] or files
    return tuple(files)


def _changed(git: Git) -> set[str] | None:
    """Files of the package that are not as in a commit; None where it is not at hand."""
    command = ["git", "-C", str(ROOT), "diff", "--name-only", "--relative", git.commit, "--", "."]
    try:
        done = subprocess.run(command, capture_output=True, timeout=GIT_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return {_near(ROOT / name) for name in done.stdout.decode(errors="replace").splitlines()}


def _file(module: str) -> str:
    base = ROOT.parent.joinpath(*module.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return _near(path)
    return module


def _near(path: Path | str) -> str:
    """A path as seen from here."""
    return os.path.relpath(path)


def _list(files: tuple[str, ...]) -> str:
    if not files:
        return "the sources"
    if len(files) <= MOST:
        return " or ".join(files)
    return f"one of {len(files)} files ({', '.join(files[:MOST])}, ...)"


def _advice(record: Record) -> str:
    if record.git is None:
        return "audit with the sources that made it, or make the results again"
    dirty = " with the changes that it had then" if record.git.dirty else ""
    return f"check out {record.git.commit[:12]}{dirty}, or make the results again"
