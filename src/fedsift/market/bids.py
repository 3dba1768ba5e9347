"""The bids of one round, and the rules that every bid keeps (incentive spec, 2)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedsift.errors import FedsiftError


class Bid(NamedTuple):
    """What one client asks for.

    Attributes:
        client: 0 to N-1.
        b: price that it asks for its whole data in one round, in [0, 1].
        q: its latest quality when it bids, in (0, 1].
    """

    client: int
    b: float
    q: float


@dataclass(frozen=True, eq=False)
class Bids:
    """The n bids of a round, in the order of their arrival; n may be 0.

    Attributes:
        client: [n] int64, each at most once.
        b: [n] float64, in [0, 1].
        q: [n] float64, in (0, 1].

    Raises:
        FedsiftError: a value outside its range, a client that bids twice, or columns of different lengths.
    """

    client: NDArray[np.int64]
    b: NDArray[np.float64]
    q: NDArray[np.float64]

    def __post_init__(self) -> None:
        check(self.client, self.b, self.q)
        numbers = self.client.tolist()
        if len(set(numbers)) < len(numbers):
            twice = next(i for k, i in enumerate(numbers) if i in numbers[:k])
            raise FedsiftError(f"client {twice} bids twice in one round; leave it one bid.")

    @classmethod
    def of(cls, bids: Iterable[Bid]) -> "Bids":
        """From single bids."""
        rows = list(bids)
        client = np.array([bid.client for bid in rows], dtype=np.int64)
        return cls(client, np.array([bid.b for bid in rows], float), np.array([bid.q for bid in rows], float))

    def __len__(self) -> int:
        return len(self.client)


def check(client: NDArray[np.int64], b: NDArray[np.float64], q: NDArray[np.float64], what: str = "bids") -> None:
    """Every row is a bid.

    Raises:
        FedsiftError: it is not; the sentence names the first row of ``what`` that is wrong, counted from 1.
    """
    if not len(client) == len(b) == len(q):
        raise FedsiftError(
            f"{what}: {len(client)} clients, {len(b)} bids and {len(q)} qualities; give each row all three."
        )
    _all(client >= 0, client, f"{what}: row {{}} has the client number {{}}; number clients from 0.")
    _all((b >= 0) & (b <= 1), b, f"{what}: row {{}} bids {{}}; a bid is a number from 0 to 1.")
    _all((q > 0) & (q <= 1), q, f"{what}: row {{}} has the quality {{}}; a quality is above 0 and at most 1.")


def _all(right: NDArray[np.bool_], values: NDArray[np.int64] | NDArray[np.float64], sentence: str) -> None:
    if not right.all():
        row = int(np.argmin(right))
        raise FedsiftError(sentence.format(row + 1, values[row]))
