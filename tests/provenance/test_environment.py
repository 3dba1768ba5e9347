"""What surrounds a stage."""

import subprocess
import sys
from pathlib import Path

import pytest

from fedsift.provenance import environment
from fedsift.provenance.record import Git


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, in no repository."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    return tmp_path


def git(*arguments: str) -> str:
    command = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_a_repository(folder: Path) -> None:
    git("init", "-q")
    assert environment.git() is None  # no commit yet
    (folder / "code.py").write_text("a = 1\n")
    (folder / ".gitignore").write_text("results/\n")
    git("add", "-A")
    git("commit", "-qm", "one")
    commit = git("rev-parse", "HEAD")
    assert environment.git() == Git(commit=commit, dirty=False)
    (folder / "results").mkdir()
    (folder / "results" / "table.csv").touch()
    assert environment.git() == Git(commit=commit, dirty=False)
    (folder / "mine.py").touch()
    assert environment.git() == Git(commit=commit, dirty=True)
    (folder / "mine.py").unlink()
    (folder / "code.py").write_text("a = 2\n")
    assert environment.git() == Git(commit=commit, dirty=True)
    git("commit", "-qam", "two")
    assert environment.git() == Git(commit=git("rev-parse", "HEAD"), dirty=False)


def test_looking_leaves_the_repository_alone(folder: Path) -> None:
    git("init", "-q")
    (folder / "code.py").touch()
    git("add", "-A")
    git("commit", "-qm", "one")
    (folder / ".git" / "index.lock").touch()  # another git at work
    index = (folder / ".git" / "index").read_bytes()
    (folder / "code.py").touch()
    assert environment.git() == Git(commit=git("rev-parse", "HEAD"), dirty=False)
    assert (folder / ".git" / "index").read_bytes() == index


def test_no_repository_and_no_git(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert environment.git() is None
    monkeypatch.setenv("PATH", str(folder))
    assert environment.git() is None


def test_the_lock(folder: Path) -> None:
    assert environment.lock() is None
    (folder / "envs").mkdir()
    (folder / "envs" / "requirements.lock").write_bytes(b"abc")
    assert environment.lock() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_versions_are_those_that_are_imported() -> None:
    import numpy
    import pydantic

    found = environment.versions()
    assert found["python"] == sys.version.split()[0]
    assert (found["numpy"], found["pydantic"]) == (numpy.__version__, pydantic.VERSION)
    assert {"fedsift", "torch", "scikit-learn", "safetensors"} <= set(found)


def test_the_machine() -> None:
    here = environment.machine()
    assert here.host
    assert here.system.startswith(("Linux", "Darwin"))
    assert 1 < environment.peak_memory_mb() < 10**6


def test_the_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in environment.SCHEDULER:
        monkeypatch.delenv(name, raising=False)
    assert environment.scheduler() is None
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
    monkeypatch.setenv("SLURM_JWT", "a secret")
    assert environment.scheduler() == {"SLURM_JOB_ID": "17", "SLURM_RESTART_COUNT": "1"}


def test_recording_needs_no_heavy_module() -> None:
    script = (
        "import sys\nfrom fedsift.provenance import environment, jobs, recording\n"
        "environment.git(), environment.versions(), environment.machine(), environment.scheduler()\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not {"torch", "sklearn", "pandas", "matplotlib", "scipy", "pyarrow"} & set(done.stdout.split())
