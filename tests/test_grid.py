"""From a configuration to cells and the phases that they share."""

import itertools
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedsift.config import Config
from fedsift.config import load as load_files
from fedsift.grid import Grid, Phase, Segment, expand, share
from fedsift.methods import registry
from fedsift.specs import MethodSpec
from fedsift.workflow import Plan

ROOT = Path(__file__).parents[1]

ONE = {
    "paper": "mtae",
    "title": "One",
    "dataset": "digits",
    "model": "mtae-digits",
    "partition": {"scheme": "iid"},
    "noises": {"clean": {"kind": "none"}},
    "clients": [5],
    "seeds": [0],
    "rounds": 100,
}


def config(options: dict[str, Any] | None = None, folders: list[str] | None = None, **changes: Any) -> Config:
    """One experiment; `options` is the top-level section `methods`."""
    return Config.model_validate(
        {
            "scale": "quick",
            "methods": options or {},
            "method_folders": folders or [],
            "experiments": {"one": ONE | changes},
        }
    )


def phases(grid: Grid) -> list[str]:
    return [path.removeprefix("results/quick/one/runs/clean/K5/seed0/") for path in grid.phases]


def paths(grid: Grid) -> dict[str, str]:
    """The last phase of each method."""
    prefix = "results/quick/one/runs/clean/K5/seed0/"
    return {cell.method: cell.phases[-1].removeprefix(prefix) for _, cell in grid.cells()}


# The trie

METHODS = [MethodSpec(label=name, name=name, options={}, file=None) for name in "abcd"]


@st.composite
def lineages(draw: st.DrawFn) -> tuple[int, dict[str, list[Segment]]]:
    rounds = draw(st.integers(1, 8))
    count = draw(st.integers(1, 7))
    made = {}
    for number in range(count):
        stops = sorted(draw(st.sets(st.integers(1, rounds), max_size=3)) | {rounds})
        made[f"m{number}"] = [Segment(draw(st.sampled_from(METHODS)), stop) for stop in stops]
    return rounds, made


def written_out(lineage: list[Segment]) -> list[str]:
    """The method of every round."""
    stops = [0, *(segment.stop for segment in lineage)]
    return [one.method.name for one, start in zip(lineage, stops, strict=False) for _ in range(start, one.stop)]


def walked(trie: list[Phase], before: tuple[Phase, ...] = ()) -> dict[str, list[Phase]]:
    """The phases of each label, and a check that a label that left a phase goes on inside it."""
    found: dict[str, list[Phase]] = {}
    for phase in trie:
        found |= {label: [*before, phase] for label in phase.labels}
        deeper = walked(phase.children, (*before, phase))
        assert set(deeper) <= set(phase.labels)
        found |= deeper
    return found


def all_phases(trie: list[Phase]) -> list[Phase]:
    return [found for phase in trie for found in (phase, *all_phases(phase.children))]


@given(lineages())
def test_phases_of_a_label_are_its_lineage(case: tuple[int, dict[str, list[Segment]]]) -> None:
    rounds, made = case
    for label, chain in walked(share(made)).items():
        assert [phase.start for phase in chain] == [0, *(phase.stop for phase in chain[:-1])]
        assert chain[-1].stop == rounds
        trained = [phase.method.name for phase in chain for _ in range(phase.start, phase.stop)]
        assert trained == written_out(made[label])
    assert set(walked(share(made))) == set(made)


@given(lineages())
def test_nothing_is_trained_twice(case: tuple[int, dict[str, list[Segment]]]) -> None:
    _, made = case
    rounds = [written_out(lineage) for lineage in made.values()]
    prefixes = {tuple(lineage[:length]) for lineage in rounds for length in range(1, len(lineage) + 1)}
    assert sum(phase.stop - phase.start for phase in all_phases(share(made))) == len(prefixes)


@given(lineages())
def test_cuts_are_where_labels_part_or_the_method_changes(case: tuple[int, dict[str, list[Segment]]]) -> None:
    _, made = case
    for phase in all_phases(share(made)):
        for child in phase.children:
            assert child.method != phase.method or set(child.labels) < set(phase.labels)


