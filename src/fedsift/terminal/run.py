"""`fedsift run`: Snakemake underneath, one progress line on top, a summary at the end."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TaskProgressColumn, TextColumn
from rich.text import Text

from fedsift.errors import FedsiftError
from fedsift.specs import CellSpec, TableSpec, TrainSpec
from fedsift.terminal.plan import rows, total
from fedsift.training.failures import STATE
from fedsift.workflow import Plan, config_files, scale_files

STEP = re.compile(rb"^(\d+) of (\d+) steps")
LOG_NOTE = re.compile(r" \((log: [^)]*)\)$")
MOST_REASONS = 10
POLL_SECONDS = 0.5
PLAIN_SECONDS = 30.0
"""Without a terminal (a log file, a CI run) the progress line is printed this often."""


def run(scale: str, profile: str, overlays: Sequence[Path], arguments: Sequence[str]) -> int:
    """Run a scale, with ``overlays`` laid over its configuration; the exit code is Snakemake's.

    Raises:
        FedsiftError: the configuration cannot work, or there is no such profile.
    """
    console = Console()
    if not Path("profiles", profile, "config.yaml").exists():
        known = sorted(path.parent.name for path in Path("profiles").glob("*/config.yaml"))
        raise FedsiftError(f"no profile '{profile}' in profiles/; there are: {', '.join(known) or 'none'}.")
    files = config_files([*scale_files(scale), *overlays])
    plan = Plan.of_files(files)
    whole = total(rows(plan))
    console.print(
        f"[bold]{plan.config.scale}[/]: {whole.cells} cells in {whole.phases} phases, {whole.rounds:,} rounds "
        f"({whole.saved:.0%} saved by sharing)"
    )
    for name in _refused(plan):
        console.print(
            f"'{name}' was never verified, so its runs will be missing; data.accept_unverified takes it on trust.",
            soft_wrap=True,
        )
    log = Path("logs") / f"snakemake-{scale}.log"
    log.parent.mkdir(exist_ok=True)
    # All files behind one flag, since of several flags Snakemake takes the last; and before the profile, since it would
    # take what follows, such as a target, for one more file.
    overlaid = ["--configfile", *map(str, files[1:])] if files[1:] else []
    command = ["snakemake", *overlaid, "--profile", f"profiles/{profile}"]
    code = _watched([*command, *arguments], log, plan, console)
    _summary(plan, scale, log, code, console)
    return code


def _refused(plan: Plan) -> list[str]:
    """Data sets of the plan that `fetch` will refuse; better said before hours of training than after."""
    accepted = plan.config.data.accept_unverified
    return sorted(name for name in plan.grid.datasets if not plan.sets[name].verified and name not in accepted)


def _watched(command: Sequence[str], log: Path, plan: Plan, console: Console) -> int:
    """Run Snakemake with its output in ``log``, showing progress."""
    _clear_progress(plan)
    with log.open("w", encoding="utf-8") as out:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=_environment())
    with (
        _Forwarding(child),
        Progress(
            TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), _Remaining(), console=console
        ) as line,
    ):
        task = line.add_task("starting", total=None)
        watch = _Watch(plan, log)
        printed = time.monotonic()
        while child.poll() is None:
            time.sleep(POLL_SECONDS)
            watch.look()
            line.update(
                task, description=watch.words(), completed=watch.rounds, total=watch.all_rounds, left=watch.left()
            )
            if not console.is_terminal and time.monotonic() - printed > PLAIN_SECONDS:
                printed = time.monotonic()
                left = watch.left()
                print(watch.words() + (f", about {_clock(left)} left" if left else ""), flush=True)
        watch.next_count = 0.0
        watch.look()
        line.update(task, description=watch.words(), completed=watch.rounds, visible=watch.jobs > 0)
    # A shell would say the same of a child that a signal ended.
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


class _Watch:
    """What is known of a run from outside: Snakemake's log and the phases' progress files."""

    def __init__(self, plan: Plan, log: Path) -> None:
        self.plan = plan
        self.log = log
        self.position = 0
        self.done = self.jobs = 0
        self.began = time.monotonic()
        self.all_rounds = sum(spec.stop - spec.start for spec in plan.grid.phases.values())
        self.rounds = self.first_rounds = self._rounds()
        self.next_count = 0.0

    def look(self) -> None:
        """Bring the numbers up to date."""
        for text in self._new_lines():
            if found := STEP.match(text):
                self.done, self.jobs = int(found[1]), int(found[2])
        # A grid of 10,000 phases is 10,000 files; looking must stay a small part of the time.
        if time.monotonic() >= self.next_count:
            began = time.monotonic()
            self.rounds = self._rounds()
            self.next_count = time.monotonic() + 20 * (time.monotonic() - began)

    def _new_lines(self) -> list[bytes]:
        """Whole lines written since the last look; none where the log is gone."""
        try:
            with self.log.open("rb") as file:
                file.seek(self.position)
                whole, newline, _ = file.read().rpartition(b"\n")
        except OSError:
            return []
        self.position += len(whole) + len(newline)
        return whole.splitlines()

    def _rounds(self) -> int:
        """Rounds trained: whole for finished phases, so far for running ones."""
        return sum(_trained(phase, spec) for phase, spec in self.plan.grid.phases.items())

    def rate(self) -> float:
        """Rounds per second since the start."""
        return (self.rounds - self.first_rounds) / max(time.monotonic() - self.began, 1e-9)

    def left(self) -> float | None:
        """Seconds to go at this rate."""
        return (self.all_rounds - self.rounds) / self.rate() if self.rate() > 0 else None

    def words(self) -> str:
        """Jobs done and speed."""
        jobs = f"{self.done} of {self.jobs} jobs" if self.jobs else "building the graph"
        return f"{jobs}, {self.rate():.1f} rounds/s" if self.rate() > 0 else jobs


def _trained(phase: str, spec: TrainSpec) -> int:
    """Rounds of a phase that are done."""
    whole = spec.stop - spec.start
    try:
        note = json.loads((STATE / phase / "progress.json").read_text(encoding="utf-8"))
        return max(0, min(int(note["done"]) - spec.start, whole))
    except (OSError, ValueError, KeyError, TypeError):
        return whole if Path(phase, "history.csv").exists() else 0


class _Remaining(ProgressColumn):
    """Remaining time from the rounds, since jobs are of very different lengths."""

    def render(self, task: object) -> Text:
        left = getattr(task, "fields", {}).get("left")
        return Text(f"{_clock(left)} left" if left else "")


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def _environment() -> dict[str, str]:
    """The commands of this interpreter's environment come first, whether or not it is activated."""
    here = str(Path(sys.executable).parent)
    return os.environ | {"PATH": f"{here}{os.pathsep}{os.environ.get('PATH', '')}", "PYTHONUNBUFFERED": "1"}


