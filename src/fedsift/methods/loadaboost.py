"""LoAdaBoost: clients with a loss above the median train longer (Huang et al. 2020; EMFedAvg paper, section 2.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from fedsift.methods.base import Client, Evidence, Method, Signal, Signals, Task
from fedsift.selection.vectors import total_loss


class LoadaboostOptions(Method.Options):
    """Bounds of the local epochs, as shares of the experiment's E."""

    least: Annotated[float, Field(gt=0, le=1)] = Field(0.5, description="Epochs before the first look, rounded up.")
    most: Annotated[float, Field(ge=1)] = Field(1.5, description="Most epochs, rounded down.")


class Loadaboost(Method):
    """Train E/2 epochs; while the own loss exceeds the median of last round's clients, one more, up to 3E/2.

    In round 0 there is no median yet and every client trains E epochs.
    """

    Options = LoadaboostOptions
    options: LoadaboostOptions

    def __init__(self, options: Any, task: Task) -> None:
        super().__init__(options, task)
        self.median = np.nan

    def goes_on(self, round_: int, client: int, epoch: int, epochs: int, loss: Callable[[], float]) -> bool:
        """Look at the loss between ``least`` and ``most``."""
        if np.isnan(self.median):
            return epoch < epochs
        if epoch < self.options.least * epochs:
            return True
        return epoch + 1 <= self.options.most * epochs and loss() > self.median

    def reply_signals(self, round_: int) -> frozenset[Signal]:
        """The loss of the trained model."""
        return frozenset({"losses"})

    def reply(self, round_: int, client: Client, signals: Signals) -> Mapping[str, np.ndarray]:
        """Its mean, one number."""
        return {"loss": np.array(total_loss(signals).mean())}

    def observe(self, round_: int, evidence: Evidence) -> None:
        """The median of the clients' losses, for the next round."""
        self.median = float(np.median([float(upload["loss"]) for upload in evidence.uploads]))

    def state_dict(self) -> dict[str, np.ndarray]:
        """The median."""
        return {"median": np.array(self.median)}

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Continue."""
        self.median = float(state.get("median", np.nan))


METHOD = Loadaboost
