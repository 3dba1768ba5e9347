"""The workflow from raw data to the report, as a user runs it."""

import html.parser
import json
from pathlib import Path

import pandas as pd
import pytest
from checkout import MINIATURE, PHASES, Checkout

pytestmark = pytest.mark.slow


def test_a_run_ends_in_tables_and_a_report(finished: Checkout) -> None:
    cells = pd.read_csv(finished.folder / "reports/quick/mini/cells.csv")
    accuracy = cells[(cells["metric"] == "accuracy") & (cells["at"] == "best")]
    assert set(accuracy["method"]) == {"fedavg", "loss-threshold", "top-loss"}
    assert (accuracy["n"] == 2).all()
    assert accuracy["mean"].between(0.05, 1).all()
    page = (finished.folder / "reports/quick/index.html").read_text()
    html.parser.HTMLParser().feed(page)
    assert "Miniature" in page


def test_a_finished_run_has_nothing_to_do(finished: Checkout) -> None:
    assert finished.would_run() == set()


def test_every_job_has_a_log(finished: Checkout) -> None:
    for phase in PHASES:
        log = finished.folder / phase.replace("results/quick", "logs/train")
        assert "accuracy" in log.with_name(log.name + ".log").read_text()


def test_one_worker_gives_the_same_bytes_as_two(finished: Checkout, tmp_path: Path) -> None:
    other = Checkout.new(tmp_path / "other")
    other.reproduce("--cores", "1")
    assert other.published() == finished.published()


def test_the_plain_way_works_with_an_overlay(copy: Checkout) -> None:
    overlay = copy.folder / "config" / "other.yaml"
    overlay.write_text(MINIATURE.replace("scale: quick", "scale: other").replace("[0, 1]", "[0]"))
    listed = copy.phases_to_run("--configfile", "config/other.yaml")
    assert {phase.split("/")[1] for phase in listed} == {"other"}
    assert len(listed) == len(PHASES) // 2


def test_bad_configuration_is_one_sentence_before_any_job(copy: Checkout) -> None:
    config = copy.folder / "config.yaml"
    config.write_text(MINIATURE.replace("clients: [10]", "clientes: [10]"))
    text = copy.reproduce(code=1)
    assert text.strip().splitlines()[-1].startswith("error: config.yaml:")
    assert "did you mean 'clients'?" in text
    plain = copy.run("snakemake", "--profile", "profiles/local", "-n", code=1)
    assert "did you mean 'clients'?" in plain


def test_plan_agrees_with_what_is_run(finished: Checkout) -> None:
    plan = json.loads(finished.run("fedsift", "plan", "--json"))
    assert {phase["phase"] for phase in plan["phases"]} == PHASES
    assert [row["rounds"] for row in plan["experiments"]] == [2 * (2 + 3 * 4)]
