"""The crate of a published folder."""

import shutil
from pathlib import Path

import pytest
from checkout import ROOT
from crate.offline import issues
from crate.test_crate import entities, export, local_files

from fedsift.errors import FedsiftError
from fedsift.provenance.record import Record

PUBLISHED = ROOT / "reports" / "published" / "emfedavg"
TABLES = "mnist-shards-unequal"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One experiment's tables, of the published folder, in a writable place."""
    monkeypatch.chdir(ROOT)
    shutil.copytree(PUBLISHED / TABLES, tmp_path / "part" / TABLES)
    return tmp_path / "part"


def test_a_published_folder_as_a_crate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    out = tmp_path / "crate.zip"
    files = export(out, root=PUBLISHED)
    assert issues(out, "required") == []
    assert out.stat().st_size < 10**6
    # Every file has the place at which the run made it, so that the records' paths hold in the crate.
    record = Record.read(PUBLISHED / TABLES / "record.json")
    assert record.outputs[0].path in files
    found = entities(files)
    assert set(local_files(found)) == set(files) - {"ro-crate-metadata.json"}
    images = found["#data/mnist/train-images-idx3-ubyte.gz"]
    assert images["contentSize"] == "9912422" and len(images["contentUrl"]) == 3
    assert "Stages ran with another one" in files["README.md"].decode()


@pytest.mark.parametrize("output", ["../../outside/x", "/etc/x/y", "results"])
def test_tables_of_no_report_are_refused(folder: Path, tmp_path: Path, output: str) -> None:
    path = folder / TABLES / "record.json"
    record = Record.read(path)
    changed = record.model_copy(update={"parameters": record.parameters | {"output": output}})
    path.write_text(changed.text())
    with pytest.raises(FedsiftError, match="it is not of tables in reports"):
        export(tmp_path / "out.zip", root=folder)


def test_a_link_out_of_the_folder_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("secret")
    (folder / TABLES / "more.csv").symlink_to(tmp_path / "secret.csv")
    with pytest.raises(FedsiftError, match=r"more.csv: it leads out of part"):
        export(tmp_path / "out.zip", root=folder)


@pytest.mark.parametrize(
    ("place", "message"), [("results/x", "it describes files of another folder"), ("results", "of one experiment")]
)
def test_a_record_beside_foreign_files_is_refused(folder: Path, tmp_path: Path, place: str, message: str) -> None:
    (folder / place).mkdir(parents=True)
    shutil.copy(folder / TABLES / "record.json", folder / place / "record.json")
    with pytest.raises(FedsiftError, match=message):
        export(tmp_path / "out.zip", root=folder)


def test_a_folder_without_tables_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FedsiftError, match="no folder in it holds tables"):
        export(tmp_path / "out.zip", root=tmp_path)
