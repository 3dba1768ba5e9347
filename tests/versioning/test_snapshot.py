"""What `fedsift snapshot` refuses, and that it says why in one sentence."""

import shutil
import subprocess
from pathlib import Path

import pytest
from checkout import MINIATURE, ROOT

from fedsift.errors import FedsiftError
from fedsift.versioning import dvc
from fedsift.versioning.snapshot import snapshot, uncommitted
from fedsift.workflow import hold_lock


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Git and DVC repository in which nothing was run; the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    Path("config.yaml").write_text(MINIATURE)
    shutil.copy(ROOT / "dvc.yaml", "dvc.yaml")
    Path(".dvc").mkdir()
    subprocess.run(["git", "init", "--quiet"], check=True)
    return tmp_path


def refused(scale: str = "quick", partial: bool = False) -> str:
    with pytest.raises(FedsiftError) as caught:
        snapshot(scale, partial)
    return str(caught.value)


def test_before_the_first_run(folder: Path) -> None:
    text = refused()
    assert text.startswith("14 of 14 jobs of 'quick' are not current (`fedsift fetch` for data/raw/digits: ")
    assert text.endswith("`fedsift run --scale quick` first, or take what there is with --partial.")
    assert not Path("provenance").exists()


def test_beside_a_run(folder: Path) -> None:
    lock = hold_lock()
    assert refused().startswith("another run is at work in this folder")
    lock.close()


def test_after_a_refusal_a_run_can_start(folder: Path) -> None:
    refused()
    hold_lock().close()


def test_without_git(folder: Path) -> None:
    shutil.rmtree(".git")
    assert refused().startswith("this folder is in no Git repository")


@pytest.mark.parametrize("name", [".dvc", "dvc.yaml"])
def test_without_a_dvc_repository(folder: Path, name: str) -> None:
    Path(name).rename("away")
    assert refused() == f"{name} does not exist: run this in the root of a clone of fedsift's repository."


def test_without_dvc(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dvc, "find_spec", lambda _: None)
    assert refused() == "dvc is not installed here; `make setup` installs it, or `pip install dvc`."


def test_an_unknown_scale(folder: Path) -> None:
    assert refused("papr").startswith("no scale 'papr'")


@pytest.mark.parametrize("text", ["", "stages: {}\n", "stages: [", "stages: {reproduce: {cmd: x}}\n"])
def test_another_dvc_yaml(folder: Path, text: str) -> None:
    Path("dvc.yaml").write_text(text)
    assert refused() == "dvc.yaml: no stage 'reproduce' with outs; take the file from fedsift's repository."


def test_results_where_dvc_does_not_look(folder: Path) -> None:
    Path("config.yaml").write_text(MINIATURE + "data: {folder: /scratch/data}\n")
    text = (
        "data.folder: '/scratch/data' is not among the outs of dvc.yaml (data, results, reports/quick); name it there."
    )
    assert refused() == text


def test_what_dvc_refuses_is_said_in_its_words(folder: Path) -> None:
    assert refused(partial=True).startswith("dvc commit: ")


def test_what_git_lacks(folder: Path) -> None:
    Path("two words\n").write_text("")
    assert set(uncommitted()) == {"config.yaml", "dvc.yaml", "two words\n"}


def test_the_outs_of_a_scale(folder: Path) -> None:
    assert dvc.versioned("paper") == ["data", "results", "reports/paper"]
