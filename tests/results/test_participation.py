"""Who takes part, and what it costs."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedsift.results.collect import Results, collect
from fedsift.results.exports import runs_csv
from fedsift.results.files import TableName
from fedsift.results.layout import Kind
from fedsift.results.overview import overview
from fedsift.results.participation import QUANTITIES, participation_csv
from fedsift.results.reference import Reference
from fedsift.results.runs import VALUES, Run
from fedsift.results.table import build
from fedsift.specs import CellSpec, TableSpec

NAME = TableName("closed-set", "participation", clients=1000)


def results(made: Any, spec: TableSpec) -> Results:
    return collect(spec, Path("state"), Reference.load(made.reference, spec.paper))


def refusing(made: Any) -> TableSpec:
    """FedAvg refuses nobody; the other refuses 1 of 4, 2 of 4 and, where nobody trains, nobody. Two seeds alike."""
    spec: TableSpec = made.spec(rounds=3, seeds=[0, 1])
    for cell in spec.cells:
        own = cell.method != "fedavg"
        rows = [
            made.row(0, 0.5, clients=4, averaged=3 if own else 4, weight_divergence=0.2 if own else ""),
            made.row(1, clients=4, averaged=2 if own else 4),
            made.row(2, 0.5, clients=0, averaged=0, weight_divergence=0.4 if own else ""),
        ]
        made.history(cell.phases[0], rows)
    return spec


def test_hand_counted(made: Any) -> None:
    found = list(csv.DictReader(io.StringIO(participation_csv(results(made, refusing(made))))))
    means = {(row["method"], row["quantity"]): row["mean"] and float(row["mean"]) for row in found}
    own = {quantity: means["loss-ocsvm", quantity] for quantity in QUANTITIES}
    assert own == pytest.approx(
        {
            **{"clients_per_round": 8 / 3, "averaged_per_round": 5 / 3, "refused_share": (1 / 4 + 2 / 4) / 2},
            **{"models_received": 8, "models_sent": 8, "weight_divergence": 0.3},
        }
    )
    assert (means["fedavg", "refused_share"], means["fedavg", "weight_divergence"]) == (0, "")
    run = list(csv.DictReader(io.StringIO(runs_csv(results(made, refusing(made))))))[2]
    assert (float(run["refused_share"]), float(run["models_sent"])) == (0.375, 8)


def test_the_table_says_what_is_counted(made: Any) -> None:
    one = build(results(made, refusing(made)), NAME)
    assert one.columns == [
        *["trained per round", "averaged per round", "refused (q_t / m), %", "models received", "models sent"],
        *["weight divergence", "seeds"],
    ]
    texts = [cell[Kind.MEAN].text for cell in one.rows[1][1]]
    assert texts == ["2.7 ± 0.0", "1.7 ± 0.0", "37.50 ± 0.00", "8 ± 0", "8 ± 0", "0.3000 ± 0.0000", "2"]
    assert dict(one.notes)[one.rows[0][1][5][Kind.MEAN].mark] == "not logged"
    assert one.notes[-1][0] == ""
    assert one.notes[-1][1].startswith("Counted are models, not bytes")


def test_it_is_shown_only_where_there_is_something_to_tell(made: Any) -> None:
    (noise,) = overview(results(made, made.finished())).noises
    assert noise.details == [f"tables/closed-set-K1000-{what}" for what in ("accuracy-by-round", "class-recall")]
    assert participation_csv(results(made, made.finished())).count("\n") == 1
    (noise,) = overview(results(made, refusing(made))).noises
    assert "tables/closed-set-K1000-participation" in noise.details


def test_a_weight_divergence_alone_is_something_to_tell(made: Any) -> None:
    spec = made.finished()
    made.history(spec.cells[0].phases[0], [made.row(at, 0.4, weight_divergence=0.1) for at in range(4)])
    (noise,) = overview(results(made, spec)).noises
    assert "tables/closed-set-K1000-participation" in noise.details


@given(st.lists(st.tuples(st.integers(0, 20), st.floats(0, 1)), min_size=1))
def test_what_is_refused_was_sent(rounds: list[tuple[int, float]]) -> None:
    import numpy as np

    clients = np.array([count for count, _ in rounds])
    averaged = np.array([int(count * share) for count, share in rounds])
    cell = CellSpec(noise="clean", clients=20, method="m", seed=0, phases=[])
    nan = np.full(len(rounds), np.nan)
    run = Run(cell, dict.fromkeys(VALUES, nan), np.empty((len(rounds), 0)), clients, averaged)
    found = {name: of(run) for name, of in QUANTITIES.items()}
    assert found["models_sent"] == found["models_received"] == pytest.approx(found["clients_per_round"] * len(rounds))  # type: ignore[operator]
    assert found["averaged_per_round"] <= found["clients_per_round"]  # type: ignore[operator]
    assert found["refused_share"] is None if not clients.any() else 0 <= found["refused_share"] <= 1  # type: ignore[operator]
    assert found["weight_divergence"] is None
