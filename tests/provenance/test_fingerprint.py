"""Cosmetic edits change no fingerprint; others change exactly those of the stages that they reach.

On a copy of the package; what is edited is found by position, so that these tests survive most changes of the code.
"""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import fedsift
from fedsift.config import load
from fedsift.provenance import code, fingerprint
from fedsift.specs import ContributionSpec, NoiseSpec, PartitionSpec, ReportSpec, Spec, TableSpec, TrainSpec
from fedsift.workflow import Plan

ROOT = Path(__file__).parents[2]
KINDS = {
    PartitionSpec: "partition",
    NoiseSpec: "noise",
    ContributionSpec: "contributions",
    TableSpec: "table",
    ReportSpec: "report",
}
FROM_START = {"loss-ocsvm", "loss-iforest", "loss-threshold", "oracle", "random-drop", "top-loss"}
TRAIN = FROM_START | {"fedavg", "loadaboost", "emfedavg", "iaofl", "ospb", "ospm"}
PLAYS = TRAIN | {"contributions"}
CLOCK = iter(range(10**9, 10**10, 10**6))
"""Times of edits; a file system's own clock can be too coarse for two edits in a row."""


@pytest.fixture(scope="module")
def specs() -> dict[str, Spec]:
    """One specification of each stage and, for training, of each method."""
    plan = Plan(load([ROOT / "config.yaml"]))
    return {
        spec.method.name if isinstance(spec, TrainSpec) else KINDS[type(spec)]: spec for spec in plan.specs.values()
    }


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the package that fingerprints are taken of."""
    copy = tmp_path / "fedsift"
    shutil.copytree(Path(fedsift.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(fingerprint, "ROOT", copy)
    monkeypatch.setattr(code, "TEMPLATES", copy / "results" / "templates")
    yield copy
    fingerprint._parsed.cache_clear()


def codes(specs: dict[str, Spec]) -> dict[str, str]:
    return {name: code.code_of(spec) for name, spec in specs.items()} | {"read": code.code_of_reading()}


def changed(specs: dict[str, Spec], file: Path, edit: Callable[[str], str]) -> set[str]:
    """The stages whose fingerprint changes with an edit of a file."""
    before, text = codes(specs), file.read_text()
    edited = edit(text)
    assert edited != text
    file.write_text(edited)
    os.utime(file, ns=(0, next(CLOCK)))
    after = codes(specs)
    return {name for name in before if before[name] != after[name]}


def another_value(text: str) -> str:
    """Change the first number in the code; where there is none, add one."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.lineno == node.end_lineno:
            lines = text.splitlines(keepends=True)
            line = lines[node.lineno - 1].encode()
            new = line[: node.col_offset] + repr(node.value + 1).encode() + line[node.end_col_offset :]
            lines[node.lineno - 1] = new.decode()
            return "".join(lines)
    return f"{text}\nADDED = 1\n"


@pytest.mark.parametrize(
    ("file", "stages"),
    [
        ("training/engine.py", PLAYS),
        ("training/loop.py", PLAYS),
        ("training/streams.py", PLAYS),
        ("models/mtae_digits.py", FROM_START),
        ("models/cnn_small.py", PLAYS - FROM_START),
        ("models/mtae_cifar10.py", set()),
        ("methods/loss_threshold.py", {"loss-threshold"}),
        ("methods/fedavg.py", {"fedavg", "contributions"}),
        ("methods/from_start.py", FROM_START),
        ("selection/detectors.py", {"loss-ocsvm", "loss-iforest"}),
        ("methods/auction.py", {"iaofl", "ospb", "ospm"}),
        ("market/iaofl.py", {"iaofl"}),
        ("selection/vectors.py", {"loss-ocsvm", "loss-iforest", "loss-threshold", "top-loss", "loadaboost"}),
        ("data/clients.py", PLAYS),
        ("contributions/stage.py", {"contributions"}),
        ("contributions/shapley.py", {"contributions", "table"}),
        ("data/packed.py", PLAYS | {"partition", "noise", "read"}),
        ("data/partition.py", {"partition"}),
        ("data/schemes/shards.py", {"partition"}),
        ("data/noise.py", {"noise"}),
        ("data/noises/which.py", {"noise"}),
        ("data/read.py", {"read"}),
        ("data/fetch.py", set()),
        ("data/download.py", set()),
        ("data/archive.py", set()),
        ("results/table.py", {"table"}),
        ("results/site.py", {"report"}),
        ("results/statistics.py", {"table", "report"}),
        ("results/templates/index.html", {"table", "report"}),
        ("config/model.py", set()),
        ("config/check.py", set()),
        ("grid.py", set()),
        ("workflow.py", set()),
        ("cli.py", set()),
        ("section.py", set()),
        ("specs.py", set()),
        ("terminal/run.py", set()),
        *((f"provenance/{file.name}", set()) for file in Path(code.__file__).parent.glob("*.py")),
    ],
)
def test_an_edit_reaches_exactly_what_uses_it(
    specs: dict[str, Spec], package: Path, file: str, stages: set[str]
) -> None:
    edit = another_value if file.endswith(".py") else lambda text: f"{text}<!-- -->"
    assert changed(specs, package / file, edit) == stages


@pytest.mark.parametrize("file", ["data/formats.py", "data/catalog.py"])
def test_mending_a_parser_trains_nothing_anew(specs: dict[str, Spec], package: Path, file: str) -> None:
    assert changed(specs, package / file, another_value) <= {"read", "report"}


