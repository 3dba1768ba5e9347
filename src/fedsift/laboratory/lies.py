"""What a client gains over the whole log by lying in many rounds, through the thresholds that its bids move."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fedsift.laboratory.contenders import Contender
from fedsift.laboratory.play import Played, play
from fedsift.market.log import BidLog
from fedsift.market.stages import Stages
from fedsift.market.tender import Tender
from fedsift.training.streams import stream

When = Literal["all", "early"]
WHEN: tuple[When, ...] = ("all", "early")
FACTORS = (0.5, 0.75, 0.9, 1.1, 1.25, 1.5, 2.0)


@dataclass(frozen=True)
class Lie:
    """One client that multiplies its bids, at most to 1, while all others bid as in the log.

    Attributes:
        mechanism: name of the contender.
        leave_own_out: whether its own bids are left out of its thresholds; None: the mechanism has no such option.
        client: who.
        when: `all` rounds, or `early`: all but the last stage's, whose threshold these bids move.
        factor: of its bids.
        honest: sum of p - b over its hires, with the bids of the log, which are its costs.
        utility: the same sum with the lie; costs stay what they are.
    """

    mechanism: str
    leave_own_out: bool | None
    client: int
    when: When
    factor: float
    honest: float
    utility: float

    @property
    def gain(self) -> float:
        """By lying."""
        return self.utility - self.honest


def lies(
    contender: Contender,
    log: BidLog,
    tender: Tender,
    seed: int,
    sample: int,
    track: Callable[[Sequence[int], str], Iterable[int]] = lambda clients, what: clients,
) -> list[Lie]:
    """Every factor, in all and in early rounds, with own bids left out and not, for clients drawn from those that bid.

    Each lie is a run of its own: sample x 14 runs, twice that with `leave_own_out`.

    Args:
        contender: the mechanism.
        log: the truth.
        tender: of the run.
        seed: of the sample and of the mechanism's draws.
        sample: number of clients; all if fewer bid.
        track: wraps the clients of each variant, with what is done, to show progress.
    """
    bidding = np.unique(log.client)
    clients = np.sort(stream(seed, "liars").choice(bidding, min(sample, len(bidding)), replace=False)).tolist()
    # A single stage has no earlier rounds.
    last_early = Stages.of(tender.T, tender.B).e[:-1]
    early = log.t <= (last_early[-1] if last_early else 0)
    found = []
    for own_out, variant in _variants(contender):
        honest = utilities(play(variant, log, tender, seed), log, tender.N)
        for client in track(clients, _what(contender.name, own_out)):
            for when in WHEN:
                liar = (log.client == client) & (early if when == "early" else True)
                for factor in FACTORS:
                    b = np.where(liar, np.minimum(log.b * factor, 1.0), log.b)
                    told = play(variant, BidLog(log.t, log.client, b, log.q), tender, seed)
                    got = float(utilities(told, log, tender.N)[client])
                    found.append(Lie(contender.name, own_out, client, when, factor, float(honest[client]), got))
    return found


def utilities(played: Played, costs: BidLog, N: int) -> NDArray[np.float64]:
    """[N], sum of price minus cost over the hires of each client; ``costs`` has the true bids, row by row."""
    surplus = played.price - costs.b[played.row]
    return np.bincount(costs.client[played.row], weights=surplus, minlength=N).astype(np.float64)


def _variants(contender: Contender) -> list[tuple[bool | None, Contender]]:
    both = [(out, contender.with_option("leave_own_out", out)) for out in (False, True)]
    return [(out, variant) for out, variant in both if variant] or [(None, contender)]


def _what(name: str, own_out: bool | None) -> str:
    return f"{name}, own bids {'out' if own_out else 'in'}" if own_out is not None else name
