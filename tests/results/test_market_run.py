"""From the round loop to the tables: a small run of two methods that hire."""

import csv
import io
from pathlib import Path
from typing import Any

from results.journals import results_of
from training.tiny import SIZES, spec_of, write_inputs

from fedsift.results.market import market_csv, market_summary_csv
from fedsift.results.tables import write_tables
from fedsift.specs import CellSpec, MarketSpec, TableSpec
from fedsift.training.run import train

ROUNDS = 8


def experiment() -> TableSpec:
    """IAOFL judges and OSPB does not."""
    options: dict[str, Any] = {"budget": 12.0, "arrivals": {"share": 0.8}}
    cells = []
    for name in ("iaofl", "ospb"):
        spec = spec_of(name, options, stop=ROUNDS, rounds=ROUNDS, evaluation={"every": 4, "validation": 0.5})
        train(spec, "code", "cpu", state=Path("state"), report=lambda line: None)
        cells.append(
            CellSpec(noise="mixed", clients=len(SIZES), method=name, seed=3, phases=[spec.phase], rates="rates.parquet")
        )
    return TableSpec(
        scale="quick",
        experiment="tiny",
        paper="iaofl",
        title="Tiny",
        dataset="digits",
        model="mtae-digits",
        rounds=ROUNDS,
        margin=0.01,
        noises=["mixed"],
        clients=[len(SIZES)],
        methods=["iaofl", "ospb"],
        seeds=[3],
        cells=cells,
        market={
            name: MarketSpec(budget=12.0, judges=name == "iaofl", screens=name == "iaofl") for name in ("iaofl", "ospb")
        },
        output="reports/tiny",
    )


def test_a_small_run_reaches_the_tables(made: Any) -> None:
    write_inputs(Path())
    spec = experiment()
    results = results_of(made, spec)
    found = list(csv.DictReader(io.StringIO(market_csv(results))))
    assert {row["status"] for row in found} == {"ok"}
    assert {row["behaviour"] for row in found if row["client"] == "5"} <= {"free-rider"}
    bids = {name: [row["b"] for row in found if row["method"] == name] for name in ("iaofl", "ospb")}
    assert bids["iaofl"] == bids["ospb"]
    means = {
        (row["method"], row["quantity"]): row["mean"]
        for row in csv.DictReader(io.StringIO(market_summary_csv(results)))
    }
    assert 0 < float(means["iaofl", "spend_share"]) <= 1
    assert means["iaofl", "quality_honest"]
    assert not means["ospb", "quality_honest"]
    write_tables(spec, Path("state"), made.reference)
    assert "hired per round" in Path(spec.output, "tables/mixed-market.md").read_text()
