"""Schemes side by side: table, CSV files and figure of made-up rounds."""

import csv
import io
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from results.conftest import Made
from scipy.stats import spearmanr

from fedsift.config.model import Contributions
from fedsift.contributions import rows
from fedsift.contributions.schemes import SCHEMES
from fedsift.results.collect import Results, collect
from fedsift.results.contributions import (
    PAIRS,
    contributions_csv,
    contributions_table,
    judged,
    rank_correlation,
    rank_correlations_csv,
)
from fedsift.results.files import TableName, table_files
from fedsift.results.layout import Kind
from fedsift.results.reference import Reference
from fedsift.results.tables import write_tables
from fedsift.specs import ContributionCell, TableSpec

NAME = TableName("closed-set", "contributions")
HOW = Contributions(methods=["fedavg"], rounds=[0, 4], budget=2)


@pytest.fixture
def maker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    monkeypatch.chdir(tmp_path)
    return Made()


def row(client: int, **u: float) -> dict[str, Any]:
    """A participant whose contribution is 1 by every scheme that does not say otherwise; so is its share."""
    given = {scheme: u.get(scheme.replace("-", "_"), 1.0) for scheme in SCHEMES}
    values: dict[str, Any] = dict.fromkeys(rows.COLUMNS, 0) | {"status": "ok", "client": client, "emd": 2 - u["emd"]}
    return (
        values
        | {f"{scheme}_u": value for scheme, value in given.items()}
        | {f"{scheme}_share": max(0.0, value) for scheme, value in given.items()}
    )


def spec_with(made: Made, seeds: int = 2) -> TableSpec:
    """Rounds 0 and 4 of FedAvg with three participants; emd and Shapley agree in seed 0 and are opposite in seed 1."""
    cells = [
        ContributionCell(
            noise="closed-set", clients=1000, method="fedavg", seed=seed, round=at, how=HOW, file=f"c/{seed}@{at}.csv"
        )
        for seed in range(seeds)
        for at in (4, 0)
    ]
    for cell in cells:
        u = [3.0, 2.0, -1.0] if cell.seed == 0 else [-1.0, 2.0, 3.0]
        people = [row(number, emd=1.5 - number / 2, shapley=value) for number, value in enumerate(u)]
        rows.write(Path(cell.file), people)
    return made.finished(contributions=cells)


def results_of(made: Made, spec: TableSpec) -> Results:
    return collect(spec, Path("state"), Reference.load(made.reference, spec.paper))


ROWS = st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=12)


@given(ROWS)
def test_rank_correlation_is_scipys(pairs: list[tuple[int, int]]) -> None:
    a, b = (np.array(column, float) for column in zip(*pairs, strict=True))
    got = rank_correlation(a, b)
    if len(set(a)) == 1 or len(set(b)) == 1:
        assert got is None
    else:
        assert got == pytest.approx(spearmanr(a, b).statistic)
        assert rank_correlation(b, a) == pytest.approx(got)
        assert rank_correlation(a, a) == pytest.approx(1)
        assert rank_correlation(a, -b) == pytest.approx(-got)


def test_equal_differences_tie_whatever_their_last_bits() -> None:
    assert 0.1 - 0.06 != 0.04
    assert rank_correlation(np.array([0.1 - 0.06, 0.04, 1]), np.array([1.0, 2, 3])) == pytest.approx(math.sqrt(3) / 2)


def test_table_by_hand(maker: Made) -> None:
    table = contributions_table(results_of(maker, spec_with(maker)), NAME)
    assert [label for label, _ in table.rows] == ["fedavg, round 0", "fedavg, round 4"]
    assert len(table.columns) == len(PAIRS) + 2
    cells = dict(zip(table.columns, table.rows[0][1], strict=True))
    assert cells["emd, shapley"][Kind.MEAN].text.startswith("0.00 ± ")
    # Union and fair value are 1 for all.
    assert cells["emd, union"][Kind.MEAN].text == "–"
    assert cells["participants"][Kind.MEAN].text == "3"
    assert cells["seeds"][Kind.MEAN].text == "2"
    notes = dict(table.notes)
    assert "gives all participants the same" in notes[cells["emd, union"][Kind.MEAN].mark]
    assert "the accuracy on the first 1000 test images" in notes[""]


