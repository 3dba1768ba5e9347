"""Progress and summary of a run, from made-up logs and progress files."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import snakemake.cli
from checkout import MINIATURE
from rich.console import Console

from fedsift.errors import FedsiftError
from fedsift.terminal import run
from fedsift.training.failures import STATE
from fedsift.workflow import Plan

RUNS = "results/quick/mini/runs/closed-set/K10"
FIRST = f"{RUNS}/seed0/fedavg@2"
LOG = Path("logs/snakemake-quick.log")


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    monkeypatch.chdir(tmp_path)
    Path("config.yaml").write_text(MINIATURE)
    Path("logs").mkdir()
    return Plan.of_files([])


def progress(phase: str, text: str) -> None:
    (STATE / phase).mkdir(parents=True, exist_ok=True)
    (STATE / phase / "progress.json").write_text(text)


def finish(phase: str) -> None:
    Path(phase).mkdir(parents=True, exist_ok=True)
    Path(phase, "history.csv").write_text("")


def fail(phase: str, reason: str) -> None:
    (STATE / phase).mkdir(parents=True, exist_ok=True)
    (STATE / phase / "failure.json").write_text(json.dumps({"reason": reason, "log": f"logs/train/{phase}.log"}))


# Counting


def test_jobs_are_read_from_the_log_as_it_grows(plan: Plan) -> None:
    watch = run._Watch(plan, LOG)
    watch.look()
    assert watch.words() == "building the graph"
    with LOG.open("w") as log:
        for text, jobs in [
            ("Building DAG of jobs...\n", (0, 0)),
            ("1 of 12 steps (8%) done\n", (1, 12)),
            ("Finished jobid: 3\n10 of 12 steps (83%)", (1, 12)),
            (" done\n1", (10, 12)),
            ("1 of 12 steps (92%) done\n", (11, 12)),
            ("in a text: 5 of 7 steps\n", (11, 12)),
        ]:
            log.write(text)
            log.flush()
            watch.look()
            assert (watch.done, watch.jobs) == jobs
    assert watch.words() == "11 of 12 jobs"


def test_a_log_with_strange_bytes_or_gone_ends_nothing(plan: Plan) -> None:
    LOG.write_bytes(b"\xff\xfe\x00 of\n3 of 9 steps (33%) done\n")
    watch = run._Watch(plan, LOG)
    watch.look()
    LOG.unlink()
    watch.look()
    assert (watch.done, watch.jobs) == (3, 9)


@pytest.mark.parametrize(
    ("text", "rounds"),
    [
        ('{"done": 1}', 1),
        ('{"done": 2}', 2),
        ('{"done": 99}', 2),
        ('{"done": -5}', 0),
        ("", 0),
        ("{", 0),
        ("[]", 0),
        ("null", 0),
        ("{}", 0),
        ('{"done": null}', 0),
        ('{"done": "x"}', 0),
        ('{"done": [1]}', 0),
    ],
)
def test_rounds_of_a_running_phase(plan: Plan, text: str, rounds: int) -> None:
    progress(FIRST, text)
    assert run._Watch(plan, LOG).rounds == rounds


def test_rounds_of_all_phases(plan: Plan) -> None:
    watch = run._Watch(plan, LOG)
    assert (watch.rounds, watch.all_rounds) == (0, 28)
    finish(FIRST)
    progress(f"{FIRST}/fedavg@6", '{"done": 5}')
    progress(f"{RUNS}/seed9/fedavg@2", '{"done": 2}')
    watch.next_count = 0
    watch.look()
    assert watch.rounds == 2 + 3


def test_a_run_without_phases(plan: Plan) -> None:
    plan.grid.phases.clear()
    watch = run._Watch(plan, LOG)
    watch.look()
    assert (watch.rounds, watch.all_rounds, watch.left()) == (0, 0, None)
    assert watched(plan, "")[0] == 0


def test_time_left_follows_the_rounds_since_the_start(plan: Plan) -> None:
    finish(FIRST)
    watch = run._Watch(plan, LOG)
    assert watch.left() is None
    watch.began -= 10
    progress(f"{FIRST}/fedavg@6", '{"done": 6}')
    watch.look()
    assert watch.rate() == pytest.approx(0.4, rel=0.05)
    assert watch.left() == pytest.approx((28 - 6) / 0.4, rel=0.05)
    watch.jobs = 5
    assert watch.words() == "0 of 5 jobs, 0.4 rounds/s"


def test_looking_takes_a_small_part_of_the_time(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large grid on a network file system: counting takes long, so it is done rarely."""
    counted = []

    def slow(watch: run._Watch) -> int:
        counted.append(1)
        time.sleep(0.05)
        return 0

    monkeypatch.setattr(run._Watch, "_rounds", slow)
    watch = run._Watch(plan, LOG)
    for _ in range(10):
        watch.look()
    assert len(counted) == 2