COSMETIC: dict[str, Callable[[str], str]] = {
    "comment": lambda text: f"# A remark.\n{text}# Another one.\n",
    "blank lines": lambda text: text.replace("\n\n", "\n\n\n\n"),
    "docstrings": lambda text: text.replace('"""', '"""So: ', 1),
    "attribute docstring": lambda text: f'{text}\n"""What stands above."""\n',
    "description": lambda text: text.replace('description="', 'description="Well, '),
    "line break": lambda text: text.replace(" = Field(", " = Field(\n        "),
}


@pytest.mark.parametrize("name", COSMETIC)
def test_a_cosmetic_edit_changes_nothing(specs: dict[str, Spec], package: Path, name: str) -> None:
    assert changed(specs, package / "methods/loss_threshold.py", COSMETIC[name]) == set()


def test_imports_for_type_checkers_alone_change_nothing(specs: dict[str, Spec], package: Path) -> None:
    file = package / "methods/loss_threshold.py"
    head = "from typing import TYPE_CHECKING\n"
    assert changed(specs, file, lambda text: text + head) == {"loss-threshold"}
    block = "if TYPE_CHECKING:\n    from fedsift.results.table import build\n"
    assert changed(specs, file, lambda text: text + block) == set()
    assert changed(specs, package / "results/table.py", another_value) == {"table"}
    # What stands in the other branch does run.
    assert changed(specs, file, lambda text: f"{text}else:\n    LIMIT = 5\n") == {"loss-threshold"}


@pytest.mark.parametrize("place", ["top", "function", "branch"])
def test_a_string_that_is_used_counts(specs: dict[str, Spec], package: Path, place: str) -> None:
    lines = {
        "top": 'TEXT = "a"',
        "function": 'def text():\n    """Words."""\n    return "a"',
        "branch": 'if 1:\n    pass\nelse:\n    TEXT = "a"',
    }
    file = package / "methods/oracle.py"
    assert changed(specs, file, lambda text: f"{text}\n{lines[place]}\n") == {"oracle"}
    assert changed(specs, file, lambda text: text.replace('"a"', '"b"')) == {"oracle"}


def test_renaming_and_reordering_count(specs: dict[str, Spec], package: Path) -> None:
    file = package / "methods/oracle.py"
    assert changed(specs, file, lambda text: f"{text}\na = 1\nb = 2\n") == {"oracle"}
    assert changed(specs, file, lambda text: text.replace("a = 1\nb = 2", "b = 2\na = 1")) == {"oracle"}
    assert changed(specs, file, lambda text: text.replace("b = 2", "b = None")) == {"oracle"}
    assert changed(specs, file, lambda text: text.replace("b = None", "b = ()")) == {"oracle"}


def test_a_new_import_brings_its_module_in(specs: dict[str, Spec], package: Path) -> None:
    (package / "selection" / "extra.py").write_text("LIMIT = 5\n")
    file = package / "methods/oracle.py"
    assert changed(specs, file, lambda text: f"from fedsift.selection.extra import LIMIT\n{text}") == {"oracle"}
    assert changed(specs, package / "selection/extra.py", another_value) == {"oracle"}


def test_an_import_inside_a_function_counts(specs: dict[str, Spec], package: Path) -> None:
    (package / "selection" / "extra.py").write_text("LIMIT = 5\n")
    file = package / "methods/oracle.py"
    local = "\ndef limit():\n    from fedsift.selection import extra\n    return extra.LIMIT\n"
    assert changed(specs, file, lambda text: text + local) == {"oracle"}
    assert changed(specs, package / "selection/extra.py", another_value) == {"oracle"}


def test_modules_that_import_each_other_end(specs: dict[str, Spec], package: Path) -> None:
    (package / "selection" / "extra.py").write_text("import fedsift.methods.oracle\n")
    assert changed(specs, package / "methods/oracle.py", lambda text: f"{text}\nimport fedsift.selection.extra\n")


def test_a_method_of_ones_own(specs: dict[str, Spec], package: Path, tmp_path: Path) -> None:
    own = tmp_path / "my_idea.py"
    own.write_text("from fedsift.selection import vectors\nRATE = 5\n")
    train = specs["fedavg"]
    assert isinstance(train, TrainSpec)
    method = train.method.model_copy(update={"name": "my-idea", "file": str(own)})
    mine: dict[str, Spec] = {"mine": train.model_copy(update={"method": method}), "fedavg": train}
    assert changed(mine, own, lambda text: f"# Why.\n{text}") == set()
    assert changed(mine, own, another_value) == {"mine"}
    assert changed(mine, package / "selection/vectors.py", another_value) == {"mine"}
    assert changed(mine, package / "training/engine.py", another_value) == {"mine", "fedavg"}


def test_the_place_of_the_package_does_not_matter(specs: dict[str, Spec], package: Path) -> None:
    copy = codes(specs)
    fingerprint.ROOT = Path(fedsift.__file__).parent
    assert codes(specs) == copy


def test_every_module_that_a_stage_imports_is_in_its_fingerprint() -> None:
    """By the interpreter's own account, which knows nothing of syntax trees."""
    for entry in code.ENTRY.values():
        script = f"import sys, {entry}; print(*(name for name in sys.modules if name.startswith('fedsift')))"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        imported = {name for name in done.stdout.split() if not name.startswith(fingerprint.CARRIERS)}
        assert imported <= set(fingerprint.closure([entry]))
