"""A mechanism on a bid log, without training."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from fedsift.market.log import BidLog
from fedsift.market.mechanism import Mechanism
from fedsift.market.outcome import Outcome


def play(
    mechanism: Mechanism, log: BidLog, q: NDArray[np.float64], rng_of: Callable[[int], np.random.Generator]
) -> Iterator[Outcome]:
    """The outcome of every round to come, 1 to T for a new mechanism; qualities stay what they are.

    Args:
        mechanism: new, or continued.
        log: all bids.
        q: [N], quality of every client.
        rng_of: the stream of each round, for mechanisms that draw.

    Raises:
        FedsiftError: the log has rounds or clients that the mechanism's tender has not.
    """
    done = mechanism.t
    for t, bids in log.rounds(mechanism.tender.T):
        if t > done:
            outcome = mechanism.hire(t, bids, rng_of(t))
            mechanism.close(t, q)
            yield outcome
