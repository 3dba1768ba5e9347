"""One made-up run, which tests copy to spoil it."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from audit.made import asked, make

from fedsift.audit.command import run
from fedsift.workflow import Plan

Audited = Callable[..., tuple[int, str]]


@pytest.fixture(scope="session", autouse=True)
def quick() -> Iterator[None]:
    """No power cut threatens what tests write, and a busy disk takes a second for each of some hundred files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)
        yield


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Plan]:
    """A finished run and its plan. Do not change it: use `spoilt`."""
    folder = tmp_path_factory.mktemp("audit") / "made"
    with pytest.MonkeyPatch.context() as patch:
        plan = make(folder, patch)
    return folder, plan


@pytest.fixture
def plan(made: tuple[Path, Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """A copy of the run as the working folder, to be changed, and its plan."""
    shutil.copytree(made[0], tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    return made[1]


@pytest.fixture
def audited(plan: Plan, capsys: pytest.CaptureFixture[str]) -> Audited:
    """Audit the working folder: exit code and what is printed."""

    def audit(**changes: object) -> tuple[int, str]:
        code = run(asked(**changes))
        return code, capsys.readouterr().out

    return audit
