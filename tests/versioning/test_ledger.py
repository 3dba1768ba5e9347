"""The ledger."""

import json

from provenance.records import SHA, values

from fedsift.provenance.record import Record
from fedsift.versioning.ledger import ledger, ledger_path


def record(**others: object) -> Record:
    return Record.model_validate(values(**others))


def test_a_sorted_line_a_job() -> None:
    text = ledger([("b/record.json", record()), ("a/record.json", record(stage="table"))])
    first, second = map(json.loads, text.splitlines())
    assert first["record"] == "a/record.json"
    assert first["parameters"] is None
    assert second == {
        "record": "b/record.json",
        "stage": "train",
        "code": SHA,
        "parameters": values()["parameters"],
        "outputs": {"results/p/history.csv": SHA},
    }


def test_where_and_when_do_not_matter() -> None:
    later = record(started="2027-01-01T00:00:00.000Z", wall_seconds=9.0, git=None, device="NVIDIA H200")
    assert ledger([("a", later)]) == ledger([("a", record())])


def test_a_scale_has_a_file() -> None:
    assert str(ledger_path("paper")) == "provenance/paper.jsonl"
