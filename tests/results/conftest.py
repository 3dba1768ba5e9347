"""Made-up experiments: histories in which every number is known."""

import csv
from pathlib import Path
from typing import Any

import pytest

from fedsift.results.histories import COLUMNS
from fedsift.specs import CellSpec, TableSpec

Row = dict[str, object]


class Made:
    """Makes specifications and histories; a run's one phase is `runs/<noise>/<K>/<method's place>/<seed>`."""

    reference = Path(__file__).parents[2] / "reports" / "reference"
    """The repository's reference values."""

    def row(self, at: int, accuracy: float | None = None, **values: object) -> Row:
        """One row of a history; evaluated where there is an accuracy, with half of it as macro F1.

        Three clients train and are averaged; class 0 is recognised as well as all, class 1 has no test sample, class 2
        is always recognised.
        """
        row: Row = dict.fromkeys(COLUMNS, "")
        row |= {"round": at, "status": "ok", "clients": 3, "samples": 90, "used": 90, "averaged": 3}
        if accuracy is not None:
            shares = ("accuracy", "balanced_accuracy", "macro_precision", "macro_recall")
            row |= dict.fromkeys(shares, accuracy) | {"macro_f1": accuracy / 2}
            row |= {"loss": 1.5, "cross_entropy": 1.0, "mse": 0.5, "psnr": 20 + accuracy, "ssim": accuracy - 0.5}
            row |= {"class_recall": f"{accuracy} - 1"}
        return row | values

    def history(self, phase: str, rows: list[Row]) -> None:
        """A phase's history."""
        Path(phase).mkdir(parents=True, exist_ok=True)
        with Path(phase, "history.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)

    def spec(self, **changes: Any) -> TableSpec:
        """An experiment: CIFAR-10 at scale `paper`, closed-set noise, 1000 clients, 4 rounds, 3 seeds."""
        values: dict[str, Any] = {
            "scale": "paper",
            "experiment": "cifar",
            "paper": "mtae",
            "title": "CIFAR-10",
            "dataset": "cifar10",
            "model": "mtae-cifar10",
            "rounds": 4,
            "margin": 0.01,
            "noises": ["closed-set"],
            "clients": [1000],
            "methods": ["fedavg", "loss-ocsvm"],
            "seeds": [0, 1, 2],
            "output": "reports/paper/cifar",
        } | changes
        cells = [
            CellSpec(
                noise=noise,
                clients=clients,
                method=method,
                seed=seed,
                phases=[f"runs/{noise}/{clients}/{index}/{seed}"],
            )
            for noise in values["noises"]
            for clients in values["clients"]
            for index, method in enumerate(values["methods"])
            for seed in values["seeds"]
        ]
        return TableSpec.model_validate({"cells": cells} | values)

    def run(self, phase: str, rows: list[dict[str, object]], rounds: int = 100) -> None:
        """A history of so many rounds in which ``rows`` differ; its last round is evaluated."""
        given = {row["round"]: row for row in rows}
        self.history(phase, [given.get(at) or self.row(at, 0.5 if at == rounds - 1 else None) for at in range(rounds)])

    def finished(self, **changes: Any) -> TableSpec:
        """The same with all runs done: the baseline reaches 0.40 + seed/100, each further method 0.05 more.

        The best round is 2; methods but the baseline select in the last two rounds.
        """
        spec = self.spec(**changes)
        for cell in spec.cells:
            place = spec.methods.index(cell.method)
            best = 0.4 + cell.seed / 100 + 0.05 * place
            rows = [self.row(at, accuracy) for at, accuracy in enumerate([0.1, 0.2, best, best - 0.02])]
            if place:
                rows[2] |= {"detection_precision": 0.5, "detection_recall": 0.25, "detection_auc": ""}
                rows[3] |= {"detection_precision": 0.7, "detection_recall": 0.75, "detection_auc": 0.8}
            self.history(cell.phases[0], rows)
        return spec


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """A maker in an empty working folder."""
    monkeypatch.chdir(tmp_path)
    return Made()
