"""One undisturbed run in miniature, for all pipeline tests to compare with and to copy."""

from pathlib import Path

import pytest
from checkout import Checkout
from repository import Repository


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """An undisturbed run. Do not change it: copy it."""
    checkout = Checkout.new(tmp_path_factory.mktemp("pipeline") / "finished")
    checkout.own_code()
    checkout.reproduce("--cores", "2")
    return checkout


@pytest.fixture
def copy(finished: Checkout, tmp_path: Path) -> Checkout:
    """The finished checkout, to be changed."""
    return finished.copy(tmp_path / "copy")


@pytest.fixture(scope="session")
def origin(finished: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """The undisturbed run, snapshot and pushed to the folder beside it. Do not change it: clone it."""
    made = Repository.found(finished, tmp_path_factory.mktemp("versioned") / "origin")
    made.snapshot("results")
    made.dvc("push", "--quiet")
    return made
