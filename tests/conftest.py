"""Fixtures of all tests: a mirror of real data where the checkout has some beside it."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of shared real data beside the checkout."""
    folder = Path(__file__).resolve().parents[1].parent / "shared" / "data"
    if not (folder / "unpack.py").is_file():
        pytest.skip(f"real data are not at hand: {folder} does not exist")
    return folder


@pytest.fixture(scope="session")
def mirror(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """``mirror(set)`` unpacks a set's official files once and returns the mirror folder."""
    folder = tmp_path_factory.mktemp("mirror")
    done: set[str] = set()

    def unpacked(name: str) -> str:
        if name not in done:
            subprocess.run(
                [sys.executable, str(shared_data / "unpack.py"), str(folder), name],
                check=True,
                capture_output=True,
            )
            done.add(name)
        return str(folder)

    return unpacked
