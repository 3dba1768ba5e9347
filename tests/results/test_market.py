"""Tables and figures of methods that hire, by hand; nothing of them where nobody hires."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from results.journals import BIDS, columns, market_spec, results_of, write_journal

from fedsift.results import market_figures
from fedsift.results.collect import Key
from fedsift.results.files import TableName, figure_names, table_files
from fedsift.results.layout import Kind
from fedsift.results.market import market_csv, market_summary_csv, markets
from fedsift.results.market_figures import hired_by_window, prices_figure, quality_by_window, windows
from fedsift.results.market_free_riders import free_riders_csv
from fedsift.results.market_screening import screening_csv
from fedsift.results.market_stages import stages_csv
from fedsift.results.overview import overview
from fedsift.results.style import drawing
from fedsift.results.table import build
from fedsift.results.tables import write_tables
from fedsift.specs import TableSpec


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def texts(made: Any, what: Any, **changes: Any) -> dict[str, list[str]]:
    table = build(results_of(made, market_spec(made, **changes)), TableName("closed-set", what))
    return {label: [cell[Kind.MEAN].text for cell in cells] for label, cells in table.rows}


def test_summary_by_hand(made: Any) -> None:
    found = rows(market_summary_csv(results_of(made, market_spec(made))))
    own = {row["quantity"]: row["mean"] and float(row["mean"]) for row in found if row["method"] == "iaofl"}
    assert own == pytest.approx(
        {
            **{"hired_per_round": 5 / 4, "rounds_trained": 2 / 4, "spend": 3.0, "spend_share": 3 / 8},
            **{"price": 0.6, "price_minus_bid": 0.3},
            **{"quality_honest": 0.5005, "quality_free_rider": 0.2505, "quality_mislabelled": 1.0},
        }
    )
    other = {row["quantity"]: row["mean"] for row in found if row["method"] == "ospb"}
    assert (other["spend_share"], other["quality_honest"]) == ("0.75", "")
    table = texts(made, "market")
    assert table["iaofl"][:4] == ["1.25 ± 0.00", "50.00 ± 0.00", "3.0 ± 0.0", "37.50 ± 0.00"]
    assert table["ospb"][6:] == ["–", "–", "–", "2"]


def test_spend_by_stage_by_hand(made: Any) -> None:
    table = texts(made, "market-stages")
    assert list(table) == ["budget, B = 8", "budget, B = 4", "iaofl", "ospb"]
    assert table["budget, B = 8"] == ["2.00", "2.00", "4.00", ""]
    assert table["iaofl"] == ["1.50 ± 0.00", "0.00 ± 0.00", "1.50 ± 0.00", "2"]
    found = rows(stages_csv(results_of(made, market_spec(made))))
    assert [(row["first_round"], row["last_round"]) for row in found[:3]] == [("1", "1"), ("2", "2"), ("3", "4")]
    assert [float(row["mean"]) / float(row["budget"]) for row in found[3:]] == [1.5, 0, 0.75]


def test_screening_by_hand(made: Any) -> None:
    found = rows(screening_csv(results_of(made, market_spec(made))))
    of = {(row["rounds"], row["quantity"]): row["mean"] and float(row["mean"]) for row in found[:18]}
    names = ("precision", "recall", "recall_free_riders", "recall_mislabelled", "judged", "flagged")
    assert [of["all rounds", name] for name in names] == pytest.approx([2 / 3, 2 / 3, 1, 0, 5, 3])
    assert [of["first half", name] for name in names] == [1, 1, 1, "", 2, 1]
    assert [of["second half", name] for name in names] == [0.5, 0.5, 1, 0, 3, 2]
    assert {row["mean"] for row in found if row["method"] == "ospb"} == {""}
    table = texts(made, "market-screening")
    assert list(table) == ["iaofl, all rounds", "iaofl, first half", "iaofl, second half", "ospb, all rounds"]
    assert table["ospb, all rounds"] == ["–"] * 6 + ["2"]


def test_every_bid_with_all_digits(made: Any) -> None:
    spec = market_spec(made)
    journal = columns()
    journal["b"][0] = 0.1 + 0.2
    write_journal(spec.cells[0].phases[0], journal)
    found = rows(market_csv(results_of(made, spec)))
    assert len(found) == 4 * len(BIDS)
    assert found[0] == {
        **{"noise": "closed-set", "clients": "4", "method": "iaofl", "seed": "0", "status": "ok", "round": "0"},
        **{"client": "0", "behaviour": "honest", "b": "0.30000000000000004", "q": "1.0", "rho": "1.0"},
        **{"price": "1.0", "loss": "2.0", "flagged": "0.0", "quality": "1.0"},
    }
    assert [found[2][name] for name in ("price", "loss", "flagged", "quality")] == [""] * 4
    assert (found[3]["rho"], found[3]["loss"]) == ("inf", "inf")


def riders(made: Any) -> TableSpec:
    return market_spec(made, noises=["free-20", "free-00"], free_riders={"free-20": 0.2, "free-00": 0.0})


def test_accuracy_by_share_of_free_riders(made: Any) -> None:
    results = results_of(made, riders(made))
    table = build(results, TableName("", "free-riders", clients=4))
    assert table.columns == ["0 %", "20 %"]
    assert [label for label, _ in table.rows] == [
        *("iaofl, last round", "ospb, last round", "iaofl, best round", "ospb, best round")
    ]
    found = rows(free_riders_csv(results))
    assert len(found) == 8
    assert [(row["free_riders"], row["at"], float(row["mean"])) for row in found[:2]] == [
        ("0.0", "last", pytest.approx(0.55)),
        ("0.0", "best", pytest.approx(0.65)),
    ]


def test_windows(made: Any) -> None:
    one = markets(results_of(made, market_spec(made)))[Key("closed-set", 4, "iaofl")].journals[0]
    assert windows(4).tolist() == [0, 1, 2, 3]
    assert np.bincount(windows(40)).tolist() == [5] * 8
    assert np.bincount(windows(500)).tolist() == [16] * 31 + [4]
    assert hired_by_window(one).tolist() == [2, 0, 0, 3]
    np.testing.assert_array_equal(quality_by_window(one, "free-rider"), [0.001, np.nan, np.nan, 0.5])


def test_a_figure_of_prices_shows_a_sample(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    results = results_of(made, market_spec(made))

    def points(axes: Any) -> list[int]:
        return [len(line.get_xdata()) for line in axes.lines if line.get_marker() != "None"]

    with drawing():
        figure, handles = prices_figure(results, "closed-set", 4)
        assert [points(axes) for axes in figure.axes] == [[4, 4, 2], [4, 4, 2]]
        monkeypatch.setattr(market_figures, "POINTS", 6)
        figure, _ = prices_figure(results, "closed-set", 4)
    assert [sum(points(axes)) for axes in figure.axes] == [3, 3]
    assert [one.get_label() for one in handles] == ["honest", "free-rider", "mislabelled"]


def test_exactly_the_declared_files_with_the_same_bytes_and_the_page_shows_them(made: Any) -> None:
    spec = riders(made)
    write_tables(spec, Path("state"), made.reference)
    there = {str(path): path.read_bytes() for path in Path(spec.output).rglob("*") if path.is_file()}
    assert set(there) == set(table_files(spec))
    page = Path(spec.output, "tables.html").read_text()
    places = [page.index(f"tables/{name}.csv") for name in (
        *("K4-free-riders", "free-20-accuracy-best", "free-20-market", "free-20-market-stages"),
        "free-20-market-screening",
    )]  # fmt: skip
    assert places == sorted(places)
    assert all(f"{name.stem}.svg" in page for name in figure_names(spec) if name.clients)
    write_tables(spec, Path("state"), made.reference)
    assert {name: Path(name).read_bytes() for name in there} == there


def test_without_such_methods_there_is_none_of_it(made: Any) -> None:
    spec = made.finished()
    assert (spec.market, spec.free_riders, spec.journals, spec.rates) == ({}, {}, [], [])
    assert not [file for file in table_files(spec) if "market" in file or "free-riders" in file]
    assert not overview(results_of(made, spec)).market


def test_old_specifications_mean_what_they_meant(made: Any) -> None:
    tree = made.spec().model_dump()
    del tree["market"], tree["free_riders"]
    for cell in tree["cells"]:
        del cell["rates"]
    assert TableSpec.model_validate(tree) == made.spec()
