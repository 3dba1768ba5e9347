"""From the configuration's section to specifications: which rounds, from which checkpoints, by which method."""

from pathlib import Path
from typing import Any

import pytest
from config.conftest import BASE, Desk
from hypothesis import given
from hypothesis import strategies as st

from fedsift.config import Config
from fedsift.grid import Grid, Phase, Segment, expand, share
from fedsift.provenance.code import code_of
from fedsift.specs import ContributionSpec, MethodSpec
from fedsift.workflow import Plan

METHODS = [MethodSpec(label=name, name=name, options={}, file=None) for name in "abc"]
FOLDER = "results/quick/one/runs/clean/K5/seed0"

ONE: dict[str, Any] = {
    "paper": "emfedavg",
    "title": "One",
    "dataset": "digits",
    "model": "mtae-digits",
    "partition": {"scheme": "iid"},
    "noises": {"clean": {"kind": "none"}},
    "clients": [5],
    "methods": ["fedavg", "loss-ocsvm"],
    "seeds": [0],
    "rounds": 100,
}


def config(rounds: list[int], methods: list[str], **changes: Any) -> Config:
    section = {"methods": methods, "rounds": rounds}
    return Config.model_validate({"scale": "quick", "experiments": {"one": ONE | changes | {"contributions": section}}})


def made(grid: Grid, name: str) -> ContributionSpec:
    return grid.contributions[f"results/quick/one/contributions/clean/K5/seed0/{name}.csv"]


# Cuts in the trie


@st.composite
def lineages(draw: st.DrawFn) -> tuple[int, dict[str, list[Segment]], dict[str, list[int]]]:
    rounds = draw(st.integers(1, 8))
    found = {}
    for number in range(draw(st.integers(1, 5))):
        stops = sorted(draw(st.sets(st.integers(1, rounds), max_size=3)) | {rounds})
        found[f"m{number}"] = [Segment(draw(st.sampled_from(METHODS)), stop) for stop in stops]
    cuts = {label: draw(st.lists(st.integers(0, rounds), max_size=3)) for label in found if draw(st.booleans())}
    return rounds, found, cuts


def walked(trie: list[Phase], label: str) -> list[Phase]:
    """The phases of a label, in order."""
    here = [phase for phase in trie if label in phase.labels]
    return [one for phase in here for one in (phase, *walked(phase.children, label))]


@given(lineages())
def test_every_wanted_round_ends_a_phase_and_every_round_keeps_its_method(
    given: tuple[int, dict[str, list[Segment]], dict[str, list[int]]],
) -> None:
    rounds, found, cuts = given
    trie = share(found, cuts)
    for label, lineage in found.items():
        phases = walked(trie, label)
        assert [phase.start for phase in phases] == [0, *(phase.stop for phase in phases[:-1])]
        assert phases[-1].stop == rounds
        assert set(cuts.get(label, [])) - {0} <= {phase.stop for phase in phases}
        stops = [0, *(segment.stop for segment in lineage)]
        wanted = [one.method for one, start in zip(lineage, stops, strict=False) for _ in range(start, one.stop)]
        assert [phase.method for phase in phases for _ in range(phase.start, phase.stop)] == wanted
    assert share(found, dict.fromkeys(found, (0, rounds))) == share(found)


# Specifications


def test_where_each_round_begins_and_who_plays_it() -> None:
    grid = expand(config([100, 0, 40, 70], ["loss-ocsvm"]))
    cut = f"{FOLDER}/fedavg@40/loss-ocsvm@70"
    assert {f"{FOLDER}/fedavg@40", cut, f"{cut}/loss-ocsvm@100"} < set(grid.phases)
    asked = {round_: made(grid, f"loss-ocsvm@{round_}").run for round_ in (0, 40, 70, 100)}
    assert {round_: run.parent for round_, run in asked.items()} == {
        0: None,
        40: f"{FOLDER}/fedavg@40",
        70: cut,
        100: f"{cut}/loss-ocsvm@100",
    }
    assert [run.method.name for run in asked.values()] == ["fedavg", "loss-ocsvm", "loss-ocsvm", "loss-ocsvm"]
    assert all((run.start, run.stop, run.rounds) == (round_, round_ + 1, 100) for round_, run in asked.items())


def test_other_methods_keep_their_phases() -> None:
    alone = set(expand(config([0, 100], ["fedavg"])).phases)
    cut = set(expand(config([50], ["loss-ocsvm"])).phases)
    assert f"{FOLDER}/fedavg@40/fedavg@100" in alone & cut


