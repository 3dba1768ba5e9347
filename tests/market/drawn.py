"""Bids, mechanisms and runs that hypothesis draws."""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedsift.market.bids import Bids
from fedsift.market.iaofl import Iaofl, IaoflOptions
from fedsift.market.log import BidLog
from fedsift.market.mechanism import Mechanism
from fedsift.market.ospb import Ospb, OspbOptions
from fedsift.market.ospm import Ospm, OspmOptions
from fedsift.market.tender import Tender
from fedsift.training.streams import stream

Q = st.one_of(st.integers(1, 10).map(lambda n: n / 10), st.floats(1e-3, 1))
"""Coarse values make ties and exact margins."""
B = st.one_of(st.integers(0, 10).map(lambda n: n / 10), st.floats(0, 1))
BUDGET = st.one_of(st.integers(1, 30).map(lambda n: n / 10), st.floats(1e-2, 5))

Make = Callable[[Tender], Mechanism]

MECHANISMS: dict[str, Make] = {
    "iaofl skip": lambda tender: Iaofl(IaoflOptions(max_num=4), tender),
    "iaofl fill": lambda tender: Iaofl(IaoflOptions(max_num=4, rule="fill"), tender),
    "iaofl skip, own bids out": lambda tender: Iaofl(IaoflOptions(min_num=1, max_num=3, leave_own_out=True), tender),
    "iaofl fill, own bids out": lambda tender: Iaofl(IaoflOptions(rule="fill", leave_own_out=True), tender),
    "iaofl T2": lambda tender: Iaofl(IaoflOptions(min_num=1, threshold="T2", delta=1.5), tender),
    "ospb": lambda tender: Ospb(OspbOptions(), tender),
    "ospb quality": lambda tender: Ospb(OspbOptions(value="quality", rho_1=1.0), tender),
    "ospb own bids out": lambda tender: Ospb(OspbOptions(value="quality", leave_own_out=True), tender),
    "ospm round": lambda tender: Ospm(OspmOptions(), tender),
    "ospm full": lambda tender: Ospm(OspmOptions(budget="full"), tender),
    "ospm pro rata": lambda tender: Ospm(OspmOptions(budget="pro-rata"), tender),
    "ospm pro rata, fixed groups": lambda tender: Ospm(OspmOptions(budget="pro-rata", groups="run"), tender),
}


def rng_of(seed: int) -> Callable[[int], np.random.Generator]:
    return lambda t: stream(seed, "market", t)


@st.composite
def rounds(draw: st.DrawFn, smallest: int = 1) -> tuple[list[float], list[float]]:
    """Qualities and bids of a round."""
    n = draw(st.integers(smallest, 9))
    return draw(st.lists(Q, min_size=n, max_size=n)), draw(st.lists(B, min_size=n, max_size=n))


def drawn_bids(q: np.ndarray[Any, Any], rng: np.random.Generator) -> Bids:
    """Some of the clients; half of the rounds have coarse bids, 0 and 1 among them."""
    client = rng.permutation(np.flatnonzero(rng.random(len(q)) < 0.7))
    b = rng.random(len(client))
    return Bids(client, np.round(b, 1) if rng.random() < 0.5 else b, q[client])


def drawn_log(T: int, q: np.ndarray[Any, Any], seed: int) -> BidLog:
    bids = {t: drawn_bids(q, stream(seed, "bids", t)) for t in range(1, T + 1)}
    t = np.repeat(np.arange(1, T + 1), [len(of) for of in bids.values()])
    client, b, quality = (np.concatenate([getattr(of, name) for of in bids.values()]) for name in ("client", "b", "q"))
    return BidLog(t, client, b, quality)