def test_what_is_missing_says_why(maker: Made) -> None:
    spec = spec_with(maker, seeds=3)
    Path("c/0@0.csv").unlink()
    Path("c/1@0.csv").write_text("nothing\n")
    rows.write(Path("c/2@0.csv"), [rows.DIVERGED])
    results = results_of(maker, spec)
    table = contributions_table(results, NAME)
    last = table.rows[0][1][-1][Kind.MEAN]
    assert last.text == "0 of 3"
    assert dict(table.notes)[last.mark] == "seed 0: not run yet; seed 1: unreadable; seed 2: diverged"
    assert table.rows[1][1][-1][Kind.MEAN].text == "3"
    found = list(csv.DictReader(io.StringIO(contributions_csv(results))))
    assert [one["status"] for one in found if one["round"] == "0"] == ["not run yet", "unreadable", "diverged"]
    assert len(found) == 3 + 9


def test_csv_has_every_digit_of_the_stage(maker: Made) -> None:
    results = results_of(maker, spec_with(maker))
    found = list(csv.DictReader(io.StringIO(contributions_csv(results))))
    written = list(csv.DictReader(io.StringIO(Path("c/1@4.csv").read_text())))
    assert [
        {name: one[name] for name in rows.COLUMNS} for one in found if (one["seed"], one["round"]) == ("1", "4")
    ] == written
    correlations = list(csv.DictReader(io.StringIO(rank_correlations_csv(results))))
    assert len(correlations) == 2 * len(PAIRS)
    one = next(line for line in correlations if (line["first"], line["second"]) == ("emd", "shapley"))
    assert (float(one["mean"]), one["n"], one["participants"]) == (0, "2", "3 3")


def test_the_whole_folder_is_written_and_the_page_shows_it(maker: Made) -> None:
    spec = spec_with(maker)
    write_tables(spec, Path("state"), maker.reference)
    made = {str(path) for path in Path(spec.output).rglob("*") if path.is_file()}
    assert made == set(table_files(spec))
    assert {f"{spec.output}/{name}" for name in ("contributions.csv", "rank-correlations.csv")} < made
    page = Path(spec.output, "tables.html").read_text()
    assert "tables/closed-set-contributions.csv" in page
    assert "figures/closed-set-contributions.svg" in page
    before = {name: Path(name).read_bytes() for name in made}
    write_tables(spec, Path("state"), maker.reference)
    assert {name: Path(name).read_bytes() for name in made} == before


@pytest.mark.parametrize("lost", ["c/0@0.csv", "c"])
def test_a_figure_of_what_there_is(maker: Made, lost: str) -> None:
    spec = spec_with(maker)
    for path in [Path(lost)] if lost != "c" else Path("c").iterdir():
        path.unlink()
    write_tables(spec, Path("state"), maker.reference)
    assert Path(spec.output, "figures/closed-set-contributions.svg").stat().st_size > 1000


def test_many_participants_fit_into_a_panel(maker: Made) -> None:
    spec = spec_with(maker)
    many = [row(number, emd=number / 60, shapley=float(number % 7)) for number in range(100)]
    rows.write(Path("c/0@0.csv"), many)
    write_tables(spec, Path("state"), maker.reference)
    assert len(judged(results_of(maker, spec), "closed-set")[0].rows[0]) == 100


def test_without_contributions_nothing_changes(maker: Made) -> None:
    spec = maker.finished()
    write_tables(spec, Path("state"), maker.reference)
    assert not [file for file in table_files(spec) if "contributions" in file]
    assert "contributions" not in Path(spec.output, "tables.html").read_text()
