"""A finished run in the working folder of each test."""

import os
import shutil
from pathlib import Path

import pytest
from crate.made import finished


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run. Do not change it: copy it."""
    folder, before = tmp_path_factory.mktemp("crate"), Path.cwd()
    os.chdir(folder)
    try:
        finished(folder)
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def project(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder."""
    folder = tmp_path / "project"
    shutil.copytree(original, folder)
    monkeypatch.chdir(folder)
    return folder
