"""Every stage by hand: its record, the chain that the records make, and what an interrupted phase says of itself."""

import json
import signal
import time
from pathlib import Path

import jsonschema
import pytest
from checkout import MINIATURE, PHASES, ROOT, Checkout

from fedsift.files import sha256
from fedsift.provenance.record import Record

pytestmark = pytest.mark.slow

RUN = "results/quick/mini/runs/closed-set/K10/seed0/fedavg@2"
SPECS = ".fedsift/specs"
SETTINGS = f"{SPECS}/quick.settings.json"
SCHEMA = json.loads((ROOT / "docs" / "record.schema.json").read_text())


def spec(made: str) -> str:
    return f"{SPECS}/{made}.json"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Data, one partition, its noise, a phase and its child; then the tables of what there is, and the report."""
    checkout = Checkout.new(tmp_path_factory.mktemp("stages") / "made")
    checkout.run("fedsift", "plan", "--write")
    for command in (
        ["fetch", "digits", "--settings", SETTINGS],
        ["read", "digits", "--settings", SETTINGS],
        ["partition", spec("results/quick/mini/partitions/K10.parquet")],
        ["noise", spec("results/quick/mini/noises/closed-set/K10.parquet")],
        ["train", spec(RUN), "--settings", SETTINGS],
        ["train", spec(f"{RUN}/top-loss@6"), "--settings", SETTINGS],
        ["report", "--partial", spec("reports/quick")],
    ):
        checkout.run("fedsift", *command)
    return checkout


def records(checkout: Checkout) -> dict[str, Record]:
    found = sorted(path for path in checkout.folder.rglob("*record.json"))
    return {str(path.relative_to(checkout.folder)): Record.read(path) for path in found}


def test_every_stage_leaves_one_record_where_it_belongs(made: Checkout) -> None:
    assert {path: record.stage for path, record in records(made).items()} == {
        "data/raw/digits/record.json": "fetch",
        "data/arrays/digits.safetensors.record.json": "read",
        "results/quick/mini/partitions/K10.parquet.record.json": "partition",
        "results/quick/mini/noises/closed-set/K10.parquet.record.json": "noise",
        f"{RUN}/record.json": "train",
        f"{RUN}/top-loss@6/record.json": "train",
        "reports/quick/mini/record.json": "table",
        "reports/quick/record.json": "report",
    }


def test_the_hashes_are_those_of_the_bytes(made: Checkout) -> None:
    for record in records(made).values():
        for file in (*record.outputs, *record.inputs):
            path = made.folder / file.path
            assert (sha256(path), path.stat().st_size) == (file.sha256, file.size), file.path


def test_every_file_has_a_record(made: Checkout) -> None:
    told = {file.path for record in records(made).values() for file in record.outputs}
    there = {
        str(path.relative_to(made.folder))
        for folder in ("data", "results", "reports/quick")
        for path in (made.folder / folder).rglob("*")
        if path.is_file() and not path.name.endswith("record.json")
    }
    assert there == told


def test_the_records_chain_up_to_the_downloads(made: Checkout) -> None:
    all_records = records(made)
    makers = {(file.path, file.sha256): path for path, record in all_records.items() for file in record.outputs}
    unmade = {
        file.path for record in all_records.values() for file in record.inputs if (file.path, file.sha256) not in makers
    }
    assert unmade == {f"reports/reference/{path.name}" for path in (ROOT / "reports/reference").glob("*.yaml")}


def test_what_a_record_says_of_its_run(made: Checkout) -> None:
    record = records(made)[f"{RUN}/top-loss@6/record.json"]
    assert record.command == ["fedsift", "train", spec(f"{RUN}/top-loss@6"), "--settings", SETTINGS]
    assert record.parameters == json.loads((made.folder / spec(f"{RUN}/top-loss@6")).read_text())
    assert record.device is not None
    assert record.resumed_from is None
    assert 0 < record.wall_seconds < 600
    assert record.lock == sha256(made.folder / "envs/requirements.lock")
    assert "torch" in record.versions


def test_records_of_stages_fit_the_schema(made: Checkout) -> None:
    for path in records(made):
        jsonschema.validate(json.loads((made.folder / path).read_text()), SCHEMA)


def test_a_partial_table_names_what_is_missing(made: Checkout) -> None:
    record = records(made)["reports/quick/mini/record.json"]
    trained = {RUN, f"{RUN}/top-loss@6"}
    assert set(record.missing) == {f"{phase}/history.csv" for phase in PHASES - trained}
    read = {file.path for file in record.inputs if file.path.startswith("results/")}
    assert read == {f"{phase}/history.csv" for phase in trained}
    assert record.command == ["fedsift", "report", "--partial", spec("reports/quick")]
    assert records(made)["reports/quick/record.json"].missing == []


def test_a_stage_that_fails_takes_its_old_record_away(made: Checkout, tmp_path: Path) -> None:
    copy = made.copy(tmp_path / "copy")
    place = copy.folder / RUN / "top-loss@6"
    (copy.folder / RUN / "checkpoint.safetensors").write_bytes(b"damaged")
    copy.run("fedsift", "train", spec(f"{RUN}/top-loss@6"), "--settings", SETTINGS, code=1)
    assert not (place / "record.json").exists()
    assert (place / "history.csv").exists()


def test_a_stage_again_changes_no_byte_but_the_record(made: Checkout, tmp_path: Path) -> None:
    copy = made.copy(tmp_path / "copy")
    copy.run("fedsift", "partition", spec("results/quick/mini/partitions/K10.parquet"))
    assert copy.published() == made.published()
    path = "results/quick/mini/partitions/K10.parquet.record.json"
    assert records(copy)[path] != records(made)[path]
    assert records(copy)[path].outputs == records(made)[path].outputs


def test_contributions_have_a_record_too(made: Checkout, tmp_path: Path) -> None:
    checkout = made.copy(tmp_path / "contributions")
    wanted = "    contributions: {methods: [fedavg], rounds: [2], validation: 50}\n"
    (checkout.folder / "config.yaml").write_text(MINIATURE + wanted)
    checkout.run("fedsift", "plan", "--write")
    output = "results/quick/mini/contributions/closed-set/K10/seed0/fedavg@2.csv"
    checkout.run("fedsift", "contributions", spec(output), "--settings", SETTINGS)
    record = Record.read(checkout.folder / f"{output}.record.json")
    assert record.stage == "contributions"
    assert [file.path for file in record.outputs] == [output]
    assert record.outputs[0].sha256 == sha256(checkout.folder / output)
    assert f"{RUN}/checkpoint.safetensors" in {file.path for file in record.inputs}
    assert record.device is not None
    assert record.missing == []
    # The workflow knows of it: neither the record nor the table has to be made by hand.
    assert output.replace("seed0", "seed1") in checkout.would_run()


def test_a_resumed_phase_says_where_it_took_over(made: Checkout, tmp_path: Path) -> None:
    checkout = made.copy(tmp_path / "long")
    config = MINIATURE.replace("rounds: 6", "rounds: 300").replace("checkpoint_rounds: 2", "checkpoint_rounds: 1")
    (checkout.folder / "config.yaml").write_text(config)
    checkout.run("fedsift", "plan", "--write")
    phase = "results/quick/mini/runs/closed-set/K10/seed0/fedavg@120"
    command = ("fedsift", "train", spec(phase), "--settings", SETTINGS)
    process = checkout.start(*command)
    progress, end = checkout.folder / ".fedsift/runs" / phase / "progress.json", time.monotonic() + 120
    while not (progress.exists() and json.loads(progress.read_text())["done"] >= 5):
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert process.returncode == 1
    assert not (checkout.folder / phase / "record.json").exists()
    done = json.loads(progress.read_text())["done"]
    checkout.run(*command)
    assert Record.read(checkout.folder / phase / "record.json").resumed_from == done
    checkout.run(*command)
    assert Record.read(checkout.folder / phase / "record.json").resumed_from is None