def test_progress_of_earlier_runs_is_forgotten(plan: Plan) -> None:
    progress(FIRST, '{"done": 2}')
    run._clear_progress(plan)
    assert run._Watch(plan, LOG).rounds == 0


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0:00"), (59.9, "0:59"), (61, "1:01"), (3600, "1:00:00"), (90061, "25:01:01")]
)
def test_clock(seconds: float, words: str) -> None:
    assert run._clock(seconds) == words


# Running


def watched(plan: Plan, script: str) -> tuple[int, str]:
    out = io.StringIO()
    code = run._watched([sys.executable, "-c", script], LOG, plan, Console(file=out, width=100))
    return code, out.getvalue()


@pytest.mark.parametrize(
    ("script", "code"), [("", 0), ("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 9)", 137)]
)
def test_the_exit_code_is_snakemakes(plan: Plan, script: str, code: int) -> None:
    assert watched(plan, script)[0] == code


def test_the_last_line_says_how_far_it_came(plan: Plan) -> None:
    code, text = watched(plan, "print('4 of 6 steps (67%) done')")
    assert code == 0
    assert "4 of 6 jobs" in text
    assert LOG.read_text() == "4 of 6 steps (67%) done\n"


def test_a_signal_reaches_snakemake_and_its_end_is_waited_for(plan: Plan, tmp_path: Path) -> None:
    child = (
        "import signal, time, pathlib\n"
        "def stop(*_): time.sleep(0.2); pathlib.Path('stopped').write_text(''); raise SystemExit(7)\n"
        "signal.signal(signal.SIGTERM, stop)\n"
        "pathlib.Path('ready').write_text('')\n"
        "time.sleep(30)\n"
    )
    script = (
        "import sys; from pathlib import Path; from rich.console import Console\n"
        "from fedsift.terminal import run; from fedsift.workflow import Plan\n"
        f"sys.exit(run._watched([sys.executable, '-c', {child!r}], Path({str(LOG)!r}), Plan.of_files([]), Console()))"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path, stdout=subprocess.DEVNULL)
    for _ in range(200):
        if Path("ready").exists():
            break
        time.sleep(0.05)
    os.kill(parent.pid, signal.SIGTERM)
    assert parent.wait(timeout=20) == 7
    assert Path("stopped").exists()


def test_snakemake_gets_every_overlay_and_every_argument(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """As its own parser understands the command."""
    for file in ("config/big.yaml", "one.yaml", "profiles/local/config.yaml"):
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).write_text("checkpoint_rounds: 3\n")
    commands: list[list[str]] = []

    def noted(command: list[str], *_: object) -> int:
        commands.append(command)
        LOG.write_text("")
        return 0

    monkeypatch.setattr(run, "_watched", noted)
    assert run.run("big", "local", [Path("one.yaml")], ["--cores", "2", "reports/big/index.html"]) == 0
    assert run.run("quick", "local", [], ["-n"]) == 0
    parser = snakemake.cli.get_argument_parser()
    first, second = (parser.parse_args(command[1:]) for command in commands)
    assert first.configfile == [Path("config/big.yaml"), Path("one.yaml")]
    assert (first.targets, first.cores, first.profile) == (["reports/big/index.html"], 2, ["profiles/local"])
    assert (second.configfile, second.dryrun) == ([], True)


