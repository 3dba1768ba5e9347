"""Journals: what is wrong becomes a reason, never a number."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from results.journals import JUDGES, columns, market_spec, results_of, unjudged, write_journal, write_rates

from fedsift.methods.auction import JOURNAL
from fedsift.results.collect import Key
from fedsift.results.files import TableName
from fedsift.results.journal import COLUMNS, Journal, read_journal
from fedsift.results.layout import Kind
from fedsift.results.market import market_csv, markets
from fedsift.results.table import build
from fedsift.specs import MarketSpec

KEY = Key("closed-set", 4, "iaofl")


def test_the_columns_are_those_of_the_method() -> None:
    assert COLUMNS == JOURNAL


def read(made: Any, journal: dict[str, np.ndarray] | None = None, market: MarketSpec = JUDGES) -> Journal | str:
    spec = market_spec(made)
    if journal is not None:
        write_journal(spec.cells[0].phases[0], journal)
    return read_journal(results_of(made, spec).group(KEY).runs[0], market)


def test_every_number_is_there(made: Any) -> None:
    found = read(made)
    assert isinstance(found, Journal)
    for name, values in columns().items():
        np.testing.assert_array_equal(getattr(found, name), values)
    assert list(found.behaviour) == ["honest", "free-rider", "honest", "free-rider", "honest", "mislabelled"]
    assert (found.T, found.hired.sum(), found.judged.sum()) == (4, 5, 5)


def test_a_run_without_bids_is_no_error(made: Any) -> None:
    found = read(made, {name: np.zeros(0) for name in COLUMNS})
    assert isinstance(found, Journal)


BROKEN: list[tuple[str, int, float, str]] = [
    ("round", 5, 1, "bid 6 goes back to round 1"),
    ("round", 5, 4, "bid 6 has the round 4.0, which is none of 0 to 3"),
    ("round", 0, 0.5, "bid 1 has the round 0.5, which is none of 0 to 3"),
    ("client", 0, -1, "bid 1 has the client -1.0, which is none of 0 to 3"),
    ("client", 1, 0, "client 0 bids twice in round 0"),
    ("b", 0, 1.5, "bid 1 is 1.5, not from 0 to 1"),
    ("b", 2, np.nan, "bid 3 is nan, not from 0 to 1"),
    ("q", 0, 0, "bid 1 has the known quality 0.0, not above 0 and at most 1"),
    ("rho", 0, np.nan, "bid 1 has the threshold nan"),
    ("price", 0, 0.4, "bid 1, 0.5, has the price 0.4, not from the bid to 1"),
    ("price", 0, 1.1, "bid 1, 0.5, has the price 1.1, not from the bid to 1"),
    ("price", 0, np.nan, "bid 1 has a loss without it and was not hired"),
    ("flagged", 2, 0, "bid 3 is judged and was not hired"),
    ("flagged", 0, 0.5, "bid 1 is flagged 0.5, not 0 or 1"),
    ("flagged", 0, np.nan, "bid 1 has a quality and was not judged"),
    ("quality", 2, 0.5, "bid 3 has a quality and was not judged"),
    ("quality", 0, 0, "bid 1 has the quality 0.0, not above 0 and at most 1"),
]


@pytest.mark.parametrize(("column", "row", "value", "reason"), BROKEN)
def test_a_wrong_value_is_a_reason(made: Any, column: str, row: int, value: float, reason: str) -> None:
    journal = columns()
    journal[column][row] = value
    assert read(made, journal) == f"unusable journal: {reason}"


def test_what_does_not_fit_the_method_is_a_reason(made: Any) -> None:
    unscreened = MarketSpec(budget=8, judges=True, screens=False)
    assert read(made, unjudged()) == "unusable journal: bid 1 is hired and not judged"
    assert read(made, columns(), MarketSpec(budget=8, judges=False, screens=False)) == (
        "unusable journal: bid 1 is judged"
    )
    assert read(made, columns(), unscreened) == "unusable journal: bid 2 is flagged by a method that does not screen"
    assert read(made, columns(), MarketSpec(budget=2.5, judges=True, screens=True)) == (
        "unusable journal: it spends 3 of 2.5"
    )


def test_shapes_and_names_and_kinds(made: Any) -> None:
    short = columns() | {"b": np.zeros(2)}
    assert read(made, short) == "unusable journal: its columns differ in length"
    small = {name: values.astype(np.float32) for name, values in columns().items()}
    assert read(made, small) == "unusable journal: its columns are not of 64-bit numbers"
    less = {name: values for name, values in columns().items() if name not in ("rho", "loss")}
    assert read(made, less) == "unusable journal: the checkpoint has no rho, loss"


def test_files_that_are_missing_or_something_else(made: Any) -> None:
    spec = market_spec(made)
    run = results_of(made, spec).group(KEY).runs[0]
    file = Path(run.cell.phases[0], "checkpoint.safetensors")
    file.write_bytes(b"no checkpoint")
    assert str(read_journal(run, JUDGES)).startswith("unusable journal: the checkpoint is not readable")
    file.unlink()
    assert read_journal(run, JUDGES) == "unusable journal: there is no checkpoint"
    write_journal(run.cell.phases[0], columns())
    write_rates(behaviours=["honest"] * 3)
    assert read_journal(run, JUDGES) == "unusable journal: the rates table is not one of 4 clients"
    write_rates(behaviours=["honest"] * 3 + ["lazy"])
    assert read_journal(run, JUDGES) == "unusable journal: the rates table has the behaviour 'lazy'"
    Path("rates.parquet").write_bytes(b"no table")
    assert str(read_journal(run, JUDGES)).startswith("unusable journal: the rates table is not readable")
    Path("rates.parquet").unlink()
    assert read_journal(run, JUDGES) == "unusable journal: there is no rates table"


def test_more_clients_than_hires_is_a_reason(made: Any) -> None:
    spec = market_spec(made)
    made.history(spec.cells[0].phases[0], [made.row(at, 0.5, clients=int(at == 1), averaged=0) for at in range(4)])
    run = results_of(made, spec).group(KEY).runs[0]
    assert read_journal(run, JUDGES) == "unusable journal: the history has more clients than the journal in round 1"


def test_the_reason_stands_in_the_table_and_the_other_seed_counts(made: Any) -> None:
    spec = market_spec(made)
    Path(spec.cells[0].phases[0], "checkpoint.safetensors").unlink()
    Path(spec.cells[2].phases[0], "history.csv").unlink()
    Path(spec.cells[3].phases[0], "history.csv").unlink()
    results = results_of(made, spec)
    table = build(results, TableName("closed-set", "market"))
    first, second = (cells for _, cells in table.rows)
    notes = dict(table.notes)
    assert first[0][Kind.MEAN].text == "1.25"
    assert first[-1][Kind.MEAN].text == "1 of 2"
    assert notes[first[-1][Kind.MEAN].mark] == "seed 0: unusable journal: there is no checkpoint"
    assert notes[second[0][Kind.MEAN].mark] == "seeds 0, 1: not run yet"
    lines = market_csv(results).splitlines()
    assert lines[1] == "closed-set,4,iaofl,0,unusable journal: there is no checkpoint,,,,,,,,,,"
    assert len(lines) == 1 + 1 + 6 + 2
    assert markets(results, "elsewhere") == {}
