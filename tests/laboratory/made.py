"""Logs, tenders and mechanisms of the tests."""

from pathlib import Path

import numpy as np

from fedsift.laboratory.contenders import Contender, contenders
from fedsift.laboratory.logs import Drawn
from fedsift.market.log import BidLog
from fedsift.market.mechanism import Mechanism
from fedsift.market.outcome import Outcome
from fedsift.market.tender import Tender
from fedsift.section import Section

NAIVE = str(Path(__file__).parent / "naive.py")


def one(argument: str, *settings: str) -> Contender:
    (made,) = contenders([argument], settings)
    return made


def drawn(T: int, N: int, seed: int = 0) -> tuple[BidLog, Tender]:
    return Drawn().log(T, N, seed), Tender(T, T / 2, N)


def rows(*bids: tuple[int, int, float] | tuple[int, int, float, float]) -> BidLog:
    """From (t, client, b) or (t, client, b, q)."""
    t, client, b, q = zip(*((*bid, 1.0)[:4] for bid in bids), strict=True)
    return BidLog(np.array(t), np.array(client), np.array(b, float), np.array(q, float))


class Fixed(Mechanism):
    """Hires the first bidder of a round at a fixed price."""

    Options = Section
    price = 0.5

    def __init__(self, options: Section, tender: Tender) -> None:
        super().__init__(tender)

    def _hire(self, t, bids, rng):  # type: ignore[no-untyped-def]
        return Outcome(bids.client[:1], np.full(len(bids.client[:1]), self.price), np.full(len(bids), np.inf), 0, None)

    def _close(self, t, q):  # type: ignore[no-untyped-def]
        self.q = q


def fixed(made: type[Mechanism] = Fixed) -> Contender:
    return Contender("fixed", "fixed", made, Section())
