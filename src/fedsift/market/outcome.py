"""What a mechanism has decided in a round."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Reason = Literal["no bids", "no threshold", "threshold", "budget"]
"""Why nobody is hired. `no bids`: nobody bids; `no threshold`: there are no other bids to price by; `threshold`: too
few reach the threshold; `budget`: enough reach it, but what is left does not pay for them."""


class Hire(NamedTuple):
    """A client that trains in the round, and what it is paid for that."""

    client: int
    price: float


@dataclass(frozen=True, eq=False)
class Outcome:
    """Hires of a round, in the order of their arrival.

    Attributes:
        client: [h] int64.
        price: [h], p_i, each at least the client's bid and at most 1.
        rho: [n], the density threshold that was in force for each bidder; inf where it had no price.
        left: what remains for the rounds to come of the same stage, or of the same budget.
        reason: why nobody is hired; None if somebody is.
    """

    client: NDArray[np.int64]
    price: NDArray[np.float64]
    rho: NDArray[np.float64]
    left: float
    reason: Reason | None

    @property
    def hires(self) -> list[Hire]:
        """Client by client."""
        return [Hire(*hire) for hire in zip(self.client.tolist(), self.price.tolist(), strict=True)]

    @property
    def spent(self) -> float:
        """What the round costs."""
        return float(sum(self.price.tolist()))