@given(lineages(), st.randoms())
def test_the_order_of_methods_does_not_matter(case: tuple[int, dict[str, list[Segment]]], random: Any) -> None:
    _, made = case
    shuffled = list(made)
    random.shuffle(shuffled)

    def shape(trie: list[Phase]) -> frozenset[Any]:
        return frozenset(
            (one.method.name, one.start, one.stop, frozenset(one.labels), shape(one.children)) for one in trie
        )

    assert shape(share(made)) == shape(share({label: made[label] for label in shuffled}))


# The quick grid


def test_the_quick_grid() -> None:
    grid = expand(load_files([ROOT / "config.yaml"]))
    known = (ROOT / "tests" / "quick_grid.txt").read_text().splitlines()
    made = [*grid.partitions, *grid.noises, *grid.phases, *grid.contributions, *grid.tables, grid.report.output]
    assert made == known
    assert grid.datasets == {"digits", "photos", "mnist5k"}


def test_phases_of_the_quick_grid_are_chains() -> None:
    grid = expand(load_files([ROOT / "config.yaml"]))
    for table, cell in grid.cells():
        chain = [grid.phases[path] for path in cell.phases]
        assert [spec.start for spec in chain] == [0, *(spec.stop for spec in chain[:-1])]
        assert [spec.parent for spec in chain] == [None, *(spec.phase for spec in chain[:-1])]
        assert chain[-1].stop == table.rounds
        assert {(spec.seed, spec.clients) for spec in chain} == {(cell.seed, cell.clients)}
        assert chain[-1].method.label == cell.method
        assert all(f"/{cell.noise}/K{cell.clients}" in spec.noise for spec in chain)
    assert {path for _, cell in grid.cells() for path in cell.phases} == set(grid.phases)


# Labels


def test_a_variant_has_its_own_phase_and_shares_what_is_equal() -> None:
    grid = expand(config({"late": {"is": "loss-ocsvm", "start": 60}}, methods=["fedavg", "loss-ocsvm", "late"]))
    assert phases(grid) == [
        "fedavg@40",
        "fedavg@40/fedavg@60",
        "fedavg@40/fedavg@60/fedavg@100",
        "fedavg@40/fedavg@60/late@100",
        "fedavg@40/loss-ocsvm@100",
    ]
    late = grid.phases["results/quick/one/runs/clean/K5/seed0/fedavg@40/fedavg@60/late@100"].method
    assert (late.label, late.name, late.options["start"]) == ("late", "loss-ocsvm", 60)


@pytest.mark.parametrize("order", list(itertools.permutations(["fedavg", "same", "loss-ocsvm", "twin"])))
def test_equal_methods_under_two_labels_share_a_phase_whatever_their_order(order: tuple[str, ...]) -> None:
    options = {"same": {"is": "fedavg"}, "twin": {"is": "loss-ocsvm", "start": 0.4}}
    grid = expand(config(options, methods=list(order)))
    assert sorted(phases(grid)) == ["fedavg@40", "fedavg@40/fedavg@100", "fedavg@40/loss-ocsvm@100"]
    assert paths(grid) == {
        "fedavg": "fedavg@40/fedavg@100",
        "same": "fedavg@40/fedavg@100",
        "loss-ocsvm": "fedavg@40/loss-ocsvm@100",
        "twin": "fedavg@40/loss-ocsvm@100",
    }


def test_a_method_that_is_only_an_ancestor_has_the_same_phase() -> None:
    alone = expand(config(methods=["loss-ocsvm"]))
    assert phases(alone) == ["fedavg@40", "fedavg@40/loss-ocsvm@100"]
    shared = expand(config(methods=["loss-ocsvm", "fedavg"]))
    assert alone.phases["results/quick/one/runs/clean/K5/seed0/fedavg@40"] in shared.phases.values()


