"""What is made again after a change, and what is not."""

import os

import pytest
from checkout import PHASES, Checkout, edit

pytestmark = pytest.mark.slow

LOSS_THRESHOLD = {phase for phase in PHASES if "loss-threshold" in phase}


def test_touching_everything_trains_nothing(copy: Checkout) -> None:
    for path in copy.folder.rglob("*"):
        if path.is_file() and ".snakemake" not in path.parts:
            os.utime(path)
    assert copy.would_run() == set()


def test_comments_and_docstrings_train_nothing(copy: Checkout) -> None:
    for module in ("training/engine.py", "methods/loss_threshold.py", "data/partition.py"):
        path = copy.folder / "src/fedsift" / module
        text = path.read_text()
        path.write_text('"""Another docstring.\n' + text.removeprefix('"""') + "\n# A comment.\n")
    assert copy.would_run() == set()


def test_editing_a_method_trains_its_phases_and_no_others(copy: Checkout) -> None:
    edit(copy.folder / "src/fedsift/methods/loss_threshold.py", "p: Share = Field(0.75", "p: Share = Field(0.5")
    assert copy.phases_to_run() == LOSS_THRESHOLD


def test_editing_the_engine_trains_everything_but_partitions_nothing(copy: Checkout) -> None:
    edit(copy.folder / "src/fedsift/training/engine.py", "model.train()", "model.train(True)")
    assert copy.phases_to_run() == PHASES
    assert not any("partitions" in made or "noises" in made for made in copy.would_run())


def test_editing_a_table_trains_nothing(copy: Checkout) -> None:
    edit(copy.folder / "src/fedsift/results/statistics.py", "0.95", "0.9")
    listed = copy.would_run()
    assert listed
    assert all(made.startswith("reports/") for made in listed)


def test_an_option_of_one_method_trains_its_phases(copy: Checkout) -> None:
    with open(copy.folder / "config.yaml", "a", encoding="utf-8") as file:
        file.write("methods: {loss-threshold: {lss: 0.2}}\n")
    assert copy.phases_to_run() == LOSS_THRESHOLD


def test_a_new_seed_trains_its_own_phases_only(copy: Checkout) -> None:
    edit(copy.folder / "config.yaml", "seeds: [0, 1]", "seeds: [0, 1, 2]")
    assert {phase.split("/")[6] for phase in copy.phases_to_run()} == {"seed2"}


def test_another_learning_rate_trains_everything(copy: Checkout) -> None:
    edit(copy.folder / "config.yaml", "lr: 0.5", "lr: 0.4")
    assert copy.phases_to_run() == PHASES


def test_how_a_run_is_made_safe_trains_nothing(copy: Checkout) -> None:
    edit(copy.folder / "config.yaml", "checkpoint_rounds: 2", "checkpoint_rounds: 3\ndevice: cpu")
    assert copy.would_run() == set()
