"""What the Snakefile asks for."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from checkout import MINIATURE

from fedsift.errors import FedsiftError
from fedsift.results.files import table_files
from fedsift.specs import ContributionSpec, NoiseSpec, PartitionSpec, Settings, TrainSpec
from fedsift.workflow import LOCK, SPECS, Plan, config_files, hold_lock, scale_files

ROOT = Path(__file__).parents[1]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the repository's configuration, as the working folder."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "config.yaml", "config.yaml")
    shutil.copytree(ROOT / "config", "config")
    shutil.copytree(ROOT / "reports" / "reference", "reports/reference")
    return tmp_path


# Which files


def test_the_base_comes_first_and_once(project: Path) -> None:
    (project / "more").mkdir()
    overlays = [
        "config.yaml",
        str(project / "config.yaml"),
        "config/paper.yaml",
        project / "config" / "paper.yaml",
        "more/../x",
    ]
    assert config_files(overlays) == [Path("config.yaml"), Path("config/paper.yaml"), Path("x")]


def test_an_overlay_outside_the_project_keeps_its_path(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside") / "mine.yaml"
    assert config_files([outside]) == [Path("config.yaml"), outside]


def test_scales_are_files(project: Path) -> None:
    assert scale_files("quick") == [Path("config.yaml")]
    assert scale_files("paper") == [Path("config.yaml"), Path("config/paper.yaml")]
    with pytest.raises(
        FedsiftError, match=r"^no scale 'papr': config/papr.yaml does not exist; scales: .*paper, quick, standin\.$"
    ):
        scale_files("papr")


@pytest.mark.parametrize("file", sorted(path.stem for path in (ROOT / "config").glob("*.yaml")))
def test_every_scale_that_ships_can_be_planned(project: Path, file: str) -> None:
    _stand_in(20_000)
    plan = Plan.of_files(scale_files(file))
    assert plan.config.scale == file
    assert plan.grid.phases


def _stand_in(images: int) -> None:
    """What the scale `standin` asks the user for."""
    folder = Path("data/own/standin")
    folder.mkdir(parents=True)
    for part, count in (("train", images), ("test", 1)):
        np.savez(folder / f"{part}.npz", x=np.zeros((count, 2, 2, 1), np.uint8), y=np.zeros(count, np.int64))


def test_a_stand_in_is_named_as_one_and_must_be_large_enough(project: Path) -> None:
    with pytest.raises(FedsiftError, match=r"data set standin needs train\.npz and test\.npz"):
        Plan.of_files(scale_files("standin"))
    _stand_in(19_999)
    with pytest.raises(FedsiftError, match="need 20000 foreign images, but 'standin' has 19999"):
        Plan.of_files(scale_files("standin"))
    shutil.rmtree("data")
    _stand_in(20_000)
    plan = Plan.of_files([*scale_files("paper"), "config/standin.yaml"])
    assert plan.config.scale == "standin"
    assert {noise for table in plan.grid.tables.values() for noise in table.noises} == {"open-standin-own"}


def test_the_paper_scale_is_the_papers_grid(project: Path) -> None:
    config = Plan.of_files(scale_files("paper")).config
    loss = {"fedavg", "loss-threshold", "loss-iforest", "loss-ocsvm"}
    feature = {"feature-iforest", "feature-ocsvm", "svdd", "svdd+feature-iforest", "svdd+feature-ocsvm"}
    noises: dict[str, list[str]] = {"mnist": [], "cifar10": []}
    for experiment in config.experiments.values():
        noises[experiment.dataset] += experiment.noises
        open_set = any(noise.startswith("open-") for noise in experiment.noises)
        clean = set(experiment.noises) == {"clean"}
        assert set(experiment.methods) == ({"fedavg"} if clean else loss | feature if open_set else loss)
        assert (experiment.clients, experiment.rounds) == ([1000, 200, 100, 50], 1000)
        assert (experiment.seeds, experiment.sampling.share) == ([0, 1, 2, 3, 4], 0.1)
    assert noises == {
        "mnist": ["clean", "closed-set", "open-emnist-letters"],
        "cifar10": ["clean", "closed-set", "open-svhn", "open-imagenet32"],
    }


def test_the_papers_tables_exist_by_name(project: Path) -> None:
    tables = Plan.of_files(scale_files("paper")).grid.tables
    for name in (
        "cifar10-closed/tables/closed-set",  # CIFAR-10, loss space
        "mnist-closed/tables/closed-set",  # MNIST, loss space
        "cifar10-open/tables/loss-space/open-svhn",
        "cifar10-open/tables/feature-space/open-imagenet32",
        "cifar10-open/tables/feature-space-svdd/open-imagenet32",
        "mnist-open/tables/feature-space-svdd/open-emnist-letters",
    ):
        experiment = name.split("/")[0]
        files = table_files(tables[f"reports/paper/{experiment}"])
        assert {f"reports/paper/{name}-{what}.csv" for what in ("accuracy-best", "macro-f1-best")} <= set(files)


# Inputs: what a stage reads is what the stages before it make


def test_every_input_is_made_by_some_stage_or_ships(project: Path) -> None:
    plan = Plan.of_files([])
    made = {f"data/arrays/{dataset}.safetensors" for dataset in plan.grid.datasets}
    for path, spec in plan.specs.items():
        match spec:
            case PartitionSpec():
                made.add(spec.output)
            case NoiseSpec():
                made |= {spec.output, spec.rates}
            case TrainSpec():
                made |= {f"{path}/checkpoint.safetensors", f"{path}/history.csv"}
            case ContributionSpec():
                made.add(spec.output)
    made |= {str(path) for path in Path("reports/reference").iterdir()}
    made |= {file for table in plan.grid.tables.values() for file in table_files(table)}
    for path in plan.specs:
        inputs = plan.inputs(path)
        files = [file for value in inputs.values() for file in ([value] if isinstance(value, str) else value)]
        assert files
        assert set(files) <= made, path


def test_names_of_inputs(project: Path) -> None:
    plan = Plan.of_files([])
    grid = plan.grid
    phase = next(path for path, spec in grid.phases.items() if spec.parent)
    names = {
        next(iter(grid.partitions)): ["arrays"],
        next(path for path, spec in grid.noises.items() if spec.source_arrays is None): ["arrays", "partition"],
        next(path for path, spec in grid.noises.items() if spec.source_arrays): [
            "arrays",
            "source_arrays",
            "partition",
        ],
        phase: ["arrays", "partition", "noise", "rates", "parent"],
        grid.phases[phase].parent or "": ["arrays", "partition", "noise", "rates"],
        next(iter(grid.tables)): ["histories", "reference"],
        grid.report.output: ["tables"],
    }
    for path, expected in names.items():
        assert list(plan.inputs(path)) == expected
    table = grid.tables[next(iter(grid.tables))]
    histories = plan.inputs(table.output)["histories"]
    assert set(histories) == {f"{phase}/history.csv" for cell in table.cells for phase in cell.phases}


def test_what_nothing_makes_is_refused(project: Path) -> None:
    with pytest.raises(FedsiftError, match=r"^results/x: nothing in this configuration makes it; `fedsift plan` lists"):
        Plan.of_files([]).inputs("results/x")


# Frozen specifications


def test_freezing_twice_touches_nothing(project: Path) -> None:
    plan = Plan.of_files([])
    plan.freeze()
    files = {path: path.stat().st_mtime_ns for path in SPECS.rglob("*.json")}
    assert len(files) == len(plan.specs) + 1  # the settings
    Plan.of_files([]).freeze()
    assert {path: path.stat().st_mtime_ns for path in SPECS.rglob("*.json")} == files
    for made, spec in plan.specs.items():
        assert type(spec).read(plan.spec_file(made)) == spec


def test_a_changed_value_changes_exactly_the_stamps_that_it_reaches(project: Path) -> None:
    def stamps(old: str = "", new: str = "") -> dict[str, str]:
        assert old in MINIATURE
        Path("config.yaml").write_text(MINIATURE.replace(old, new))
        plan = Plan.of_files([])
        return {made: plan.stamp(made) for made in plan.specs}

    before = stamps()

    def changed(old: str, new: str) -> set[str]:
        after = stamps(old, new)
        assert set(after) == set(before)
        return {made for made in before if before[made] != after[made]}

    assert changed("checkpoint_rounds: 2", "checkpoint_rounds: 3") == set()
    assert changed("scale: quick", "scale: quick\ndevice: cpu\ndata: {mirrors: [/m]}") == set()
    assert changed("title: Mini", "title: Micro") == {"reports/quick/mini"}
    trained = changed("lr: 0.5", "lr: 0.25")
    assert trained == {made for made in before if "/runs/" in made}
    split = changed("alpha: 0.5", "alpha: 0.4")
    # What a paper prints is of one split, so that the tables depend on it too.
    assert split == {made for made in before if "/partitions/" in made} | {"reports/quick/mini"}


def test_settings_are_frozen_too(project: Path) -> None:
    plan = Plan.of_files([], {"device": "cpu", "data": {"folder": "my data", "mirrors": ["/a b"]}})
    plan.freeze()
    frozen = Settings.read(plan.settings_file)
    assert (frozen.device, frozen.data.folder, frozen.data.mirrors) == ("cpu", "my data", ["/a b"])


def test_stamps_of_data_sets_differ(project: Path) -> None:
    plan = Plan.of_files([])
    assert plan.catalog_stamp("digits") != plan.catalog_stamp("photos")
    assert plan.reading_stamp("digits").startswith(plan.catalog_stamp("digits"))


# One controller a folder

HOLD = "from fedsift.workflow import hold_lock; lock = hold_lock(); print('held', flush=True); input()"


def test_a_second_controller_is_refused_until_the_first_is_gone_however_it_ended(project: Path) -> None:
    first = subprocess.Popen([sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert first.stdout is not None
        assert first.stdout.readline() == "held\n"
        with pytest.raises(FedsiftError) as caught:
            hold_lock()
        assert f"another run is at work in this folder (process {first.pid}); wait for it" in str(caught.value)
    finally:
        first.send_signal(signal.SIGKILL)
        first.communicate()
    with hold_lock() as lock:
        assert LOCK.read_text() == str(os.getpid())
        fcntl.flock(lock, fcntl.LOCK_UN)
