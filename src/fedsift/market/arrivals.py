"""Who bids in a round, and how much (incentive spec, 9)."""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from fedsift.market.bids import Bids
from fedsift.market.log import BidLog
from fedsift.section import Section, Share


class ArrivalOptions(Section):
    """The paper says Poisson arrivals with noise on each round, and gives no rates."""

    share: Share = Field(0.3, description="Mean share of the clients that bid in a round; 1: all of them, always.")
    w: float = Field(
        0.5, ge=0, le=1, description="Half width of the noise eta_t ~ U(1 - w, 1 + w) on the arrival rate of a round."
    )


@lru_cache
def rate(share: float, w: float) -> float:
    """The lambda with E_eta[P(Poisson(lambda eta) >= 1)] = ``share`` for eta ~ U(1-w, 1+w); inf for a share of 1.

    The mean over eta is exact, not taken at eta = 1:
    E_eta[1 - exp(-lambda eta)] = 1 - exp(-lambda) sinh(lambda w) / (lambda w).
    It increases in lambda from 0 to 1, so bisection finds lambda to the last bits.
    """
    if share == 1:
        return math.inf
    low, high = 0.0, 1.0
    while mean_share(high, w) < share:
        high *= 2
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if mean_share(middle, w) < share else (low, middle)
    return high


def mean_share(lambda_: float, w: float) -> float:
    """1 - exp(-lambda) sinh(lambda w) / (lambda w), the mean share of clients that arrive in a round."""
    x = lambda_ * w
    if x < 1e-9:
        return -math.expm1(-lambda_)
    # exp(-lambda) sinh(x) without overflow.
    return 1 + math.exp(x - lambda_) * math.expm1(-2 * x) / (2 * x)


def arriving(N: int, how: ArrivalOptions, rng: np.random.Generator) -> NDArray[np.int64]:
    """[n] the clients that arrive in a round, in random order; n may be 0.

    Client i arrives if Poisson(lambda eta_t) >= 1, which has the probability 1 - exp(-lambda eta_t).
    """
    eta_t = rng.uniform(1 - how.w, 1 + how.w)
    lambda_ = rate(how.share, how.w)
    # inf times 0 is no rate: with a share of 1 all arrive whatever eta is.
    chance = -math.expm1(-lambda_ * eta_t) if math.isfinite(lambda_) else 1.0
    return rng.permutation(np.flatnonzero(rng.random(N) < chance))


def draw_bids(q: NDArray[np.float64], how: ArrivalOptions, rng: np.random.Generator) -> Bids:
    """The bids of a round: fresh and uniform in [0, 1) at every arrival.

    Args:
        q: [N] latest quality of every client.
        how: the section of the configuration.
        rng: the stream of this round.
    """
    client = arriving(len(q), how, rng)
    return Bids(client, rng.random(len(client)), q[client])


def draw_log(
    T: int, q: NDArray[np.float64], how: ArrivalOptions, rng_of: Callable[[int], np.random.Generator]
) -> BidLog:
    """The bids of rounds 1 to ``T`` of clients whose quality never changes.

    Args:
        T: rounds.
        q: [N].
        how: the section of the configuration.
        rng_of: the stream of each round; with those of a federated run, the log has the bids of that run.

    Raises:
        FedsiftError: nobody arrives in any round.
    """
    rounds = [draw_bids(q, how, rng_of(t)) for t in range(1, T + 1)]
    return BidLog(
        np.repeat(np.arange(1, T + 1), [len(bids) for bids in rounds]),
        np.concatenate([bids.client for bids in rounds]),
        np.concatenate([bids.b for bids in rounds]),
        np.concatenate([bids.q for bids in rounds]),
    )
