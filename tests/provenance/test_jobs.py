"""What a stage reads and makes is what the workflow says."""

import shutil
from pathlib import Path

import pytest

from fedsift.data.catalog import get, own_set
from fedsift.errors import FedsiftError
from fedsift.provenance.jobs import fetching, inputs_of, job_of, reading
from fedsift.provenance.record import record_path
from fedsift.specs import NoiseSpec, ReportSpec, TableSpec, TrainSpec
from fedsift.workflow import Plan, scale_files

ROOT = Path(__file__).parents[2]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the repository's configuration, as the working folder."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "config.yaml", "config.yaml")
    shutil.copytree(ROOT / "config", "config")
    shutil.copytree(ROOT / "reports" / "reference", "reports/reference")
    return tmp_path


@pytest.mark.parametrize("scale", ["quick", "laptop", "iaofl"])
def test_the_inputs_are_those_of_the_plan(project: Path, scale: str) -> None:
    plan = Plan.of_files(scale_files(scale))
    plan.freeze()
    for made, spec in plan.specs.items():
        named = plan.inputs(made)
        flat = [file for value in named.values() for file in ([value] if isinstance(value, str) else value)]
        assert inputs_of(spec) == flat


def test_every_job_of_a_plan(project: Path) -> None:
    plan = Plan.of_files([])
    plan.freeze()
    jobs = {made: job_of(spec) for made, spec in plan.specs.items()}
    for made, job in jobs.items():
        assert job.made == made
        assert plan.stamp(made).endswith(f"-{job.code[:16]}")
        assert type(plan.specs[made]).model_validate(job.parameters) == plan.specs[made]
        assert all(
            output == made or output.startswith((made.removesuffix(".parquet") + ".", f"{made}/"))
            for output in job.outputs
        )
    assert {job.stage for job in jobs.values()} == {"partition", "noise", "train", "contributions", "table", "report"}
    # Everything has one maker, and no two records lie in one place.
    outputs = [output for job in jobs.values() for output in job.outputs]
    places = [record_path(made) for made in jobs]
    assert len(set(outputs + places)) == len(outputs) + len(places)
    phase = next(spec for spec in plan.specs.values() if isinstance(spec, TrainSpec) and spec.parent)
    assert f"{phase.parent}/checkpoint.safetensors" in job_of(phase).inputs
    noise = next(spec for spec in plan.specs.values() if isinstance(spec, NoiseSpec))
    assert job_of(noise).outputs == [noise.output, noise.rates]


def test_records_are_no_inputs(project: Path) -> None:
    plan = Plan.of_files([])
    plan.freeze()
    for made, spec in plan.specs.items():
        named = plan.inputs(made)
        flat = [file for value in named.values() for file in ([value] if isinstance(value, str) else value)]
        assert not [file for file in [*flat, *job_of(spec).inputs] if file.endswith("record.json")]


def test_a_failure_that_a_table_tells_of_is_an_input(project: Path) -> None:
    plan = Plan.of_files([])
    table = next(spec for spec in plan.specs.values() if isinstance(spec, TableSpec))
    failed, done = table.cells[0].phases[0], table.cells[-1].phases[-1]
    for phase in (failed, done):
        note = Path(".fedsift/runs", phase, "failure.json")
        note.parent.mkdir(parents=True)
        note.write_text("{}")
    Path(done).mkdir(parents=True)
    Path(done, "history.csv").touch()
    assert [file for file in inputs_of(table) if file.endswith(".json")] == [f".fedsift/runs/{failed}/failure.json"]


def test_a_report_needs_its_tables_specifications(project: Path) -> None:
    report = next(spec for spec in Plan.of_files([]).specs.values() if isinstance(spec, ReportSpec))
    with pytest.raises(FedsiftError, match=r"no such specification; `fedsift plan --write` makes them\.$"):
        job_of(report)


def test_data_sets(project: Path) -> None:
    digits = get("digits")
    fetch, read = fetching(digits, Path("data")), reading(digits, Path("data"), Path("data/arrays/digits.safetensors"))
    assert (fetch.made, fetch.inputs) == ("data/raw/digits", [])
    assert fetch.outputs == ["data/raw/digits/fetched.json", "data/raw/digits/digits.csv.gz"]
    assert read.inputs == fetch.outputs[1:]
    assert read.outputs == [read.made] == ["data/arrays/digits.safetensors"]
    assert read.code != fetch.code
    assert fetch.parameters["files"][0]["sha256"] == digits.files[0].sha256


def test_what_was_taken_on_trust_is_told(project: Path) -> None:
    from fedsift.data.catalog import load

    trusted = next(known for known in load().values() if any(file.sha256 is None for file in known.files))
    note = f"data/raw/{trusted.name}/accepted.json"
    assert note in fetching(trusted, Path("data")).outputs
    assert note in reading(trusted, Path("data"), Path("x.safetensors")).inputs


def test_a_set_of_ones_own(project: Path) -> None:
    import numpy as np

    for part in ("train", "test"):
        np.savez(f"{part}.npz", x=np.zeros((1, 2, 2), np.uint8), y=np.zeros(1, np.int64))
    job = fetching(own_set("mine", "."), Path("data"))
    assert job.inputs == [str(project / "train.npz"), str(project / "test.npz")]


@pytest.mark.parametrize(
    ("folder", "recorded"), [("data", "data"), ("./data/", "data"), ("/scratch/d", "/scratch/d"), ("a/../b", "b")]
)
def test_where_data_lie(project: Path, folder: str, recorded: str) -> None:
    assert fetching(get("digits"), Path(folder)).made == f"{recorded}/raw/digits"


def test_a_folder_outside_is_absolute(project: Path) -> None:
    job = fetching(get("digits"), Path("../elsewhere"))
    assert job.made == f"{project.parent}/elsewhere/raw/digits"


def test_a_name_that_cannot_be_recorded_is_told_before_any_work(project: Path) -> None:
    with pytest.raises(FedsiftError, match="cannot stand in a record; choose a name without control characters"):
        fetching(get("digits"), Path("da\nta"))
