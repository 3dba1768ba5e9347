"""The format: what is written can be read, and nothing else."""

import json
import os
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from provenance.records import SHA, values

from fedsift.errors import FedsiftError
from fedsift.provenance.record import MOST_BYTES, Record, plain_path, record_path, schema_text

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs" / "record.schema.json").read_text())

any_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
words = st.text(st.characters(codec="utf-8"), max_size=8)
names = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="/"), min_size=1)
paths = st.lists(names.filter(lambda name: name not in (".", "..")), min_size=1, max_size=4).map("/".join)
numbers = st.floats(allow_nan=False, allow_infinity=False)
whatever = st.recursive(
    st.none() | st.booleans() | st.integers() | numbers | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=10,
)
digests = st.text("0123456789abcdef", min_size=64, max_size=64)
files = st.lists(
    st.fixed_dictionaries({"path": paths, "sha256": digests, "size": st.integers(0, 2**63 - 1)}),
    max_size=3,
    unique_by=lambda file: file["path"],
)
moments = st.datetimes().map(lambda moment: moment.isoformat(timespec="milliseconds") + "Z")
amounts = st.floats(0, 1e12)
records = st.fixed_dictionaries(
    {
        "stage": st.from_regex(r"[a-z][a-z0-9-]*", fullmatch=True),
        "command": st.lists(words, min_size=1, max_size=3).map(lambda rest: ["fedsift", *rest]),
        "parameters": st.dictionaries(words, whatever, max_size=3),
        "outputs": files.filter(bool),
        "inputs": files,
        "lock": st.none() | digests,
        "versions": st.dictionaries(words, words, max_size=3),
        "device": st.none() | words,
        "scheduler": st.none() | st.dictionaries(st.just("SLURM_JOB_ID"), words),
        "resumed_from": st.none() | st.integers(0, 10**6),
        "started": moments,
        "ended": moments,
        "wall_seconds": amounts,
        "cpu_seconds": amounts,
        "peak_memory_mb": amounts,
    }
).map(lambda drawn: values(**drawn))


def refused(path: Path) -> str:
    """What the reader says: one sentence that begins with the file."""
    with pytest.raises(FedsiftError) as caught:
        Record.read(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert text.endswith(".")
    assert text.isascii() and text.isprintable()
    assert len(text) < len(str(path)) + 300
    return text


@given(records)
@any_folder
def test_what_is_written_is_read(tmp_path: Path, drawn: dict[str, Any]) -> None:
    record, path = Record.model_validate(drawn), tmp_path / "record.json"
    path.write_text(record.text(), encoding="utf-8")
    assert Record.read(path) == record
    assert Record.read(path).text() == record.text()
    jsonschema.validate(json.loads(path.read_text(encoding="utf-8")), SCHEMA)


@given(st.data())
@any_folder
def test_any_other_value_is_read_or_refused_in_one_sentence(tmp_path: Path, data: st.DataObject) -> None:
    path, changed = tmp_path / "record.json", values()
    place: Any = changed
    while True:
        key = data.draw(st.sampled_from(list(place) if isinstance(place, dict) else range(len(place))))
        if not (isinstance(place[key], dict | list) and place[key]) or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = data.draw(whatever)
    path.write_text(json.dumps(changed))
    try:
        Record.read(path)
    except FedsiftError:
        refused(path)


@given(st.binary(max_size=200))
@any_folder
def test_noise_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "record.json"
    path.write_bytes(content)
    refused(path)


def test_a_record_cut_short_is_refused(tmp_path: Path) -> None:
    path, text = tmp_path / "record.json", Record.model_validate(values()).text()
    for length in range(len(text.rstrip())):
        path.write_text(text[:length])
        refused(path)


WRONG = [
    ("version", 2, "version: this fedsift knows version 1"),
    ("version", True, "version"),
    ("version", 1.0, "version"),
    ("version", "1", "version"),
    ("stage", "Train", "stage"),
    ("stage", "train\n", "stage"),
    ("command", ["python", "train"], "the command must begin with 'fedsift'"),
    ("command", "fedsift train", "command"),
    ("command", [], "command"),
    ("parameters", [], "parameters"),
    ("outputs", [], "outputs"),
    ("code", SHA.upper(), "code"),
    ("code", SHA + "0", "code"),
    ("code", None, "code"),
    ("git", {"commit": "HEAD", "dirty": False}, "git.commit"),
    ("git", {"commit": "ab" * 20, "dirty": 0}, "git.dirty"),
    ("git", {"commit": "ab" * 20, "dirty": False, "branch": "main"}, "git.branch: Extra inputs are not permitted"),
    ("versions", {"torch": 2}, "versions.torch"),
    ("machine", None, "machine"),
    ("scheduler", {"HOME": "/root"}, "scheduler.HOME"),
    ("resumed_from", -1, "resumed_from"),
    ("resumed_from", True, "resumed_from"),
    ("started", "2026-03-01T10:00:00Z", "started"),
    ("started", "2026-03-01T10:00:00.000+01:00", "started"),
    ("started", "2026-02-30T10:00:00.000Z", "started"),
    ("ended", 1772359200, "ended"),
    ("wall_seconds", -0.1, "wall_seconds"),
    ("cpu_seconds", "1.25", "cpu_seconds"),
    (
        "missing",
        ["/scratch/data/arrays/mnist.safetensors"],
        "/scratch/data/arrays/mnist.safetensors cannot be both an input and missing",
    ),
    ("signature", "x", "signature: Extra inputs are not permitted"),
]


@pytest.mark.parametrize(
    ("key", "value", "words"), WRONG, ids=[f"{key}-{number}" for number, (key, *_) in enumerate(WRONG)]
)
def test_a_wrong_value_is_named(tmp_path: Path, key: str, value: Any, words: str) -> None:
    path = tmp_path / "record.json"
    path.write_text(json.dumps(values(**{key: value})))
    assert f"not a record ({words}" in refused(path)


@pytest.mark.parametrize("key", values())
def test_every_key_is_required(tmp_path: Path, key: str) -> None:
    path, rest = tmp_path / "record.json", values()
    del rest[key]
    path.write_text(json.dumps(rest))
    assert f"not a record ({key}: Field required)" in refused(path)


@pytest.mark.parametrize("kind", ["outputs", "inputs", "missing"])
@pytest.mark.parametrize(
    "name",
    ["", ".", "/", "..", "../x", "a/../b", "a/..", "/a/../etc/passwd", "a//b", "a/", "./a", "a\0b", "a\nb", "a\x1b[2J"],
)
def test_a_path_that_hides_where_it_leads_is_refused(tmp_path: Path, kind: str, name: str) -> None:
    path = tmp_path / "record.json"
    value = name if kind == "missing" else {"path": name, "sha256": SHA, "size": 0}
    path.write_text(json.dumps(values(**{kind: [value]})))
    refused(path)
    with pytest.raises(ValueError, match="a path must be normalised"):
        plain_path(name)


def test_an_absolute_output_must_lie_beside_its_record(tmp_path: Path) -> None:
    path = tmp_path / "raw" / "record.json"
    path.parent.mkdir()
    for place, fine in [(path.parent / "a.gz", True), (tmp_path / "b.gz", False), (Path("/etc/passwd"), False)]:
        path.write_text(json.dumps(values(outputs=[{"path": str(place), "sha256": SHA, "size": 0}])))
        if fine:
            assert Record.read(path).outputs[0].path == str(place)
        else:
            assert "lies outside its own folder" in refused(path)


def test_a_link_is_no_way_out(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "link").symlink_to("/etc")
    path = tmp_path / "raw" / "record.json"
    path.write_text(json.dumps(values(outputs=[{"path": f"{tmp_path}/raw/link/passwd", "sha256": SHA, "size": 0}])))
    assert "lies outside its own folder" in refused(path)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"lr": 0.5', '"lr": NaN', "NaN is not a finite number"),
        ('"lr": 0.5', '"lr": -Infinity', "-Infinity is not a finite number"),
        ('"lr": 0.5', '"lr": 1e999', "1e999 is not a finite number"),
        ('"lr": 0.5', '"lr": 0.5, "lr": 0.1', "a key is there twice"),
        ('"version": 1', '"version": 1, "version": 1', "a key is there twice"),
        ('"lr": 0.5', '"lr": ' + "[" * 100_000 + "]" * 100_000, "it is nested too deeply"),
        ('"lr": 0.5', '"lr": ' + "9" * 10_000, "Exceeds the limit"),
        ('"lr": 0.5', '"lr": "\\ud800"', "its text is not UTF-8"),
        ('"size": 3', '"size": 9223372036854775808', "outputs.0.size"),
        ('"size": 3', '"size": 3.5', "outputs.0.size"),
        ('"size": 3', '"size": -1', "outputs.0.size"),
        ("{", "\ufeff{", "Unexpected UTF-8 BOM"),
        ("{", "[{", "Expecting"),
        ("spec.json", "\\u0000\\u001b[2J" * 50, ""),
    ],
    ids=lambda value: str(value)[:30],
)
def test_hostile_json(tmp_path: Path, old: str, new: str, words: str) -> None:
    path, text = tmp_path / "record.json", json.dumps(values())
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    if words:
        assert words in refused(path)
    else:
        Record.read(path)


