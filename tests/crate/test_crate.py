"""The crate of a scale: complete, small, the same each time, and never more than the plan makes."""

import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest
from crate.made import PHASE, RESULTS, edit_record
from crate.offline import issues

from fedsift.crate.command import run
from fedsift.errors import FedsiftError
from fedsift.provenance.record import File, Record

OUT = Path("../out.zip")
REMAINING = {
    "Organization: RECOMMENDED url property",
    "Root Data Entity: `publisher` property",
    "CreativeWork Author: RECOMMENDED affiliation property",
    "CreativeWork Author: RECOMMENDED Contextual Entity linked for the organizational `affiliation` property",
    "Application url",
    "SoftwareApplication id",
}
"""What is recommended and not there: docs/crate.md says why."""


def export(out: Path = OUT, **changes: Any) -> dict[str, bytes]:
    """The crate's files by place."""
    run(**{"scale": "quick", "overlays": [], "root": None, "agent": "Somebody", "out": out} | changes)
    with zipfile.ZipFile(out) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


def entities(files: dict[str, bytes]) -> dict[str, dict[str, Any]]:
    """The metadata by identifier."""
    return {entity["@id"]: entity for entity in json.loads(files["ro-crate-metadata.json"])["@graph"]}


def local_files(found: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The files of the crate by place."""
    there = {name: entity for name, entity in found.items() if not name.startswith("#")}
    return {unquote(name): entity for name, entity in there.items() if "File" in entity["@type"]}


def test_the_validator_finds_what_is_known_to_be_missing_and_nothing_else(project: Path) -> None:
    export()
    found = issues(OUT.resolve(), "recommended")
    assert {check for check, _, _, _ in found} <= REMAINING
    assert {severity for _, _, _, severity in found} <= {"RECOMMENDED"}


def test_every_file_is_described_by_its_own_sha256_and_size(project: Path) -> None:
    files = export()
    told = local_files(entities(files))
    assert set(told) == set(files) - {"ro-crate-metadata.json"}
    for place, entity in told.items():
        assert entity["sha256"] == hashlib.sha256(files[place]).hexdigest()
        assert entity["contentSize"] == str(len(files[place]))
        assert not Path(place).is_absolute() and ".." not in Path(place).parts


def test_odd_characters_are_encoded(project: Path) -> None:
    found = entities(export())
    encoded = "results%20%231%20%C3%BC/quick/mini/runs/open/K10/seed0/fedavg%402/history.csv"
    assert found[encoded]["name"] == f"{PHASE}/history.csv"
    assert not [name for name in found if " " in name or name.count("#") > 1]


def test_equal_inputs_give_equal_bytes(project: Path) -> None:
    export()
    Path("config.yaml").touch()
    export(Path("../other.zip"))
    assert Path("../other.zip").read_bytes() == OUT.read_bytes()
    with zipfile.ZipFile(OUT) as archive:
        assert archive.namelist() == sorted(archive.namelist())
        # Clocks in such an archive tick every other second.
        assert {entry.date_time for entry in archive.infolist()} == {(2026, 3, 1, 10, 0, 0)}


def test_reports_records_histories_and_the_workflow_are_there_but_no_data_and_no_models(project: Path) -> None:
    files = export()
    wanted = ["reports/quick/index.html", "reports/quick/mini/cells.csv", "reports/quick/mini/figures/open-rounds.svg"]
    wanted += [f"{PHASE}/history.csv", f"{PHASE}/record.json"]
    wanted += ["data/raw/digits/record.json", "data/raw/digits/fetched.json"]
    wanted += ["Snakefile", "rules/train.smk", "config.yaml", "envs/requirements.lock", "reports/reference/mtae.yaml"]
    assert {*wanted} <= set(files)
    assert not [name for name in files if name.endswith((".safetensors", ".parquet", ".gz", ".jpg", ".png"))]
    absent = entities(files)[f"#not-here/{quote(PHASE)}/checkpoint.safetensors"]
    assert absent["sha256"] == hashlib.sha256(Path(PHASE, "checkpoint.safetensors").read_bytes()).hexdigest()


def test_the_run_its_software_data_licences_and_papers(project: Path) -> None:
    found = entities(export())
    root, action = found["./"], found["#run"]
    assert root["mainEntity"] == {"@id": "Snakefile"} == action["instrument"]
    assert root["license"] == {"@id": "https://spdx.org/licenses/MIT"}
    assert found[root["citation"]["@id"]]["creditText"].startswith("E. Ardıç and Y. Genç")
    assert action["startTime"] == "2026-03-01T10:00:00.000+00:00"
    assert {"@id": "#data/digits"} in action["object"] and {"@id": "#data/photos"} in action["object"]
    assert found[action["agent"]["@id"]]["name"] == "Somebody"
    assert found["#software/torch-2.14.1"]["version"] == "2.14.1"
    digits = found["#data/digits"]
    assert found[digits["license"]["@id"]]["url"] == "https://creativecommons.org/licenses/by/4.0/"
    assert "Alpaydin" in found[digits["citation"]["@id"]]["name"]


def test_a_folder_holds_the_same(project: Path) -> None:
    files = export()
    run("quick", [], None, "Somebody", Path("../folder"))
    there = {path.relative_to("../folder").as_posix(): path for path in Path("../folder").rglob("*") if path.is_file()}
    assert {place: path.read_bytes() for place, path in there.items()} == files
    with pytest.raises(FedsiftError, match="not empty"):
        run("quick", [], None, "Somebody", Path("../folder"))


@pytest.mark.parametrize(
    ("gone", "message"),
    [
        ("reports/quick/index.html", "reports/quick/index.html: the report has not been made; run `fedsift run"),
        ("reports/quick/record.json", "reports/quick/record.json: no such record; run `fedsift run"),
        ("reports/quick/mini/record.json", "reports/quick/mini/record.json: no such record"),
        (f"{PHASE}/record.json", "fedavg@2/record.json: no such record"),
        (f"{PHASE}/history.csv", "fedavg@2/history.csv: no such file"),
        ("Snakefile", "Snakefile: no such file"),
    ],
)
def test_what_is_missing_is_named(project: Path, gone: str, message: str) -> None:
    Path(gone).unlink()
    with pytest.raises(FedsiftError) as error:
        export()
    assert message in str(error.value) and "\n" not in str(error.value)
    assert not OUT.exists()


def test_a_changed_file_is_refused(project: Path) -> None:
    Path("reports/quick/mini/cells.csv").write_text("better numbers\n")
    with pytest.raises(
        FedsiftError, match=r"cells.csv: it is not what .*record.json says was made; run `fedsift table`"
    ):
        export()


def test_a_phase_that_did_not_run_may_be_missing_where_the_tables_say_so(project: Path) -> None:
    record = Record.read("reports/quick/mini/record.json")
    gone = f"{PHASE}/loss-threshold@6"
    kept = [file.model_dump() for file in record.inputs if not file.path.startswith(gone)]
    edit_record("reports/quick/mini/record.json", inputs=kept, missing=[f"{gone}/history.csv"])
    Path(gone, "record.json").unlink()
    files = export()
    assert "1 inputs of its tables did not exist" in files["README.md"].decode()


def test_a_record_cannot_take_other_files_into_the_crate(project: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("secret")
    sha, place = hashlib.sha256(b"secret").hexdigest(), f"{RESULTS}/partitions/K10.parquet.record.json"
    for path in ("config/secret.csv", "secret.csv"):
        other = File(path=path, sha256=sha, size=6).model_dump()
        edit_record(place, outputs=[*(file.model_dump() for file in Record.read(place).outputs), other])
        with pytest.raises(FedsiftError, match=r"K10.parquet.record.json: it differs from what the configuration asks"):
            export()


def test_a_link_cannot_take_other_files_into_the_crate(project: Path, tmp_path: Path) -> None:
    history = Path(PHASE, "history.csv")
    secret = tmp_path / "secret.csv"
    history.rename(secret)
    history.symlink_to(secret)
    with pytest.raises(FedsiftError, match=r"history.csv: it leads out of results #1 ü"):
        export()


def test_results_may_lie_behind_a_link(project: Path, tmp_path: Path) -> None:
    Path("results #1 ü").rename(tmp_path / "scratch")
    Path("results #1 ü").symlink_to(tmp_path / "scratch")
    assert f"{PHASE}/history.csv" in export()


def test_results_of_another_configuration_are_refused(project: Path) -> None:
    text = Path("config.yaml").read_text()
    Path("config.yaml").write_text(text.replace("rate: 0.4", "rate: 0.3"))
    with pytest.raises(
        FedsiftError, match=r"record.json: it differs from what the configuration asks for in its param"
    ):
        export()


def test_a_configuration_file_elsewhere_is_refused(project: Path, tmp_path: Path) -> None:
    site = tmp_path / "site.yaml"
    site.write_text("checkpoint_rounds: 2\n")
    with pytest.raises(FedsiftError, match=r"site.yaml: the configuration file lies outside the project"):
        export(overlays=[site])


def test_authors_that_cannot_be_read_are_an_error(project: Path) -> None:
    Path("CITATION.cff").write_text("authors: 3\n")
    with pytest.raises(FedsiftError, match=r"CITATION.cff: it names no authors"):
        export()
