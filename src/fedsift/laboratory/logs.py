"""Where the bids of an experiment come from: drawn, or a file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field, ValidationError

from fedsift.config.shape import explain
from fedsift.errors import FedsiftError
from fedsift.files import sha256
from fedsift.laboratory.bid_file import MOST, read_bids
from fedsift.market.arrivals import ArrivalOptions, draw_log
from fedsift.market.log import BidLog
from fedsift.market.tender import Tender
from fedsift.training.streams import stream

LOWEST = 1e-3
"""Lowest quality that is drawn: epsilon of IAOFL's eq. (3), the lowest that training gives."""


class Drawn(ArrivalOptions):
    """A simulated log: the arrivals of the configuration, and clients whose quality never changes."""

    quality: Literal["uniform", "one"] = Field("uniform", description="Of each client: U(0, 1), or 1 for all.")

    def note(self) -> dict[str, object]:
        """For the summary."""
        return {"source": "drawn", **self.model_dump()}

    def log(self, T: int, N: int, seed: int) -> BidLog:
        """Bids of ``T`` rounds of ``N`` clients; who arrives and what it bids is as in a federated run with this seed.

        Raises:
            FedsiftError: nobody ever bids.
        """
        q = np.ones(N)
        if self.quality == "uniform":
            q = np.maximum(stream(seed, "quality").random(N), LOWEST)
        return draw_log(T, q, self, lambda t: stream(seed, "admit", t - 1))


@dataclass(frozen=True)
class Given:
    """A log from a file."""

    path: Path

    def note(self) -> dict[str, object]:
        """For the summary."""
        return {"source": str(self.path), "sha256": sha256(self.path)}

    def log(self) -> BidLog:
        """All bids."""
        return read_bids(self.path)


def source_of(bids: Path | None, quality: str | None, share: float | None, w: float | None) -> Drawn | Given:
    """From the options of the command line; None where one is not given.

    Raises:
        FedsiftError: a value outside its range, or an option of drawn logs together with a file.
    """
    options = {"quality": quality, "share": share, "w": w}
    given = {name: value for name, value in options.items() if value is not None}
    if bids is not None:
        if given:
            raise FedsiftError(f"--{next(iter(given))} is for drawn logs, and --bids gives one; leave out one of them.")
        return Given(bids)
    try:
        return Drawn.model_validate(given)
    except ValidationError as error:
        (option,), sentence = explain(error, Drawn)
        raise FedsiftError(f"--{option}: {sentence}") from error


def tender_and_log(
    source: Drawn | Given, rounds: int | None, clients: int | None, budget: float | None, seed: int
) -> tuple[Tender, BidLog]:
    """What is offered, and the bids.

    Args:
        source: of the bids.
        rounds: T; None: 512, or the last round of the file.
        clients: N; None: 100, or one more than the highest client number of the file.
        budget: B; None: half a unit a round, as in the paper (256 for 512 rounds).
        seed: of what is drawn.

    Raises:
        FedsiftError: a number outside its range, or one that the file contradicts.
    """
    for name, value in (("--rounds", rounds), ("--clients", clients)):
        if value is not None and not 1 <= value <= MOST:
            raise FedsiftError(f"{name} is {value}; give a number from 1 to {MOST:,}.")
    if budget is not None and not (np.isfinite(budget) and budget > 0):
        raise FedsiftError(f"--budget is {budget}; give a number above 0.")
    if isinstance(source, Drawn):
        T, N = rounds or 512, clients or 100
        return Tender(T, budget or T / 2, N), source.log(T, N, seed)
    log = source.log()
    last, highest = int(log.t[-1]), int(log.client.max())
    T, N = rounds or last, clients or highest + 1
    if last > T:
        line = int(np.argmax(log.t > T)) + 2
        raise FedsiftError(
            f"{source.path}:{line}: round {log.t[line - 2]} is above --rounds {T}; "
            f"raise it to {last} or cut the log there."
        )
    if highest >= N:
        line = int(np.argmax(log.client >= N)) + 2
        raise FedsiftError(
            f"{source.path}:{line}: client {log.client[line - 2]} is not below --clients {N}; "
            f"raise it to {highest + 1}."
        )
    return Tender(T, budget or T / 2, N), log
