"""The commands as a person meets them: what is printed where, and with which exit code."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import MINIATURE

ROOT = Path(__file__).parents[1]
CONFIG = MINIATURE.replace("[fedavg, loss-threshold, top-loss]", "[fedavg, top-loss]").replace("[0, 1]", "[0]")
RUN = "results/quick/mini/runs/closed-set/K10/seed0"


class Shell:
    """Runs `fedsift` in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "fedsift", *arguments]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)

    def done(self, *arguments: str) -> str:
        """Standard output of a command that succeeds and complains of nothing."""
        ended = self(*arguments)
        assert (ended.returncode, ended.stderr) == (0, "")
        return ended.stdout

    def refused(self, *arguments: str) -> str:
        """The one line of a command that the user can put right."""
        ended = self(*arguments)
        assert (ended.returncode, ended.stdout) == (1, "")
        (line,) = ended.stderr.splitlines()
        assert line.startswith("error: ")
        return line.removeprefix("error: ")


@pytest.fixture
def fedsift(tmp_path: Path) -> Shell:
    (tmp_path / "config.yaml").write_text(CONFIG)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "long.yaml").write_text("scale: long\ncheckpoint_rounds: 50\n")
    shutil.copytree(ROOT / "profiles", tmp_path / "profiles")
    return Shell(tmp_path)


def test_help_lists_every_command(fedsift: Shell) -> None:
    text = fedsift.done("--help")
    for command in ("run", "plan", "fetch", "read", "partition", "noise", "train", "table", "report", "config"):
        assert f" {command} " in text
    assert "Usage: " in fedsift.done("fetch", "--help")


@pytest.mark.parametrize("arguments", [["plam"], ["plan", "--jsn"], ["train"], ["plan", "extra"]])
def test_wrong_usage(fedsift: Shell, arguments: list[str]) -> None:
    ended = fedsift(*arguments)
    assert ended.returncode == 2
    assert "Usage: " in ended.stderr
    assert "Traceback" not in ended.stderr


# plan


def test_plan_as_json_agrees_with_itself(fedsift: Shell) -> None:
    note = json.loads(fedsift.done("plan", "--json"))
    (mini,) = note["experiments"]
    assert note["scale"] == "quick"
    assert (mini["experiment"], mini["cells"], mini["phases"]) == ("mini", 2, 3)
    assert (mini["rounds_alone"], mini["rounds"]) == (12, 10)
    assert mini["saved"] == pytest.approx(1 / 6)
    assert [phase["phase"] for phase in note["phases"]] == [
        f"{RUN}/fedavg@2",
        f"{RUN}/fedavg@2/fedavg@6",
        f"{RUN}/fedavg@2/top-loss@6",
    ]
    assert sum(phase["stop"] - phase["start"] for phase in note["phases"]) == mini["rounds"]
    assert {phase["parent"] for phase in note["phases"]} == {None, f"{RUN}/fedavg@2"}


def test_plan_lists_phases(fedsift: Shell) -> None:
    assert f"    2 - 6     {RUN}/fedavg@2/top-loss@6\n" in fedsift.done("plan", "--phases")


def test_plan_writes_specifications(fedsift: Shell) -> None:
    fedsift.done("plan", "--write")
    assert (fedsift.folder / f".fedsift/specs/{RUN}/fedavg@2/top-loss@6.json").is_file()


def test_a_scale_and_overlays(fedsift: Shell) -> None:
    (fedsift.folder / "more.yaml").write_text("checkpoint_seconds: 5\n")
    note = json.loads(fedsift.done("config", "--scale", "long", "--config", "more.yaml"))
    assert (note["scale"], note["checkpoint_rounds"], note["checkpoint_seconds"]) == ("long", 50, 5.0)
    assert note["experiments"]["mini"]["training"]["batch_size"] == 64
    assert "Scale long" in fedsift.done("plan", "--scale", "long", "--config", "more.yaml")


def test_config_prints_what_can_be_read_again(fedsift: Shell) -> None:
    text = fedsift.done("config")
    (fedsift.folder / "config.yaml").write_text(text)
    assert fedsift.done("config") == text


def test_schema_and_reference(fedsift: Shell) -> None:
    assert json.loads(fedsift.done("config", "--schema"))["title"] == "Config"
    assert fedsift.done("config", "--reference").startswith("# Configuration\n")


# Errors


@pytest.mark.parametrize("command", ["plan", "config", "run"])
def test_a_configuration_that_cannot_work(fedsift: Shell, command: str) -> None:
    (fedsift.folder / "config.yaml").write_text(CONFIG.replace("alpha:", "alfa:"))
    line = fedsift.refused(command)
    assert line == "config.yaml:9: unknown key 'experiments.mini.partition.alfa'; did you mean 'alpha'?"


