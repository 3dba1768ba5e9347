"""What README and docs/ claim exists."""

import re
from pathlib import Path

import pytest

from fedsift.workflow import Plan, scale_files

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_the_phase_that_the_readme_trains_by_hand_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    plan = Plan.of_files([])
    spec = re.search(r"fedsift train (\S+)", (ROOT / "README.md").read_text())
    assert spec
    assert spec[1] in {plan.spec_file(made) for made in plan.grid.phases}


def test_the_scales_that_the_readme_names_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    scales = set(re.findall(r"SCALE=([a-z-]+)", (ROOT / "README.md").read_text()))
    assert scales
    for scale in scales:
        assert scale_files(scale)[-1].is_file()


def test_the_counts_that_the_readme_shows_are_those_of_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    grid = Plan.of_files([]).grid
    rounds = sum(spec.stop - spec.start for spec in grid.phases.values())
    shown = f"{len(list(grid.cells()))} cells in {len(grid.phases)} phases, {rounds:,} rounds"
    assert shown in (ROOT / "README.md").read_text()
