"""The long tables: every number, traceable."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from fedsift.errors import FedsiftError
from fedsift.results.collect import Results, collect, summary
from fedsift.results.exports import cells_csv, runs_csv
from fedsift.results.reference import Reference
from fedsift.specs import TableSpec

STATE = Path("state")


def results(made: Any, spec: TableSpec) -> Results:
    return collect(spec, STATE, Reference.load(made.reference, spec.paper))


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def cell(table: list[dict[str, str]], method: str, metric: str, at: str) -> dict[str, str]:
    (row,) = (r for r in table if (r["method"], r["metric"], r["at"]) == (method, metric, at))
    return row


def test_known_answers(made: Any) -> None:
    table = rows(cells_csv(results(made, made.finished())))
    row = cell(table, "loss-ocsvm", "accuracy", "best")
    assert float(row["mean"]) == pytest.approx(0.46)
    assert float(row["high"]) - float(row["mean"]) == pytest.approx(4.302653 * 0.01 / 3**0.5, abs=1e-7)
    assert (row["n"], row["gain_n"], row["missing"]) == ("3", "3", "")
    assert float(row["gain"]) == pytest.approx(0.05)
    assert float(row["gain_high"]) == pytest.approx(0.05)
    assert (row["paper"], row["verdict"]) == ("0.4494", "differs")
    assert float(row["difference"]) == pytest.approx(0.46 - 0.4494)
    assert row["paper_source"].startswith("digest, result table")
    assert (row["paper_gain"], row["gain_verdict"]) == ("0.052", "within margin")
    assert "+5.55" in row["note"]
    assert float(cell(table, "loss-ocsvm", "macro_f1", "last")["mean"]) == pytest.approx(0.22)
    assert float(cell(table, "fedavg", "accuracy", "last-10")["mean"]) == pytest.approx((0.1 + 0.2 + 0.41 + 0.39) / 4)
    assert cell(table, "fedavg", "accuracy", "best")["gain"] == ""
    assert cell(table, "fedavg", "accuracy", "last")["verdict"] == "no value printed"
    detection = cell(table, "loss-ocsvm", "detection_precision", "selection")
    assert (float(detection["mean"]), detection["n"]) == (pytest.approx(0.6), "3")
    assert cell(table, "fedavg", "detection_precision", "selection")["n"] == "0"


def test_reconstructions_where_there_are_any(made: Any) -> None:
    spec = made.finished()
    table = rows(cells_csv(results(made, spec)))
    assert float(cell(table, "fedavg", "psnr", "last")["mean"]) == pytest.approx(20.39)
    assert float(cell(table, "loss-ocsvm", "ssim", "best")["gain"]) == pytest.approx(0.05)
    run = rows(runs_csv(results(made, spec)))[0]
    assert (float(run["best_psnr"]), float(run["last_ssim"])) == (20.4, pytest.approx(-0.12))
    for one in spec.cells:
        made.history(one.phases[0], [made.row(at, 0.4, psnr="", ssim="") for at in range(4)])
    assert not {"psnr", "ssim"} & {row["metric"] for row in rows(cells_csv(results(made, spec)))}
    assert rows(runs_csv(results(made, spec)))[0]["best_psnr"] == ""


def test_other_scales_are_not_judged(made: Any) -> None:
    row = cell(rows(cells_csv(results(made, made.finished(scale="laptop")))), "loss-ocsvm", "accuracy", "best")
    assert row["verdict"] == row["gain_verdict"] == "scale is not the paper's"
    assert float(row["difference"]) == pytest.approx(0.46 - 0.4494)


def test_missing_seeds_are_not_counted_and_their_reasons_kept(made: Any) -> None:
    spec = made.finished()
    failed, diverged = "runs/closed-set/1000/1/1", "runs/closed-set/1000/1/2"
    Path(failed, "history.csv").unlink()
    (STATE / failed).mkdir(parents=True)
    (STATE / failed / "failure.json").write_text(json.dumps({"reason": "Out of memory.", "log": "a.log"}))
    made.history(diverged, [made.row(0, 0.9), made.row(1, status="diverged")])
    found = results(made, spec)
    row = cell(rows(cells_csv(found)), "loss-ocsvm", "accuracy", "best")
    assert (float(row["mean"]), row["low"], row["n"], row["gain_n"]) == (pytest.approx(0.45), "", "1", "1")
    assert row["missing"] == (
        f"seed 1: failed: {failed}: Out of memory. (log: a.log); "
        f"seed 2: diverged: {diverged}: the model was no longer finite in round 1"
    )
    done, missing = summary(spec, STATE)
    assert done == 4
    assert [(one.method, one.seed) for one, _ in missing] == [("loss-ocsvm", 1), ("loss-ocsvm", 2)]
    assert missing[0][1] == f"failed: {failed}: Out of memory. (log: a.log)"


def test_runs_trace_every_number_to_its_phases(made: Any) -> None:
    spec = made.finished()
    Path("runs/closed-set/1000/0/2/history.csv").unlink()
    table = rows(runs_csv(results(made, spec)))
    assert len(table) == 6
    assert [row["status"] for row in table] == ["done", "done", "not run yet", "done", "done", "done"]
    assert table[2]["reason"] == "not run yet: runs/closed-set/1000/0/2"
    run = table[4]
    assert run["phases"] == "runs/closed-set/1000/1/1"
    assert float(run["best_accuracy"]) == 0.4 + 1 / 100 + 0.05
    assert (run["best_round"], run["last_round"], run["evaluations"]) == ("2", "3", "4")
    assert (run["selection_start"], run["selection_rounds"]) == ("2", "2")
    assert float(run["detection_auc"]) == 0.8
    assert table[0]["selection_start"] == ""


def test_the_order_of_the_cells_does_not_matter(made: Any) -> None:
    spec = made.finished()
    turned = spec.model_copy(update={"cells": spec.cells[::-1]})
    for export in (cells_csv, runs_csv):
        assert export(results(made, spec)) == export(results(made, turned))


def test_cells_outside_the_grid_or_twice_are_errors(made: Any) -> None:
    spec = made.spec()
    with pytest.raises(FedsiftError, match="is there twice"):
        summary(spec.model_copy(update={"cells": spec.cells[:1] * 2}))
    with pytest.raises(FedsiftError, match="outside its grid"):
        summary(spec.model_copy(update={"methods": ["fedavg"]}))
