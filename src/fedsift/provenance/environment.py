"""What surrounds a stage: repository, lock, versions, machine and scheduler. Light: no heavy module is imported."""

import os
import platform
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from fedsift.files import sha256
from fedsift.provenance.record import Git, Machine

LOCK = Path("envs/requirements.lock")
GIT_SECONDS = 60.0
SCHEDULER = (
    "SLURM_JOB_ID",
    "SLURM_JOB_NAME",
    "SLURM_JOB_PARTITION",
    "SLURM_CLUSTER_NAME",
    "SLURM_JOB_NODELIST",
    "SLURM_NODELIST",
    "SLURM_ARRAY_JOB_ID",
    "SLURM_ARRAY_TASK_ID",
    "SLURM_RESTART_COUNT",
)


def git() -> Git | None:
    """The repository in which the working folder lies; None without git, repository or commit."""
    # Many jobs at once: without this flag each would lock the index to refresh it.
    command = ["git", "--no-optional-locks", "status", "--porcelain=v2", "--branch", "--untracked-files=normal"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=GIT_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    lines = done.stdout.decode(errors="replace").splitlines()
    commit = next((line.split()[2] for line in lines if line.startswith("# branch.oid ")), "(initial)")
    if commit == "(initial)":
        return None
    return Git(commit=commit, dirty=any(not line.startswith("#") for line in lines))


def lock() -> str | None:
    """SHA-256 of the lock of the environment; None where the working folder has none."""
    return sha256(LOCK) if LOCK.is_file() else None


def versions() -> dict[str, str]:
    """Versions of Python, of fedsift and of what it depends on directly."""
    found = {"python": platform.python_version()}
    try:
        names = [re.split(r"[^\w.-]", requirement, maxsplit=1)[0] for requirement in metadata.requires("fedsift") or []]
    except metadata.PackageNotFoundError:
        return found
    for name in ["fedsift", *sorted(set(names))]:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def machine() -> Machine:
    """This machine."""
    return Machine(
        host=platform.node(),
        system=f"{platform.system()} {platform.release()}".strip(),
        machine=platform.machine(),
        cpu=_cpu(),
        cores=os.cpu_count() or 1,
    )


def scheduler() -> dict[str, str] | None:
    """SLURM's description of the job; None outside SLURM."""
    return {name: os.environ[name] for name in SCHEDULER if name in os.environ} or None


def peak_memory_mb() -> float:
    """Largest resident size of this process so far, in MiB."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)


def _cpu() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor()
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1].strip() if found else platform.processor()
