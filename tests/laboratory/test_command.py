"""`fedsift market` as a person meets it."""

import csv
import hashlib
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from laboratory.made import NAIVE

from fedsift.laboratory.results import OWN


def fedsift(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "fedsift", "market", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def done(*arguments: str | Path) -> str:
    ended = fedsift(*arguments)
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


def refused(*arguments: str | Path) -> str:
    ended = fedsift(*arguments)
    assert (ended.returncode, ended.stdout) == (1, "")
    (line,) = ended.stderr.splitlines()
    return line.removeprefix("error: ")


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


SMALL = ("--rounds", "60", "--clients", "20", "--budget", "20", "--audit", "20")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lab") / "all"
    done("iaofl", "ospb", "ospm", *SMALL, "--lie", "1", "--out", folder)
    return folder


def test_all_files_are_there_and_agree(small: Path) -> None:
    assert {path.name for path in small.iterdir()} == set(OWN)
    hires, rounds = table(small / "hires.csv"), table(small / "rounds.csv")
    summary, stages = table(small / "summary.csv"), table(small / "stages.csv")
    assert list(hires[0]) == ["mechanism", "t", "client", "b", "q", "price"]
    assert list(rounds[0])[:6] == ["mechanism", "t", "stage", "bidders", "hired", "spent"]
    assert len(rounds) == 3 * 60
    bids = {(row["t"], row["client"]): (row["b"], row["q"]) for row in table(small / "bids.csv")}
    assert all(bids[row["t"], row["client"]] == (row["b"], row["q"]) for row in hires)
    for row in summary:
        of = row["mechanism"]
        paid = sum(float(hire["price"]) for hire in hires if hire["mechanism"] == of)
        assert float(row["spend"]) == pytest.approx(paid)
        assert sum(float(round_["spent"]) for round_ in rounds if round_["mechanism"] == of) == pytest.approx(paid)
        assert sum(float(stage["spent"]) for stage in stages if stage["mechanism"] == of) == pytest.approx(paid)
        assert int(row["hires"]) == sum(hire["mechanism"] == of for hire in hires)
    assert max(float(row["gain"]) for row in table(small / "audit.csv")) <= 1e-9
    about = json.loads((small / "summary.json").read_text())
    assert [one["name"] for one in about["mechanisms"]] == ["iaofl", "ospb", "ospm"]
    assert (about["rounds"], about["budget"], about["bids"]) == (60, 20.0, len(bids))


def test_equal_bytes(small: Path, tmp_path: Path) -> None:
    done("iaofl", "ospb", "ospm", *SMALL, "--lie", "1", "--out", tmp_path)
    assert digests(small) == digests(tmp_path)


def test_its_own_log_gives_the_same_hires(small: Path, tmp_path: Path) -> None:
    given = ("--bids", small / "bids.csv", "--budget", "20", "--audit", "0", "--out", tmp_path)
    done("iaofl", "ospb", "ospm", *given, "--rounds", "60", "--clients", "20")
    for name in ("bids.csv", "hires.csv", "rounds.csv", "stages.csv", "summary.csv", "prices.svg"):
        assert (tmp_path / name).read_bytes() == (small / name).read_bytes()


def test_a_log_in_the_folder_stays_and_old_files_go(tmp_path: Path) -> None:
    log = tmp_path / "bids.csv"
    log.write_text("t,client,b\n1,0,0.10\n2,1,0.2\n")
    (tmp_path / "mine.txt").write_text("mine")
    done("ospb", "--bids", log, "--lie", "1", "--out", tmp_path)
    assert {"audit.csv", "lies.csv", "lies.svg"} <= {path.name for path in tmp_path.iterdir()}
    done("ospb", "--bids", log, "--audit", "0", "--out", tmp_path)
    assert not {"audit.csv", "lies.csv", "lies.svg"} & {path.name for path in tmp_path.iterdir()}
    assert log.read_text() == "t,client,b\n1,0,0.10\n2,1,0.2\n"
    assert (tmp_path / "mine.txt").exists()


def test_json_is_the_summary_file(tmp_path: Path) -> None:
    text = done("iaofl", *SMALL, "--quality", "one", "--set", "max_num=4", "--json", "--out", tmp_path)
    assert text == (tmp_path / "summary.json").read_text()
    about = json.loads(text)
    assert about["log"] == {"source": "drawn", "share": 0.3, "w": 0.5, "quality": "one"}
    (iaofl,) = about["mechanisms"]
    assert iaofl["options"]["max_num"] == 4
    assert iaofl["truthfulness"]["with_a_paying_lie"] == 0


def test_a_rule_of_ones_own_is_found_out(tmp_path: Path) -> None:
    text = done(NAIVE, "iaofl", "--set", "max_num=3", "--clients", "60", "--rounds", "128", "--out", tmp_path)
    words = " ".join(text.split())
    assert "bidders have one that pays in its round" in words
    assert "iaofl: " in words and "none pays in its round." in words
    assert "it says nothing of lies that pay in later rounds" in words


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["iaolf"], "no mechanism 'iaolf'; did you mean 'iaofl'?"),
        (["iaofl", "--set", "min_num=9"], "iaofl: min_num 9 is above max_num 8; lower it or raise max_num."),
        (["iaofl", "--budget", "-1"], "--budget is -1.0; give a number above 0."),
        (["iaofl", "--budget", "nan"], "--budget is nan; give a number above 0."),
        (["iaofl", "--budget", "0"], "--budget is 0.0; give a number above 0."),
        (["iaofl", "--rounds", "0"], "--rounds is 0; give a number from 1 to 10,000,000."),
        (["iaofl", "--share", "2"], "--share: 'share' is 2.0; allowed: number above 0 and up to 1."),
        (["iaofl", "--quality", "two"], "--quality: 'quality' is 'two'; allowed: `uniform` or `one`."),
        (["iaofl", "--bids", "no.csv"], "no.csv: no such file; --bids takes a CSV file with t, client, b and q."),
        (
            ["iaofl", "--bids", "no.csv", "--share", "1"],
            "--share is for drawn logs, and --bids gives one; leave out one of them.",
        ),
    ],
)
def test_refusals(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    out = tmp_path / "out"
    assert refused(*arguments, "--out", out) == sentence
    assert not out.exists()


def test_a_log_that_contradicts_the_options(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("t,client,b\n1,0,0.1\n3,4,0.2\n")
    common = ("ospb", "--bids", log, "--out", tmp_path / "out")
    assert (
        refused(*common, "--rounds", "2")
        == f"{log}:3: round 3 is above --rounds 2; raise it to 3 or cut the log there."
    )
    assert refused(*common, "--clients", "3") == f"{log}:3: client 4 is not below --clients 3; raise it to 5."
    words = "File exists; --out takes a folder that can be written to."
    assert refused("ospb", "--bids", log, "--out", log) == f"{log}: {words}"


def test_wrong_usage() -> None:
    for arguments in (["--out", "x"], ["iaofl"], ["iaofl", "--out", "x", "--audit", "-1"]):
        assert fedsift(*arguments).returncode == 2


def test_torch_stays_out() -> None:
    script = "import sys, fedsift.laboratory.command, fedsift.laboratory.plots; print('torch' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout == "False\n"


@pytest.mark.slow
def test_a_million_arrivals(tmp_path: Path) -> None:
    """21 s for three mechanisms on one busy core."""
    start = time.monotonic()
    done("iaofl", "ospb", "ospm", "--rounds", "33500", "--audit", "0", "--out", tmp_path)
    assert time.monotonic() - start < 180
    with (tmp_path / "bids.csv").open() as file:
        assert sum(1 for _ in file) > 1_000_000
