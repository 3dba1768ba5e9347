"""Records and tables that nobody's stage has written: one sentence, no traceback, no other file of the machine."""

import json
from pathlib import Path
from typing import Any

import pytest
from audit.conftest import Audited
from audit.made import RUNS, TABLE

from fedsift.audit.chain import Chain
from fedsift.audit.findings import Outcome
from fedsift.audit.store import Store
from fedsift.provenance.record import MOST_BYTES

PLACE = f"{RUNS}/seed0/fedavg@2/record.json"


def changed(**changes: Any) -> str:
    return json.dumps(json.loads(Path(PLACE).read_text()) | changes)


def outcome(audited: Audited) -> str:
    """The first sentence on a broken audit."""
    code, text = audited()
    assert code == 1
    (sentence, *_) = [line for line in text.splitlines() if line.startswith("broken: ")]
    return sentence


@pytest.mark.parametrize("path", ["../../etc/passwd", "results/../x", "a\nb", ""])
def test_a_path_that_leads_out(audited: Audited, path: str) -> None:
    Path(PLACE).write_text(changed(inputs=[{"path": path, "sha256": "0" * 64, "size": 1}]))
    assert PLACE in outcome(audited)


def test_an_absolute_output(audited: Audited) -> None:
    Path(PLACE).write_text(changed(outputs=[{"path": "/etc/passwd", "sha256": "0" * 64, "size": 1}]))
    assert "lies outside its own folder" in outcome(audited)


def test_an_absolute_input_without_a_record_is_not_read(audited: Audited) -> None:
    note = json.loads(Path(PLACE).read_text())
    Path(PLACE).write_text(changed(inputs=[*note["inputs"], {"path": "/dev/zero", "sha256": "0" * 64, "size": 1}]))
    assert "/dev/zero: expected a record of what made it" in outcome(audited)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '"x"', "[" * 100_000, '{"version": 1}', "\x00" * 100, "9" * 10_000],
)
def test_no_record_at_all(audited: Audited, text: str) -> None:
    Path(PLACE).write_text(text)
    assert f"{PLACE}: expected the record of a stage, found not a record" in outcome(audited)


def test_a_huge_record(audited: Audited) -> None:
    with Path(PLACE).open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    assert "it is larger than 16 MiB" in outcome(audited)


def test_a_folder_in_place_of_a_record(audited: Audited) -> None:
    Path(PLACE).unlink()
    Path(PLACE).mkdir()
    assert PLACE in outcome(audited)


@pytest.mark.parametrize("seed", [True, "0", 1e400, None, {}])
def test_parameters_of_the_wrong_type_are_no_traceback(audited: Audited, seed: object) -> None:
    parameters = json.loads(Path(PLACE).read_text())["parameters"] | {"seed": seed, "phase": 7}
    Path(PLACE).write_text(changed(parameters=parameters))
    code, text = audited()
    assert code in (1, 2)
    assert PLACE in text


def test_records_in_a_circle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, audited: Audited) -> None:
    """Each of two phases says that it was made of the other."""
    note = json.loads(Path(PLACE).read_text())
    child = f"{RUNS}/seed0/fedavg@2/fedavg@6/checkpoint.safetensors"
    made = next(file for file in json.loads(Path(child).with_name("record.json").read_text())["outputs"])
    Path(PLACE).write_text(json.dumps(note | {"inputs": [*note["inputs"], made]}))
    chain = Chain(Store())
    found = [finding.sentence for node in chain.walk(f"{TABLE}/record.json") for finding in node.findings]
    assert any("a circle over" in sentence for sentence in found)
    assert audited()[0] == 1


def test_a_long_chain_is_walked(tmp_path: Path) -> None:
    note = json.loads((Path(__file__).parents[2] / "docs" / "record.schema.json").read_text())
    assert note["title"] == "Record"
    from provenance.records import SHA, values

    for number in range(3000):
        files = [{"path": f"p{number}/checkpoint.safetensors", "sha256": SHA, "size": 3}]
        inputs = [{"path": f"p{number + 1}/checkpoint.safetensors", "sha256": SHA, "size": 3}] if number < 2999 else []
        (tmp_path / f"p{number}").mkdir()
        (tmp_path / f"p{number}/record.json").write_text(json.dumps(values(outputs=files, inputs=inputs)))
    assert len(Chain(Store(tmp_path)).walk("p0/record.json")) == 3000


@pytest.mark.parametrize("name", ["cells.csv", "runs.csv", "rounds.csv", "tables/closed-set-accuracy-best.csv"])
@pytest.mark.parametrize("text", ["", "\n", "a,b\n1\n", 'a"b,"', "noise,clients,method\nx,y,z\n", "\udcff\x00"])
def test_tables_that_are_none(audited: Audited, name: str, text: str) -> None:
    Path(f"{TABLE}/{name}").write_bytes(text.encode(errors="surrogateescape"))
    assert f"{TABLE}/{name}" in outcome(audited)


@pytest.mark.parametrize("text", ["", "round\n", "round,status\n0,ok\n", "\x00"])
def test_histories_that_are_none(audited: Audited, text: str) -> None:
    path = f"{RUNS}/seed0/fedavg@2/history.csv"
    Path(path).write_text(text)
    assert path in outcome(audited)


def test_control_characters_do_not_reach_the_terminal(audited: Audited) -> None:
    parameters = json.loads(Path(PLACE).read_text())["parameters"] | {"model": "\x1b[31mred\n"}
    Path(PLACE).write_text(changed(parameters=parameters))
    assert "\x1b" not in outcome(audited)


def test_outcomes_are_exit_codes() -> None:
    assert [int(one) for one in Outcome] == [0, 1, 2]