def test_sets_that_will_be_refused_are_named_before_the_run(plan: Plan) -> None:
    assert run._refused(plan) == []
    text = MINIATURE.replace("kind: closed-set, rate: 0.4", "kind: open-set, source: imagenet32, rate: 0.4")
    Path("config.yaml").write_text(text)
    assert run._refused(Plan.of_files([])) == ["imagenet32"]
    Path("config.yaml").write_text(text + "data: {accept_unverified: [imagenet32]}\n")
    assert run._refused(Plan.of_files([])) == []


def test_an_unknown_profile_or_scale(plan: Plan) -> None:
    Path("profiles/local").mkdir(parents=True)
    with pytest.raises(FedsiftError, match=r"^no profile 'local' in profiles/; there are: none\.$"):
        run.run("quick", "local", [], [])
    Path("profiles/local/config.yaml").write_text("")
    with pytest.raises(FedsiftError, match=r"^no profile 'slrm' in profiles/; there are: local\.$"):
        run.run("quick", "slrm", [], [])
    with pytest.raises(FedsiftError, match=r"^no scale 'big': "):
        run.run("big", "local", [], [])


# Summary


def summary(plan: Plan, code: int = 1) -> str:
    out = io.StringIO()
    run._summary(plan, "quick", LOG, code, Console(file=out, width=60))
    return out.getvalue()


def test_nothing_has_run(plan: Plan) -> None:
    LOG.write_text("")
    assert summary(plan) == (
        "0 of 6 cells done, 6 not\n"
        "  not run yet (mini/closed-set/K10/fedavg/seed0 and 5 more)\n"
        "stopped with exit code 1; Snakemake's words: logs/snakemake-quick.log\n"
    )


def test_one_line_a_cause(plan: Plan) -> None:
    LOG.write_text("")
    fail(FIRST, "out of memory; ask for more (mem_mb) or lower evaluation.batch_size.")
    fail(f"{RUNS}/seed1/fedavg@2", "the disk is full.")
    lines = summary(plan).splitlines()
    assert lines[0] == "0 of 6 cells done, 6 not"
    assert lines[1:3] == [
        "  failed: out of memory; ask for more (mem_mb) or lower evaluation.batch_size. "
        f"(mini/closed-set/K10/fedavg/seed0 and 2 more; log: logs/train/{FIRST}.log)",
        "  failed: the disk is full. "
        f"(mini/closed-set/K10/fedavg/seed1 and 2 more; log: logs/train/{RUNS}/seed1/fedavg@2.log)",
    ]


def test_the_same_cause_in_many_phases_is_one_line(plan: Plan) -> None:
    LOG.write_text("")
    for phase in (FIRST, f"{RUNS}/seed1/fedavg@2"):
        fail(phase, "the disk is full.")
    assert len([line for line in summary(plan).splitlines() if "disk" in line]) == 1


def test_many_causes_are_cut_short(plan: Plan) -> None:
    (table,) = plan.grid.tables.values()
    missing = [(table, table.cells[0], f"failed: cause {number}") for number in range(15)]
    lines = list(run._reasons(missing))
    assert len(lines) == 11
    assert lines[-1] == "and 5 more reasons; the report's tables name them all"


def test_words_of_snakemake_are_repeated_once(plan: Plan) -> None:
    LOG.write_text("x\nerror: this is it.\n    error: this is it.\nWorkflowError:\nno rule\nlater\n")
    assert summary(plan).splitlines()[-3:] == ["  error: this is it.", "  WorkflowError:", "  no rule"]
    LOG.unlink()
    assert "stopped with exit code 1" in summary(plan)


def test_a_finished_run_points_to_the_report(plan: Plan) -> None:
    LOG.write_text("")
    Path("reports/quick").mkdir(parents=True)
    Path("reports/quick/index.html").write_text("")
    assert summary(plan, code=0).splitlines()[-1] == "report: reports/quick/index.html"


def test_markup_in_reasons_is_text(plan: Plan) -> None:
    LOG.write_text("error: [red]no[/red] [/]\n")
    fail(FIRST, "no key [bold] in [/x].")
    text = summary(plan)
    assert "no key [bold] in [/x]." in text
    assert "error: [red]no[/red] [/]" in text
