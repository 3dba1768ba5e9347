"""Audit of a sample of bidders: whether another bid would have paid better in the same round."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedsift.laboratory.play import Played, round_stream, rounds_with_quality
from fedsift.market.bids import Bids
from fedsift.market.log import BidLog
from fedsift.market.mechanism import Mechanism
from fedsift.market.tender import Tender
from fedsift.market.threshold import density
from fedsift.training.streams import stream

GAIN = 1e-9
"""Above this a lie pays; below it is rounding."""
NEAR = (-1e-3, -1e-6, 0.0, 1e-6, 1e-3)
"""Steps from the price to bids that just win or lose."""
RIVALS = 8
"""As many of the other bidders, by density, are just under- and overbid from each side."""


@dataclass(frozen=True)
class Probe:
    """A bidder whose bid was taken as its true cost, and its best other bid among those tried.

    Attributes:
        t: round.
        client: who.
        q: its quality.
        cost: its bid in the log.
        utility: p - cost if it is hired, else 0.
        lie: the other bid that gives it the most.
        gain: utility of the lie minus that of the truth.
        tried: number of other bids.
    """

    t: int
    client: int
    q: float
    cost: float
    utility: float
    lie: float
    gain: float
    tried: int


def probes(played: Played, log: BidLog, tender: Tender, seed: int, sample: int) -> list[Probe]:
    """Probe ``sample`` bidders of the log, all if there are no more; everything else stays as it was.

    The others' bids, the mechanism's state, the order of arrival and the coins of the round are those of the log.
    """
    rows = drawn_rows(played, log, sample, stream(seed, "audit"))
    wanted: dict[int, list[int]] = {}
    for t, client in zip(log.t[rows].tolist(), log.client[rows].tolist(), strict=True):
        wanted.setdefault(t, []).append(client)
    found = []
    mechanism = played.contender.new(tender)
    for t, bids, q in rounds_with_quality(log, tender.T, tender.N):
        for client in wanted.pop(t, []):
            place = int(np.flatnonzero(bids.client == client)[0])
            found.append(_probe(mechanism, t, bids, place, seed))
        if not wanted:
            break
        mechanism.hire(t, bids, round_stream(seed, t))
        mechanism.close(t, q)
    return found


def drawn_rows(played: Played, log: BidLog, sample: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Places in the log of the bidders to probe, ascending.

    A third each are drawn from the hired, from the first losers (of each round that hires, the densest that is not
    hired) and from all: who just wins or just loses has most to gain by a lie, and is rare among all.
    """
    hired = np.zeros(len(log), dtype=bool)
    hired[played.row] = True
    losers = np.flatnonzero(~hired & (played.hired[log.t - 1] > 0))
    by_density = losers[np.lexsort((-density(log.q[losers], log.b[losers]), log.t[losers]))]
    first = by_density[np.diff(log.t[by_density], prepend=0) > 0]
    taken = np.zeros(len(log), dtype=bool)
    for part, places in ((3, played.row), (3, first), (1, np.arange(len(log)))):
        free = places[~taken[places]]
        count = sample // part if part > 1 else sample - int(np.count_nonzero(taken))
        taken[rng.choice(free, min(count, len(free)), replace=False)] = True
    return np.flatnonzero(taken)


def _probe(mechanism: Mechanism, t: int, bids: Bids, place: int, seed: int) -> Probe:
    client, cost = int(bids.client[place]), float(bids.b[place])

    def price(bid: float) -> float | None:
        b = bids.b.copy()
        b[place] = bid
        outcome = deepcopy(mechanism).hire(t, Bids(bids.client, b, bids.q), round_stream(seed, t))
        at = np.flatnonzero(outcome.client == client)
        return float(outcome.price[at[0]]) if len(at) else None

    def utility(paid: float | None) -> float:
        return 0.0 if paid is None else paid - cost

    honest, free = price(cost), price(0.0)
    tried = {bid: utility(price(bid)) for bid in _lies(bids, place, [p for p in (honest, free) if p is not None])}
    tried[0.0] = utility(free)
    tried.pop(cost, None)
    # Of equally good bids, the nearest to the truth.
    lie = max(tried, key=lambda bid: (tried[bid], -abs(bid - cost)))
    truth = utility(honest)
    return Probe(t, client, float(bids.q[place]), cost, truth, lie, tried[lie] - truth, len(tried))


def _lies(bids: Bids, place: int, prices: list[float]) -> list[float]:
    """A coarse grid, bids around the prices, and bids that just beat or just miss the density of another bidder."""
    own, cost = float(bids.q[place]), float(bids.b[place])
    equal = own / density(np.delete(bids.q, place), np.delete(bids.b, place))
    bids_tried = [
        *(tenth / 10 for tenth in range(1, 11)),
        *(price + step for price in prices for step in NEAR),
        *(bid * (1 + step) for bid in _spread(equal, cost) for step in (-1e-6, 1e-6)),
    ]
    return sorted({float(bid) for bid in bids_tried if 0 < bid <= 1})


def _spread(equal: NDArray[np.float64], cost: float) -> Iterator[float]:
    """The bids nearest to the own one, and others evenly over the rest."""
    equal = np.unique(equal[equal <= 1])
    at = int(np.searchsorted(equal, cost))
    near = equal[max(0, at - RIVALS // 2) : at + RIVALS // 2]
    even = equal[np.linspace(0, len(equal) - 1, min(RIVALS, len(equal))).astype(int)] if len(equal) else equal
    yield from np.union1d(near, even).tolist()