@pytest.mark.parametrize("command", ["plan", "config", "run"])
def test_an_unknown_scale(fedsift: Shell, command: str) -> None:
    line = fedsift.refused(command, "--scale", "lnog")
    assert line == "no scale 'lnog': config/lnog.yaml does not exist; scales: long, quick."


def test_an_unknown_profile(fedsift: Shell) -> None:
    line = fedsift.refused("run", "--profile", "cloud")
    assert line.startswith("no profile 'cloud' in profiles/; there are: local")


def test_another_folder(fedsift: Shell) -> None:
    (fedsift.folder / "config.yaml").unlink()
    assert fedsift.refused("plan") == (
        "config.yaml: no such configuration file; run fedsift in the project's folder, where config.yaml lies."
    )
    assert "nowhere.yaml: no such configuration file" in Shell(ROOT).refused("plan", "--config", "nowhere.yaml")


@pytest.mark.parametrize("command", ["partition", "noise", "train", "table", "report"])
def test_a_specification_that_is_not_there(fedsift: Shell, command: str) -> None:
    line = fedsift.refused(command, "gone.json")
    assert line == "gone.json: no such specification; `fedsift plan --write` makes them."


@pytest.mark.parametrize("command", ["partition", "report"])
def test_a_specification_of_another_stage(fedsift: Shell, command: str) -> None:
    (fedsift.folder / "other.json").write_text("{}")
    assert fedsift.refused(command, "other.json").startswith("other.json: not a ")


@pytest.mark.parametrize("command", ["fetch", "read"])
def test_an_unknown_data_set(fedsift: Shell, command: str) -> None:
    assert "did you mean digits" in fedsift.refused(command, "digitz")
    (fedsift.folder / "site.yaml").write_text("data: {own: {mine: {npz: nowhere}}}\n")
    assert "train.npz is missing" in fedsift.refused(command, "mine", "--config", "site.yaml")


def test_stages_before_their_inputs(fedsift: Shell) -> None:
    fedsift.done("plan", "--write")
    specs = ".fedsift/specs/results/quick/mini"
    missing = "data/arrays/digits.safetensors is missing: run the data step first."
    assert fedsift.refused("partition", f"{specs}/partitions/K10.parquet.json") == missing
    assert fedsift.refused("noise", f"{specs}/noises/closed-set/K10.parquet.json") == missing


FAULT = """
import sys
from fedsift import cli, workflow
def fault(*_): raise KeyError("inner")
workflow.scale_files = fault
sys.argv = ["fedsift", "plan"]
cli.main()
"""


def test_a_fault_of_the_program_shows_where_it_is(fedsift: Shell) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", FAULT], cwd=fedsift.folder, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 70
    assert ended.stderr.startswith("Traceback")
    assert ended.stderr.splitlines()[-1] == ("error: a fault in fedsift itself (KeyError: 'inner'); please report it.")


def test_a_reader_that_goes_away_is_no_fault(fedsift: Shell) -> None:
    command = f"{sys.executable} -m fedsift config --reference | head -c 10"
    ended = subprocess.run(command, shell=True, cwd=fedsift.folder, capture_output=True, text=True, check=False)
    assert ended.stdout == "# Configur"
    assert "Traceback" not in ended.stderr
    assert "fault" not in ended.stderr


# Every stage by hand


@pytest.mark.slow
def test_the_stages_by_hand(fedsift: Shell) -> None:
    fedsift.done("plan", "--write")
    specs = ".fedsift/specs/results/quick/mini"
    fedsift("fetch", "digits")
    fedsift.done("read", "digits")
    fedsift.done("partition", f"{specs}/partitions/K10.parquet.json")
    fedsift.done("noise", f"{specs}/noises/closed-set/K10.parquet.json")
    settings = ".fedsift/specs/quick.settings.json"
    child = f"{specs}/runs/closed-set/K10/seed0/fedavg@2/top-loss@6.json"
    assert "checkpoint.safetensors" in fedsift.refused("train", child)
    for phase in ("fedavg@2", "fedavg@2/top-loss@6"):
        assert (
            fedsift("train", f"{specs}/runs/closed-set/K10/seed0/{phase}.json", "--settings", settings).returncode == 0
        )
        assert (fedsift.folder / RUN / phase / "history.csv").is_file()
    shutil.copytree(ROOT / "reports" / "reference", fedsift.folder / "reports" / "reference")
    # The other method was not run, which a table says.
    assert fedsift("table", ".fedsift/specs/reports/quick/mini.json").returncode == 0
    assert fedsift("report", ".fedsift/specs/reports/quick.json").returncode == 0
    assert "Miniature" in (fedsift.folder / "reports" / "quick" / "index.html").read_text()