def test_every_cell_of_the_methods_is_asked() -> None:
    grid = expand(config([0, 100], ["fedavg"], clients=[5, 4], seeds=[0, 1, 2]))
    cells = grid.tables["reports/quick/one"].contributions
    assert [cell.file for cell in cells] == list(grid.contributions)
    assert {(cell.clients, cell.seed, cell.round) for cell in cells} == {
        (clients, seed, round_) for clients in (5, 4) for seed in (0, 1, 2) for round_ in (0, 100)
    }
    assert {cell.method for cell in cells} == {"fedavg"}


def test_without_the_section_there_is_nothing() -> None:
    grid = expand(Config.model_validate({"scale": "quick", "experiments": {"one": ONE}}))
    assert not grid.contributions
    assert not grid.tables["reports/quick/one"].contributions
    assert "contributions" not in Plan(config([0], ["fedavg"])).inputs("results/quick/one/partitions/K5.parquet")


def test_the_plan_names_what_a_stage_reads_and_stamps_it() -> None:
    plan = Plan(config([0, 40], ["loss-ocsvm"]))
    first, second = list(plan.grid.contributions)
    assert set(plan.inputs(first)) == {"arrays", "partition", "noise", "rates"}
    assert plan.inputs(second)["parent"] == f"{FOLDER}/fedavg@40/checkpoint.safetensors"
    assert plan.inputs("reports/quick/one")["contributions"] == [first, second]
    assert plan.stamp(first) != plan.stamp(second)
    assert code_of(plan.spec(first)) != code_of(plan.spec(second))


def test_a_parameter_changes_the_digest(tmp_path: Path) -> None:
    spec = made(expand(config([0], ["fedavg"])), "fedavg@0")
    other = spec.model_copy(update={"how": spec.how.model_copy(update={"alpha": 2.0})})
    assert spec.digest() != other.digest()
    (tmp_path / "spec.json").write_text(spec.text())
    assert ContributionSpec.read(tmp_path / "spec.json") == spec


# What is refused


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.chdir(tmp_path)
    return Desk()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "{methods: [fedavg], rounds: [0, 101]}",
            "contributions.rounds holds 101; possible are 0 to 100, after the last round.",
        ),
        ("{methods: [fedavg], rounds: [0, 0]}", "contributions.rounds holds 0 twice; keep one."),
        ("{methods: [fedavg, fedavg], rounds: [0]}", "contributions.methods holds fedavg twice; keep one."),
        (
            "{methods: [fedavgg], rounds: [0]}",
            "contributions are asked of the method 'fedavgg', which the experiment does not run; "
            "did you mean 'fedavg'?",
        ),
        (
            "{methods: [fedavg], rounds: [0], validation: 356}",
            "contributions.validation is 356, but 'digits' has 355 test images.",
        ),
    ],
)
def test_what_does_not_fit_is_refused(desk: Desk, text: str, sentence: str) -> None:
    refused = desk.refusal(
        ("    rounds: 100\n", f"    rounds: 100\n    contributions: {text}\n".replace("}", _rest(text)))
    )
    assert refused.endswith(f"experiment 'one': {sentence}")


def _rest(text: str) -> str:
    return "}" if "validation" in text else ", validation: 100}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{methods: [fedavg], rounds: [0], permutations: 7}", "even"),
        ("{methods: [fedavg], rounds: [0], permutations: 2}", "permutations"),
        ("{methods: [fedavg], rounds: []}", "rounds"),
        ("{methods: [fedavg], rounds: [-1]}", "rounds"),
        ("{methods: [fedavg], rounds: [0], exact_up_to: 21}", "exact_up_to"),
        ("{methods: [fedavg], rounds: [0], value: loss}", "value"),
        ("{methods: [fedavg], rounds: [0], alpha: 0}", "alpha"),
    ],
)
def test_values_out_of_range_are_refused(desk: Desk, text: str, words: str) -> None:
    assert words in desk.refusal(("    rounds: 100\n", f"    rounds: 100\n    contributions: {text}\n"))


def test_the_base_itself_is_fine(desk: Desk) -> None:
    text = BASE + "    contributions: {methods: [fedavg], rounds: [0, 50, 100], validation: 355}\n"
    assert desk.load(text=text).experiments["one"].contributions
