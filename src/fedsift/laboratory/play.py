"""A mechanism over a whole log, with everything that it decided."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedsift.errors import FedsiftError
from fedsift.laboratory.contenders import Contender
from fedsift.market.bids import Bids
from fedsift.market.log import BidLog
from fedsift.market.outcome import Outcome, Reason
from fedsift.market.tender import Tender
from fedsift.training.streams import stream


@dataclass(frozen=True, eq=False)
class Played:
    """What a mechanism did in T rounds.

    Attributes:
        contender: the mechanism.
        row: [h] int64, place in the log of each hire, ascending within a round as the mechanism gives them.
        price: [h].
        bidders: [T] int64, of each round.
        hired: [T] int64.
        spent: [T].
        left: [T], what the mechanism says remains of the stage or of the budget.
        low: [T], lowest threshold that a bidder met; NaN where there was none.
        high: [T], highest.
        reason: why nobody was hired; None for trained rounds.
    """

    contender: Contender
    row: NDArray[np.int64]
    price: NDArray[np.float64]
    bidders: NDArray[np.int64]
    hired: NDArray[np.int64]
    spent: NDArray[np.float64]
    left: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    reason: list[Reason | None]


def round_stream(seed: int, t: int) -> np.random.Generator:
    """What the mechanism draws from in round ``t``; the same as in a federated run with this seed."""
    return stream(seed, "mechanism", t - 1)


def rounds_with_quality(log: BidLog, T: int, N: int) -> Iterator[tuple[int, Bids, NDArray[np.float64]]]:
    """Round, its bids, and the latest quality of each client after it, [N], as far as the log knows.

    The log shows a client's quality when it bids. A client that has not bid yet has the quality of its first bid, which
    nothing looks at before.
    """
    q = np.ones(N)
    first_of, row = np.unique(log.client, return_index=True)
    q[first_of] = log.q[row]
    for t, bids in log.rounds(T):
        if not np.array_equal(q[bids.client], bids.q):
            q = q.copy()
            q[bids.client] = bids.q
        yield t, bids, q


def play(contender: Contender, log: BidLog, tender: Tender, seed: int) -> Played:
    """Run the mechanism.

    Raises:
        FedsiftError: it hires somebody who does not bid, or twice in a round, or at a price that is no number.
    """
    made: list[Outcome] = []
    mechanism = contender.new(tender)
    for t, bids, q in rounds_with_quality(log, tender.T, tender.N):
        made.append(mechanism.hire(t, bids, round_stream(seed, t)))
        mechanism.close(t, q)
    hired = np.array([len(outcome.client) for outcome in made])
    ranges = np.array([_range(outcome.rho) for outcome in made])
    of_round = np.repeat(np.arange(1, tender.T + 1), hired)
    client = np.concatenate([outcome.client for outcome in made])
    price = np.concatenate([outcome.price for outcome in made])
    if not (finite := np.isfinite(price)).all():
        k = int(np.argmin(finite))
        raise FedsiftError(
            f"{contender.name}: in round {of_round[k]} it pays client {client[k]} {price[k]}; mend the mechanism."
        )
    return Played(
        contender,
        _rows(contender.name, log, tender.N, of_round, client),
        price,
        np.bincount(log.t, minlength=tender.T + 1)[1:],
        hired,
        np.array([outcome.spent for outcome in made]),
        np.array([outcome.left for outcome in made]),
        ranges[:, 0],
        ranges[:, 1],
        [outcome.reason for outcome in made],
    )


def _range(rho: NDArray[np.float64]) -> tuple[float, float]:
    finite = rho[np.isfinite(rho)]
    return (float(finite.min()), float(finite.max())) if len(finite) else (np.nan, np.nan)


def _rows(name: str, log: BidLog, N: int, t: NDArray[np.int64], client: NDArray[np.int64]) -> NDArray[np.int64]:
    """[h] places in the log of (t, client), [h] each."""
    keys, wanted = log.t * N + log.client, t * N + client
    order = np.argsort(keys, kind="stable")
    row = order[np.minimum(np.searchsorted(keys[order], wanted), len(log) - 1)]
    for wrong, what in (
        (keys[row] != wanted, "which does not bid in it"),
        (np.bincount(row, minlength=len(log))[row] > 1, "twice"),
    ):
        if wrong.any():
            k = int(np.argmax(wrong))
            raise FedsiftError(f"{name}: in round {t[k]} it hires client {client[k]}, {what}; mend the mechanism.")
    return row
