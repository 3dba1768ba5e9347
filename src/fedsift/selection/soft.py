"""Selection that sets in gradually, so that little hangs on the choice of t_s (MTAE spec, 8)."""

from dataclasses import replace
from typing import Any

import numpy as np
from pydantic import Field

from fedsift.errors import ConfigError
from fedsift.methods.base import Client, Selection, Signals, Start, Step, Task, start_round
from fedsift.selection.refitted import DetectorOptions, RefittedDetector


class SoftOptions(DetectorOptions):
    """From the first detector to full selection."""

    first: Start = Field(
        0.1, description="Round, or share of the rounds, in which the first detector is fitted; it takes t_s's place."
    )
    start: Start = Field(0.4, description="Round, or share of the rounds, from which on every outlier is dropped.")


class SoftStart(RefittedDetector):
    """An outlier is dropped with probability (r - first) / (start - first), and surely from `start` on.

    Every sample has a draw of its own in every round. A `first` that equals `start` is the hard switch.
    """

    Options = SoftOptions

    def __init__(self, options: Any, task: Task) -> None:
        super().__init__(options, task)
        self.full = self.t_s
        self.t_s = start_round(options.first, task.rounds)

    @classmethod
    def lineage(cls, options: Any, rounds: int) -> list[Step]:
        """FedAvg until `first`.

        Raises:
            ConfigError: `first` comes after `start`.
        """
        first, start = start_round(options.first, rounds), start_round(options.start, rounds)
        if first > start:
            raise ConfigError(f"its option first is round {first}, after start, round {start}; lower it")
        return [Step("fedavg", {}, first)]

    def drop_probability(self, round_: int) -> float:
        """Of an outlier."""
        return 1.0 if round_ >= self.full else max(0.0, (round_ - self.t_s) / (self.full - self.t_s))

    def select(self, round_: int, client: Client, signals: Signals, rng: np.random.Generator) -> Selection | None:
        """Keep the inliers and those outliers that are lucky."""
        chosen = super().select(round_, client, signals, rng)
        if chosen is None or chosen.keep is None:
            return chosen
        lucky = rng.random(len(chosen.keep)) >= self.drop_probability(round_)
        return replace(chosen, keep=chosen.keep | lucky)
