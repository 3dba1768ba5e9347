"""DVC from outside: only a person's command calls it, never a job."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from fedsift.errors import FedsiftError

STAGE = "reproduce"
FILE = Path("dvc.yaml")


def check_repository() -> None:
    """See that DVC can work here.

    Raises:
        FedsiftError: it is not installed, or this folder is no DVC repository.
    """
    if find_spec("dvc") is None:
        raise FedsiftError("dvc is not installed here; `make setup` installs it, or `pip install dvc`.")
    for needed in (Path(".dvc"), FILE):
        if not needed.exists():
            raise FedsiftError(f"{needed} does not exist: run this in the root of a clone of fedsift's repository.")


def versioned(scale: str) -> list[str]:
    """What the stage versions when it runs ``scale``.

    Raises:
        FedsiftError: dvc.yaml has no such stage.
    """
    try:
        outs: list[Any] = yaml.safe_load(FILE.read_bytes())["stages"][STAGE]["outs"]
        names = [next(iter(out)) if isinstance(out, dict) else str(out) for out in outs]
    except (yaml.YAMLError, KeyError, TypeError, StopIteration):
        raise FedsiftError(f"{FILE}: no stage '{STAGE}' with outs; take the file from fedsift's repository.") from None
    return [name.replace("${scale}", scale) for name in names]


def commit() -> None:
    """Note the present outputs as those of the present code and parameters.

    Raises:
        FedsiftError: DVC refuses, in its own words.
    """
    done = subprocess.run(
        [sys.executable, "-m", "dvc", "commit", "--force", "--quiet", STAGE],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        words = [line for line in done.stderr.splitlines() if line.strip()] or [f"exit code {done.returncode}"]
        said = next((line for line in words if line.startswith("ERROR")), words[-1])
        raise FedsiftError(f"dvc commit: {said.removeprefix('ERROR: ')}")