OWN = """\
from fedsift.methods.base import Method, Step
from fedsift.section import Section

class Options(Section):
    strength: int = 3

class Mine(Method):
    Options = Options

    @classmethod
    def lineage(cls, options, rounds):
        return [Step("fedavg", {}, 20), Step("loss-ocsvm", {"start": 20}, 70)]

METHOD = Mine
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("own").mkdir()
    Path("own/my_idea.py").write_text(OWN)
    return "own"


def test_a_method_of_ones_own(own: str) -> None:
    grid = expand(config({"my-idea": {"strength": 5}}, [own], methods=["fedavg", "my-idea"]))
    # No label stands for an SVM that starts in round 20, so that it has one that nobody else can have.
    (ancestor,) = {path.split("/")[1] for path in phases(grid) if "loss-ocsvm" in path}
    assert ancestor.startswith("loss-ocsvm.")
    assert ancestor.endswith("@70")
    base = f"fedavg@20/{ancestor}"
    assert phases(grid) == ["fedavg@20", "fedavg@20/fedavg@100", base, f"{base}/my-idea@100"]
    method = list(grid.phases.values())[-1].method
    assert (method.file, method.options) == ("own/my_idea.py", {"strength": 5})


def test_an_ancestor_with_other_options_than_the_configured_ones_keeps_apart(own: str) -> None:
    grid = expand(config({"loss-ocsvm": {"start": 30}}, [own], methods=["loss-ocsvm", "my-idea"]))
    methods = {spec.method.label: spec.method.options.get("start") for spec in grid.phases.values()}
    del methods["fedavg"], methods["my-idea"]
    assert methods.pop("loss-ocsvm") == 30
    assert list(methods.values()) == [20]


def test_an_ancestor_takes_the_label_of_the_variant_that_it_equals(own: str) -> None:
    grid = expand(config({"early": {"is": "loss-ocsvm", "start": 20}}, [own], methods=["early", "my-idea"]))
    early = "fedavg@20/early@70"
    assert phases(grid) == ["fedavg@20", early, f"{early}/early@100", f"{early}/my-idea@100"]


# Seeds


@pytest.mark.parametrize(
    ("split_seed", "noise_seed", "partitions", "noises"),
    [
        (7, 8, ["K5"], ["K5"]),
        ("run", 8, ["K5-seed0", "K5-seed3"], ["K5-seed0", "K5-seed3"]),
        (7, "run", ["K5"], ["K5-seed0", "K5-seed3"]),
    ],
)
def test_a_seed_of_its_own_for_every_run(
    split_seed: int | str, noise_seed: int | str, partitions: list[str], noises: list[str]
) -> None:
    noise = {"kind": "closed-set", "scope": "random", "seed": noise_seed}
    grid = expand(
        config(
            methods=["fedavg"], seeds=[0, 3], partition={"scheme": "iid", "seed": split_seed}, noises={"clean": noise}
        )
    )
    assert [Path(path).stem for path in grid.partitions] == partitions
    assert [Path(path).stem for path in grid.noises] == noises
    assert [spec.seed for spec in grid.partitions.values()] == ([0, 3] if split_seed == "run" else [7])
    assert [spec.seed for spec in grid.noises.values()] == ([0, 3] if noise_seed == "run" else [8] * len(noises))
    assert {spec.partition for spec in grid.noises.values()} == set(grid.partitions)
    assert {spec.noise for spec in grid.phases.values()} == set(grid.noises)


def test_ten_thousand_cells_are_planned_in_seconds() -> None:
    variants = {f"late-{number}": {"is": "loss-ocsvm", "start": 5 + number} for number in range(49)}
    noise = {"kind": "closed-set", "scope": "random"}
    large = config(
        variants,
        methods=["fedavg", *variants],
        noises={f"noise-{number}": noise | {"rate": 0.1 * number} for number in range(1, 6)},
        clients=[5, 10],
        seeds=list(range(20)),
    )
    began = time.process_time()
    grid = expand(large)
    assert time.process_time() - began < 2
    assert len(list(grid.cells())) == 10_000
    plan = Plan(large)
    stamps = {made: plan.stamp(made) for made in plan.specs}
    assert len(set(stamps.values())) == len(plan.specs)
    assert time.process_time() - began < 6


def test_every_built_in_method_has_a_lineage_that_leads_to_it() -> None:
    for name in registry.names():
        grid = expand(config(methods=[name]))
        assert [spec.method.name for spec in grid.phases.values()][-1] == name
