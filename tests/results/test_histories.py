"""Histories become figures or reasons."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedsift.results.histories import COLUMNS, Missing, read_cell
from fedsift.results.runs import Run
from fedsift.specs import CellSpec

STATE = Path("state")


def cell(*phases: str) -> CellSpec:
    return CellSpec(noise="closed-set", clients=10, method="loss-ocsvm", seed=0, phases=list(phases))


def read(rounds: int, *phases: str) -> Run:
    run = read_cell(cell(*phases), rounds, STATE)
    assert isinstance(run, Run), run
    return run


def missing(rounds: int, *phases: str) -> Missing:
    outcome = read_cell(cell(*phases), rounds, STATE)
    assert isinstance(outcome, Missing)
    return outcome


def test_best_round_is_the_first_of_ties_and_f1_is_read_there(made: Any) -> None:
    rows = [
        made.row(0, 0.3),
        made.row(1),
        made.row(2, 0.6, macro_f1=0.41),
        made.row(3, 0.6, macro_f1=0.9),
        made.row(4, 0.5),
    ]
    made.history("a", rows)
    run = read(5, "a")
    assert run.evaluated.tolist() == [0, 2, 3, 4]
    assert (run.best_round, run.last_round) == (2, 4)
    assert run.final("accuracy", "best") == 0.6
    assert run.final("macro_f1", "best") == 0.41
    assert run.final("accuracy", "last") == 0.5


def test_mean_of_the_last_ten_evaluations(made: Any) -> None:
    accuracies = [0.9] * 5 + [0.01 * k for k in range(10)]
    made.history(
        "a",
        [made.row(2 * k + j, a if j == 0 else None) for k, a in enumerate(accuracies) for j in (0, 1)][:-1],
    )
    assert read(29, "a").final("accuracy", "last-10") == pytest.approx(0.045)


def test_mean_of_fewer_evaluations_where_there_are_fewer(made: Any) -> None:
    made.history("a", [made.row(0, 0.2), made.row(1, 0.4)])
    assert read(2, "a").final("accuracy", "last-10") == pytest.approx(0.3)


def test_detection_is_averaged_over_rounds_with_selection_each_figure_where_it_is_defined(made: Any) -> None:
    made.history(
        "a",
        [
            made.row(0, 0.2),
            made.row(1, 0.3, detection_precision=0.5, detection_recall=0.2),
            made.row(2, 0.3, detection_precision=0.7, detection_recall=0.4, detection_auc=0.9),
        ],
    )
    run = read(3, "a")
    assert run.selecting.tolist() == [1, 2]
    assert run.detection("detection_precision") == pytest.approx(0.6)
    assert run.detection("detection_recall") == pytest.approx(0.3)
    assert run.detection("detection_auc") == pytest.approx(0.9)


def test_without_selection_there_is_no_detection_and_without_decoder_no_mse(made: Any) -> None:
    made.history("a", [made.row(0, 0.2, mse="")])
    run = read(1, "a")
    assert run.detection("detection_recall") is None
    assert run.final("mse", "best") is None


def test_phases_are_concatenated(made: Any) -> None:
    made.history("a", [made.row(0, 0.2), made.row(1)])
    made.history("a/b", [made.row(2), made.row(3, 0.4)])
    assert read(4, "a", "a/b").evaluated.tolist() == [0, 3]


def test_not_run_yet_names_the_first_missing_phase(made: Any) -> None:
    made.history("a", [made.row(0, 0.2)])
    outcome = missing(3, "a", "a/b", "a/b/c")
    assert outcome.reason == "not run yet: a/b"
    assert outcome.short == "not run yet"


def test_a_failure_tells_its_reason(made: Any) -> None:
    note = STATE / "a" / "failure.json"
    note.parent.mkdir(parents=True)
    note.write_text(json.dumps({"reason": "The disk\n is full.", "log": "logs/a.log"}))
    outcome = missing(1, "a")
    assert outcome.reason == "failed: a: The disk is full. (log: logs/a.log)"
    assert outcome.short == "failed: The disk is full."


@pytest.mark.parametrize("text", ["", "[]", "3", "{", '{"log": "x"}', '"reason"'])
def test_a_broken_failure_note_is_still_a_failure(made: Any, text: str) -> None:
    note = STATE / "a" / "failure.json"
    note.parent.mkdir(parents=True)
    note.write_text(text)
    assert missing(1, "a").kind == "failed"


def test_a_finished_history_counts_although_an_old_failure_lies_there(made: Any) -> None:
    note = STATE / "a" / "failure.json"
    note.parent.mkdir(parents=True)
    note.write_text(json.dumps({"reason": "Killed.", "log": "x"}))
    made.history("a", [made.row(0, 0.2)])
    assert read(1, "a").last_round == 0


def test_participation_classes_and_divergence(made: Any) -> None:
    rows = [made.row(0, averaged=2), made.row(1, 0.25, class_recall="0.5 - 0", weight_divergence=1.5)]
    made.history("a", rows)
    run = read(2, "a")
    assert (run.clients.tolist(), run.averaged.tolist()) == ([3, 3], [2, 3])
    np.testing.assert_array_equal(run.class_recall, [[np.nan] * 3, [0.5, np.nan, 0]])
    assert run.columns["weight_divergence"][1] == 1.5
    assert (run.final("accuracy", 1), run.final("accuracy", 2), run.final("accuracy", 3)) == (None, 0.25, None)


def test_columns_are_those_that_training_writes() -> None:
    from fedsift.training import history

    assert COLUMNS == history.COLUMNS


def test_an_old_history_is_refused(made: Any) -> None:
    made.history("a", [made.row(0, 0.2)])
    head, row = Path("a/history.csv").read_text().splitlines()
    old = [at for at, name in enumerate(COLUMNS) if name not in ("averaged", "class_recall", "weight_divergence")]
    lines = [",".join(line.split(",")[at] for at in old) for line in (head, row)]
    Path("a/history.csv").write_text("\n".join(lines) + "\n")
    assert missing(1, "a").reason == "unusable history: a: the header is not that of a history"


def test_a_diverged_run_is_no_number(made: Any) -> None:
    made.history("a", [made.row(0, 0.9), made.row(1, status="diverged")])
    outcome = missing(4, "a", "a/b")
    assert outcome.reason == "diverged: a: the model was no longer finite in round 1"


EVALUATION = ("accuracy", "balanced_accuracy", "macro_f1", "macro_precision", "macro_recall", "class_recall")
LOST = ("loss", "cross_entropy", "mse", "psnr", "ssim")
BROKEN = {
    "some of the evaluation": {"macro_f1": ""},
    "line 3: accuracy is 'nan', not a finite number": {"accuracy": "nan"},
    "line 3: loss is 'inf', not a finite number": {"loss": "inf"},
    "line 3: accuracy is 1.2, not a share": {"accuracy": 1.2},
    "line 3: accuracy is -0.1, not a share": {"accuracy": -0.1},
    "line 3: macro_f1 is 'x', not a finite number": {"macro_f1": "x"},
    "line 3: used is '-1', not a count": {"used": -1},
    "line 3: used is '1.5', not a count": {"used": 1.5},
    "has the status 'lost'": {"status": "lost"},
    "has the status 'diverged'": {"status": "diverged"},
    "line 3 is round 2 where round 1 should follow": {"round": 2},
    "line 3 is round 0 where round 1 should follow": {"round": 0},
    "losses without an evaluation": dict.fromkeys(EVALUATION, ""),
    "line 3 has more models averaged than clients trained": {"averaged": 4},
    "line 3: averaged is '', not a count": {"averaged": ""},
    "class_recall has 2 classes in round 1 and 3 in the last": {"class_recall": "0.3 1"},
    "line 3: class_recall is '', not a finite number": {"class_recall": "0.3  1"},
    "line 3: class_recall is 1.5, not a share": {"class_recall": "0.3 1.5 -"},
    "line 3 has some of": {"class_recall": ""},
    "line 3 has some of the evaluation's values but not all": dict.fromkeys(EVALUATION[:-1], ""),
    "line 3: weight_divergence is -0.1, less than 0": {"weight_divergence": -0.1},
    "line 3: weight_divergence is 'nan', not a finite": {"weight_divergence": "nan"},
    "line 3 has losses without": dict.fromkeys((*EVALUATION, *LOST), "") | {"weight_divergence": 0.1},
}


@pytest.mark.parametrize(("message", "values"), BROKEN.items(), ids=list(BROKEN))
def test_a_broken_history_is_a_reason(made: Any, message: str, values: dict[str, object]) -> None:
    made.history("a", [made.row(0, 0.2), made.row(1, 0.3) | values, made.row(2, 0.4)])
    outcome = missing(3, "a")
    assert outcome.kind == "unusable history"
    assert message in outcome.reason
    assert outcome.reason.startswith("unusable history: a: ")


def test_gap_overlap_and_length_are_reasons(made: Any) -> None:
    made.history("a", [made.row(0, 0.2), made.row(1, 0.2)])
    made.history("gap", [made.row(3, 0.2)])
    made.history("overlap", [made.row(1, 0.2)])
    assert "line 2 is round 3 where round 2 should follow" in missing(4, "a", "gap").reason
    assert "line 2 is round 1 where round 2 should follow" in missing(3, "a", "overlap").reason
    assert "cover 2 rounds instead of 3" in missing(3, "a").reason
    assert "cover 2 rounds instead of 1" in missing(1, "a").reason
    assert "cover 0 rounds instead of 1" in missing(1).reason


def test_an_unevaluated_last_round_is_a_reason(made: Any) -> None:
    made.history("a", [made.row(0, 0.2), made.row(1)])
    assert "the last round, 1, was not evaluated" in missing(2, "a").reason


@pytest.mark.parametrize("data", [b"", b"round,status\n", b"\xff\xfe", b'"', b"\x00\n"])
def test_what_is_no_history_is_a_reason(made: Any, data: bytes) -> None:
    Path("a").mkdir()
    Path("a/history.csv").write_bytes(data)
    assert missing(1, "a").kind == "unusable history"


def test_a_torn_or_empty_history_is_a_reason(made: Any) -> None:
    made.history("a", [made.row(0, 0.2), made.row(1, 0.3)])
    text = Path("a/history.csv").read_text()
    Path("a/history.csv").write_text(text[: text.rindex("90")])
    assert "fields instead of" in missing(2, "a").reason
    Path("a/history.csv").write_text(text.splitlines()[0] + "\n")
    assert "it holds no round" in missing(2, "a").reason