def test_other_encodings_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    path.write_text(json.dumps(values()), encoding="utf-16")
    assert "its text is not UTF-8" in refused(path)


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    with path.open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    assert "it is larger than 16 MiB" in refused(path)


def test_a_record_that_is_no_file(tmp_path: Path) -> None:
    assert "no such record; run the stage" in refused(tmp_path / "gone.json")
    assert "no such record" in refused(tmp_path)
    os.mkfifo(tmp_path / "pipe.json")
    assert "no such record" in refused(tmp_path / "pipe.json")


# Where, and the schema


@pytest.mark.parametrize(
    ("made", "place"),
    [
        (
            "results/q/e/runs/n/K10/seed0/fedavg.1a2b3c4d@2",
            "results/q/e/runs/n/K10/seed0/fedavg.1a2b3c4d@2/record.json",
        ),
        ("reports/q/e", "reports/q/e/record.json"),
        ("data/raw/digits", "data/raw/digits/record.json"),
        ("data/arrays/digits.safetensors", "data/arrays/digits.safetensors.record.json"),
        (
            "results/q/e/contributions/n/K10/seed0/svdd@2.csv",
            "results/q/e/contributions/n/K10/seed0/svdd@2.csv.record.json",
        ),
        ("results/q/e/noises/n/K10.parquet", "results/q/e/noises/n/K10.parquet.record.json"),
    ],
)
def test_where_a_record_lies(made: str, place: str) -> None:
    assert record_path(made) == place


def test_the_schema_does_not_drift() -> None:
    assert (ROOT / "docs" / "record.schema.json").read_text() == schema_text(), "run `make docs`"


def test_the_schema_is_closed() -> None:
    jsonschema.validate(values(), SCHEMA)
    for wrong in (values(extra=1), values(version=2), values(outputs=[]), values(git={}), values(code="0")):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, SCHEMA)


def test_the_page_tells_every_key() -> None:
    page = (ROOT / "docs" / "provenance.md").read_text()
    told = set(re.findall(r"`([a-z0-9_]+)`", page))
    assert set(Record.model_fields) <= told