def _clear_progress(plan: Plan) -> None:
    """Progress of earlier runs would count phases that have to be trained anew."""
    for phase in plan.grid.phases:
        (STATE / phase / "progress.json").unlink(missing_ok=True)


class _Forwarding:
    """Hand SIGTERM on to Snakemake and let Ctrl-C, which reaches it anyway, not end this process before it."""

    def __init__(self, child: "subprocess.Popen[bytes]") -> None:
        self.child = child

    def __enter__(self) -> None:
        def forward(number: int, _: FrameType | None) -> None:
            if number != signal.SIGINT:
                self.child.send_signal(number)

        self.before = {number: signal.signal(number, forward) for number in (signal.SIGINT, signal.SIGTERM)}

    def __exit__(self, *_: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)


def _summary(plan: Plan, scale: str, log: Path, code: int, console: Console) -> None:
    from fedsift.results.collect import summary

    done = 0
    missing: list[tuple[TableSpec, CellSpec, str]] = []
    for table in plan.grid.tables.values():
        count, lacking = summary(table)
        done += count
        missing += [(table, cell, reason) for cell, reason in lacking]
    console.print(f"{done} of {done + len(missing)} cells done" + (f", {len(missing)} not" if missing else ""))
    for text in _reasons(missing):
        console.print(f"  {text}", soft_wrap=True, highlight=False, markup=False)
    front = Path(plan.reports) / "index.html"
    if front.exists():
        console.print(f"report: {front}", soft_wrap=True)
    if code:
        console.print(f"[red]stopped with exit code {code}[/]; Snakemake's words: {log}", soft_wrap=True)
        for text in _last_error(log):
            console.print(f"  {text}", soft_wrap=True, highlight=False, markup=False)


def _reasons(missing: Sequence[tuple[TableSpec, CellSpec, str]]) -> Iterator[str]:
    """One line a cause, with the cells that it stopped and the log of the first."""
    cells: dict[str, list[tuple[str, str]]] = {}
    for table, cell, reason in missing:
        name = f"{table.experiment}/{cell.noise}/K{cell.clients}/{cell.method}/seed{cell.seed}"
        log = LOG_NOTE.search(reason)
        cause = LOG_NOTE.sub("", reason)
        # The phase differs from cell to cell where the cause is the same.
        for phase in cell.phases[::-1]:
            cause = cause.replace(f": {phase}", "")
        cells.setdefault(cause, []).append((name, f"; {log[1]}" if log else ""))
    for cause, stopped in list(cells.items())[:MOST_REASONS]:
        name, log_note = stopped[0]
        more = f" and {len(stopped) - 1} more" if len(stopped) > 1 else ""
        yield f"{cause} ({name}{more}{log_note})"
    if len(cells) > MOST_REASONS:
        yield f"and {len(cells) - MOST_REASONS} more reasons; the report's tables name them all"


def _last_error(log: Path) -> list[str]:
    """The sentences that stages and the Snakefile left in Snakemake's log."""
    try:
        texts = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    found = [text.strip() for text in texts if text.lstrip().startswith("error: ")]
    for index, text in enumerate(texts):
        if text.startswith(("WorkflowError", "LockException")):
            found += texts[index : index + 2]
    return list(dict.fromkeys(found))[:5]
