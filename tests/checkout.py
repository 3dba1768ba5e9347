"""A throw-away checkout in which the real workflow runs in miniature."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

MINIATURE = """\
scale: quick
checkpoint_rounds: 2
experiments:
  mini:
    paper: mtae
    title: Miniature
    dataset: digits
    model: mtae-digits
    partition: {scheme: dirichlet, alpha: 0.5, min_samples: 5, samples: 300}
    noises:
      closed-set: {kind: closed-set, rate: 0.4, scope: random}
    clients: [10]
    methods: [fedavg, loss-threshold, top-loss]
    seeds: [0, 1]
    rounds: 6
    sampling: {share: 0.3}
    training: {epochs: 1, lr: 0.5, objective: {lambda_cls: 0.5}}
    evaluation: {every: 2}
"""

PHASES = {
    f"results/quick/mini/runs/closed-set/K10/seed{seed}/{lineage}"
    for seed in (0, 1)
    for lineage in ("fedavg@2", "fedavg@2/fedavg@6", "fedavg@2/loss-threshold@6", "fedavg@2/top-loss@6")
}


class Checkout:
    """A folder with the workflow, a configuration and, where `code` is asked for, a copy of the package."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def new(cls, folder: Path, config: str = MINIATURE) -> "Checkout":
        folder.mkdir(parents=True)
        for name in ("Snakefile", "rules", "profiles", "config", "envs", "reports/reference", "reports/captions"):
            source = ROOT / name
            copy = shutil.copytree if source.is_dir() else shutil.copy
            copy(source, folder / name)
        (folder / "config.yaml").write_text(config)
        return cls(folder)

    def copy(self, folder: Path) -> "Checkout":
        shutil.copytree(self.folder, folder)
        return Checkout(folder)

    def own_code(self) -> Path:
        """Give the checkout a copy of the package to edit."""
        package = self.folder / "src" / "fedsift"
        shutil.copytree(ROOT / "src" / "fedsift", package, ignore=shutil.ignore_patterns("__pycache__"))
        return package

    def environment(self) -> dict[str, str]:
        env = os.environ | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "OMP_NUM_THREADS": "1",
        }
        if (self.folder / "src").exists():
            env["PYTHONPATH"] = str(self.folder / "src")
        return env

    def start(self, *command: str) -> "subprocess.Popen[str]":
        """A process group of its own, so that the whole tree can be killed."""
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *command: str, code: int | None = 0) -> str:
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment(), capture_output=True, text=True, timeout=600, check=False
        )
        if code is not None and done.returncode != code:
            logs = "".join(path.read_text() for path in self.folder.glob("logs/*.log"))
            pytest.fail(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}{logs}")
        return done.stdout + done.stderr

    def reproduce(self, *arguments: str, code: int | None = 0) -> str:
        return self.run("fedsift", "run", "--", *arguments, code=code)

    def would_run(self, *arguments: str) -> set[str]:
        """What a dry run lists: the first output of every job."""
        text = self.run("snakemake", "--profile", "profiles/local", "--dry-run", *arguments)
        if "Nothing to be done" in text:
            return set()
        outputs = [line.split()[1].rstrip(",") for line in text.splitlines() if line.startswith("    output: ")]
        assert outputs, text
        return set(outputs)

    def phases_to_run(self, *arguments: str) -> set[str]:
        suffix = "/checkpoint.safetensors"
        return {made.removesuffix(suffix) for made in self.would_run(*arguments) if made.endswith(suffix)}

    def published(self) -> dict[str, bytes]:
        """Everything that a reader gets, and the checkpoints behind it; without the records, which hold times."""
        files = [*self.folder.glob("reports/quick/**/*"), *self.folder.glob("results/**/*")]
        made = [path for path in files if path.is_file() and not path.name.endswith("record.json")]
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in made}


def edit(path: Path, old: str, new: str) -> None:
    """Replace text that must be there."""
    text = path.read_text()
    assert old in text, f"{old!r} is not in {path}"
    path.write_text(text.replace(old, new))
