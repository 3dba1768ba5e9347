"""All bids of a run, in the order of their arrival."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedsift.errors import FedsiftError
from fedsift.market.bids import Bids, check


@dataclass(frozen=True, eq=False)
class BidLog:
    """n > 0 bids.

    Attributes:
        t: [n] int64, round of each bid, ascending, from 1.
        client: [n] int64, each at most once in a round.
        b: [n] float64, in [0, 1].
        q: [n] float64, latest quality when it bids, in (0, 1].

    Raises:
        FedsiftError: an empty log, a value outside its range, or a client that bids twice in a round.
    """

    t: NDArray[np.int64]
    client: NDArray[np.int64]
    b: NDArray[np.float64]
    q: NDArray[np.float64]

    def __post_init__(self) -> None:
        if len(self.t) == 0:
            raise FedsiftError("the bid log is empty; give it at least one bid.")
        check(self.client, self.b, self.q, "bid log")
        if len(self.t) != len(self.b):
            raise FedsiftError(f"bid log: {len(self.t)} rounds for {len(self.b)} bids; give each row its round.")
        steps = np.diff(self.t, prepend=1)
        if (steps < 0).any():
            row = int(np.argmax(steps < 0)) + 1
            raise FedsiftError(
                f"bid log: row {row} is of round {self.t[row - 1]}; sort the rows by round, from 1 upwards."
            )
        order = np.lexsort((self.client, self.t))
        again = (np.diff(self.t[order]) == 0) & (np.diff(self.client[order]) == 0)
        if again.any():
            row = int(order[1:][again].min())
            raise FedsiftError(
                f"bid log: row {row + 1} is a second bid of client {self.client[row]} in round {self.t[row]}; "
                "leave it one bid."
            )

    def __len__(self) -> int:
        return len(self.t)

    def rounds(self, T: int) -> Iterator[tuple[int, Bids]]:
        """Rounds 1 to ``T`` with their bids, none in some of them.

        Raises:
            FedsiftError: the log has later rounds.
        """
        if self.t[-1] > T:
            raise FedsiftError(f"the bid log goes up to round {self.t[-1]}; cut it at round {T} or raise the rounds.")
        starts = np.searchsorted(self.t, np.arange(1, T + 2)).tolist()
        for t in range(1, T + 1):
            rows = slice(starts[t - 1], starts[t])
            yield t, Bids(self.client[rows], self.b[rows], self.q[rows])
