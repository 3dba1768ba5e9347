"""A working folder with the tiny federation of the training tests."""

from pathlib import Path

import pytest
from training.tiny import write_inputs


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_inputs(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path
