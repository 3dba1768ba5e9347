"""What must stay light: the graph is built in every job of the workflow, and `--help` is for people."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HEAVY = ("torch", "sklearn", "pandas", "matplotlib", "scipy", "skimage", "pyarrow", "statsmodels", "snakemake")
LIGHT = ("numpy", "pydantic", "yaml")

PLAN = """
from fedsift.workflow import Plan
plan = Plan.of_files({files})
for made in plan.specs:
    plan.stamp(made), plan.inputs(made)
plan.reading_stamp("digits")
"""

COMMAND = """
import sys
from fedsift.cli import main
sys.argv = {arguments}
try:
    main()
except SystemExit as end:
    assert not end.code
"""


def imported(script: str) -> tuple[set[str], float]:
    """Top-level modules in the end, and seconds of user time."""
    tail = "\nimport sys, time\nprint('\\n', *{name.partition('.')[0] for name in sys.modules}, time.process_time())"
    done = subprocess.run([sys.executable, "-c", script + tail], cwd=ROOT, capture_output=True, text=True, check=True)
    *modules, seconds = done.stdout.splitlines()[-1].split()
    return set(modules), float(seconds)


def test_a_plan_with_all_stamps_needs_no_heavy_module() -> None:
    modules, seconds = imported(PLAN.format(files=[]))
    assert not modules & set(HEAVY)
    assert modules >= set(LIGHT)
    assert seconds < 3


def test_help_answers_at_once() -> None:
    modules, seconds = imported(COMMAND.format(arguments=["fedsift", "--help"]))
    assert not modules & {*HEAVY, *LIGHT}
    # 0.2 s on a quiet core.
    assert seconds < 1


@pytest.mark.parametrize("arguments", [["plan"], ["plan", "--json"], ["config"], ["config", "--schema"]])
def test_looking_needs_no_heavy_module(arguments: list[str]) -> None:
    assert not imported(COMMAND.format(arguments=["fedsift", *arguments]))[0] & set(HEAVY)


@pytest.mark.parametrize("module", ["fedsift.methods.base", "fedsift.methods.registry", "fedsift.models"])
def test_what_authors_of_methods_import_is_light(module: str) -> None:
    assert not imported(f"import {module}")[0] & set(HEAVY)


def test_every_built_in_method_is_light_to_import() -> None:
    script = "from fedsift.methods.registry import *\nfor name in names(): load(find(name))"
    assert not imported(script)[0] & set(HEAVY)
