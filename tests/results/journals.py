"""A made-up market: two methods, four clients, four rounds, in which every number is known."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from results.conftest import Made

from fedsift.results.collect import Results, collect
from fedsift.results.journal import COLUMNS
from fedsift.results.reference import Reference
from fedsift.specs import MarketSpec, TableSpec
from fedsift.training.checkpoint import Checkpoint, save

NAN = float("nan")
BEHAVIOURS = ["honest", "honest", "free-rider", "mislabelled"]
BIDS = [
    # round, client, b, q, rho, price, loss, flagged, quality
    (0, 0, 0.5, 1.0, 1.0, 1.0, 2.0, 0, 1.0),
    (0, 2, 0.2, 1.0, 1.0, 0.5, 1.0, 1, 0.001),
    (1, 1, 0.9, 1.0, 1.5, NAN, NAN, NAN, NAN),
    (3, 2, 0.3, 0.1, np.inf, 0.75, np.inf, 1, 0.5),
    (3, 0, 0.4, 0.5, 1.0, 0.5, 1.5, 1, 0.001),
    (3, 3, 0.1, 1.0, 1.0, 0.25, 2.5, 0, 1.0),
]
JUDGES = MarketSpec(budget=8, judges=True, screens=True)
PRICES_ONLY = MarketSpec(budget=4, judges=False, screens=False)


def columns(bids: list[tuple[Any, ...]] = BIDS) -> dict[str, np.ndarray]:
    """The journal's arrays."""
    table = np.array(bids, float).reshape(-1, len(COLUMNS))
    return {name: table[:, at].copy() for at, name in enumerate(COLUMNS)}


def unjudged() -> dict[str, np.ndarray]:
    """The same bids and prices under a method that does not judge."""
    blank = np.full(len(BIDS), NAN)
    return columns() | dict.fromkeys(("loss", "flagged", "quality"), blank)


def write_journal(phase: str, journal: dict[str, np.ndarray]) -> None:
    """A phase's checkpoint, with this journal and little else."""
    arrays = {f"journal.{name}": values for name, values in journal.items()}
    file = Path(phase, "checkpoint.safetensors")
    save(file, Checkpoint({}, arrays | {"mechanism.x": np.zeros(1)}, {"round": 4, "status": "ok", "key": ""}))


def write_rates(file: str = "rates.parquet", behaviours: list[str] = BEHAVIOURS) -> None:
    """What each client is."""
    client = np.arange(-1, len(behaviours))
    pd.DataFrame({"client": client, "label": -1, "behaviour": ["mixed", *behaviours]}).to_parquet(file)


def market_spec(made: Made, **changes: Any) -> TableSpec:
    """IAOFL and OSPB, the last without judging; seeds 0 and 1 are alike but for the accuracy."""
    changes = {"clients": [4], "methods": ["iaofl", "ospb"], "seeds": [0, 1], "paper": "iaofl"} | changes
    changes = {"market": {"iaofl": JUDGES, "ospb": PRICES_ONLY}} | changes
    spec = made.spec(**changes)
    cells = [cell.model_copy(update={"rates": "rates.parquet"}) for cell in spec.cells]
    spec = spec.model_copy(update={"cells": cells})
    write_rates()
    for cell in spec.cells:
        accuracy = 0.5 + cell.seed / 10
        none = {"clients": 0, "averaged": 0}
        rows = [made.row(at, value, **none) for at, value in enumerate([0.1, accuracy + 0.1, 0.2, accuracy])]
        made.history(cell.phases[0], rows)
        write_journal(cell.phases[0], columns() if spec.market[cell.method].judges else unjudged())
    return spec


def results_of(made: Made, spec: TableSpec) -> Results:
    """What the stage reads."""
    return collect(spec, Path("state"), Reference.load(made.reference, "mtae"))
