"""Specification files: what is written is read again, and the digest knows every field."""

from pathlib import Path
from typing import Any

import pytest

from fedsift.config import load
from fedsift.errors import FedsiftError
from fedsift.grid import Grid, expand
from fedsift.specs import GroupSpec, MarketSpec, NoiseSpec, PartitionSpec, ReportSpec, Spec, TableSpec, TrainSpec

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def grid() -> Grid:
    return expand(load([ROOT / "config.yaml"]))


@pytest.fixture(scope="module")
def one_each(grid: Grid) -> dict[type[Spec], Spec]:
    """The last specification of each kind for open-set noise: it has a parent, a foreign set, ..."""
    kinds = (grid.partitions, grid.noises, grid.phases, grid.tables)
    found = [spec for kind in kinds for path, spec in kind.items() if "digits-open" in path]
    specs: dict[type[Spec], Spec] = {type(spec): spec for spec in (grid.report, *found)}
    group = GroupSpec(title="Two", methods=["fedavg", "loss-ocsvm"])
    hires = {"iaofl": MarketSpec(budget=256, judges=True, screens=True)}
    more = {"groups": {"two": group}, "market": hires, "free_riders": {"free-10": 0.1}}
    return specs | {TableSpec: specs[TableSpec].model_copy(update=more)}


KINDS = (PartitionSpec, NoiseSpec, TrainSpec, TableSpec, ReportSpec)


def test_all_specifications_survive_the_file(grid: Grid, tmp_path: Path) -> None:
    file = tmp_path / "spec.json"
    specs: list[Spec] = [*grid.partitions.values(), *grid.noises.values(), *grid.phases.values(), *grid.tables.values()]
    for spec in [*specs, grid.report]:
        file.write_text(spec.text())
        again = type(spec).read(file)
        assert again == spec
        assert (again.text(), again.digest()) == (spec.text(), spec.digest())
    assert len({spec.digest() for spec in specs}) == len(specs)


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [leaf for key, inner in pairs for leaf in _leaves(inner, (*path, key))] or [path]


NUMBERS = {"samples": 5, "validation": 0.5}
"""What an absent number may become."""


def _another(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case float():
            return value / 2 + 0.01
        case str():
            return f"{value}-x"
        case None:
            return "x"
    return value


@pytest.mark.parametrize("kind", KINDS)
def test_the_digest_changes_with_every_field(one_each: dict[type[Spec], Spec], kind: type[Spec]) -> None:
    spec = one_each[kind]
    digests = {spec.digest()}
    # Words from a closed list cannot be changed at will; all others can.
    fixed = {"scheme", "kind", "rule", "scope", "order", "augment", "reshuffle", "engine"}
    empty = {"exclude_classes", "groups", "contributions"}  # nothing in them to change
    leaves = [path for path in _leaves(spec.model_dump()) if not fixed & set(path) and path[-1] not in empty]
    for path in leaves:
        tree = spec.model_dump()
        holder: Any = tree
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = NUMBERS.get(path[-1]) or _another(holder[path[-1]])
        digests.add(kind.model_validate(tree).digest())
    assert len(digests) == len(leaves) + 1


def test_the_text_is_pinned() -> None:
    """A changed text would re-run everything that was ever run."""
    spec = ReportSpec(scale="quick", tables=["reports/quick/one"], output="reports/quick")
    text = '{\n "scale": "quick",\n "tables": [\n  "reports/quick/one"\n ],\n "output": "reports/quick"\n}\n'
    assert spec.text() == text


def test_equal_specifications_have_equal_bytes_whatever_was_written(tmp_path: Path) -> None:
    (tmp_path / "spec.json").write_text('{"output":"b","tables":[],"scale":"a"}')
    assert ReportSpec.read(tmp_path / "spec.json").text() == ReportSpec(scale="a", tables=[], output="b").text()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not a ReportSpec: the file: Invalid JSON"),
        ("[]", "not a ReportSpec: the file: Input should be an object."),
        ('{"scale": "a", "tables": []}', "not a ReportSpec: output: Field required."),
        ('{"scale": "a", "tables": [], "output": 5}', "not a ReportSpec: output: Input should be a valid string."),
        ('{"scale": "a", "tables": [], "output": "b", "x": 1}', "x: Extra inputs are not permitted."),
    ],
)
def test_files_that_are_no_specification(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "spec.json").write_text(text)
    with pytest.raises(FedsiftError) as caught:
        ReportSpec.read(tmp_path / "spec.json")
    assert str(caught.value).startswith(f"{tmp_path / 'spec.json'}: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FedsiftError, match=r"nowhere.json: no such specification; `fedsift plan --write` makes them\."):
        ReportSpec.read(tmp_path / "nowhere.json")
    with pytest.raises(FedsiftError, match=r": Is a directory\.$"):
        ReportSpec.read(tmp_path)
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(FedsiftError, match="binary: not a ReportSpec: "):
        ReportSpec.read(tmp_path / "binary")
