"""Control: drop a share of every client's samples at random. What fewer samples alone do (MTAE spec, D18)."""

import numpy as np
from pydantic import Field

from fedsift.methods.base import Client, Selection, Signals, floor_share
from fedsift.methods.from_start import FromStart, StartOptions
from fedsift.section import Share


class RandomDropOptions(StartOptions):
    """How much is dropped."""

    rate: Share = Field(0.4, description="Share of a client's samples that is dropped.")


class RandomDrop(FromStart):
    """A new draw in every round."""

    Options = RandomDropOptions

    def select(self, round_: int, client: Client, signals: Signals, rng: np.random.Generator) -> Selection | None:
        """Drop floor(rate n) samples."""
        lottery = rng.random(len(client.labels))
        return Selection(keep=drop_highest(lottery, self.options.rate), suspicion=lottery)


def drop_highest(score: np.ndarray, rate: float) -> np.ndarray:
    """Mask [n] that drops the floor(rate n) highest of ``score`` [n]; of equal ones the later are dropped."""
    keep = np.ones(len(score), dtype=bool)
    keep[np.argsort(score, kind="stable")[len(score) - floor_share(rate, len(score)) :]] = False
    return keep


METHOD = RandomDrop
