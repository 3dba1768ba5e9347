"""Lies that pay in later rounds, through the threshold (incentive spec, 6, cross-round caveat)."""

import numpy as np
import pytest
from market.drawn import rng_of

from fedsift.market.bids import Bid, Bids
from fedsift.market.iaofl import Iaofl, IaoflOptions
from fedsift.market.mechanism import Mechanism
from fedsift.market.ospb import Ospb, OspbOptions
from fedsift.market.tender import Tender

LIES = np.round(np.linspace(0, 1, 101), 2).tolist()


def utility(mechanism: Mechanism, rounds: list[list[Bid]], costs: list[float | None]) -> float:
    """Of client 0, with its cost in each round; None where it does not bid. All qualities are 1."""
    total = 0.0
    for t, (bids, cost) in enumerate(zip(rounds, costs, strict=True), 1):
        outcome = mechanism.hire(t, Bids.of(bids), rng_of(0)(t))
        mechanism.close(t, np.ones(mechanism.tender.N))
        if cost is not None:
            total += dict(outcome.hires).get(0, cost) - cost
    return total


def two_rounds(first: float) -> list[list[Bid]]:
    """Client 0 loses the first round unless it bids 0.1 or less, and meets client 1 alone in the second."""
    return [[Bid(0, first, 1.0), Bid(1, 0.3, 1.0), Bid(2, 0.6, 1.0)], [Bid(0, 0.1, 1.0), Bid(1, 0.2, 1.0)]]


@pytest.mark.parametrize("mechanism", ["ospb", "iaofl"])
def test_a_client_gains_by_lying_early_unless_its_own_bids_are_left_out(mechanism: str) -> None:
    """A high bid that loses anyway leaves fewer samples below the margin: rho falls, and its later price rises."""

    def best_gain(leave_own_out: bool) -> float:
        def of(first: float) -> float:
            tender = Tender(2, 2.0, 3)
            made: Mechanism = (
                Ospb(OspbOptions(rho_1=10.0, leave_own_out=leave_own_out), tender)
                if mechanism == "ospb"
                else Iaofl(IaoflOptions(min_num=1, rho_1=10.0, leave_own_out=leave_own_out), tender)
            )
            return utility(made, two_rounds(first), [0.2, 0.1])

        return max(of(lie) for lie in LIES) - of(0.2)

    assert best_gain(leave_own_out=False) == pytest.approx(0.5)
    assert best_gain(leave_own_out=True) <= 1e-12


def test_what_leaving_own_bids_out_does_not_stop() -> None:
    """A client still moves the thresholds of others, and so how much of the budget they leave to it.

    Its price is safe, its chance is not: with a low first bid, which loses, client 0 raises the threshold of client 1,
    who then refuses and leaves the stage's budget to client 0.
    """

    def of(first: float) -> float:
        ospb = Ospb(OspbOptions(rho_1=1e3, leave_own_out=True), Tender(2, 2.0, 4))
        rounds = [
            [Bid(0, first, 1.0), Bid(2, 0.4, 1.0), Bid(3, 0.6, 1.0)],
            [Bid(1, 0.55, 1.0), Bid(0, 0.1, 1.0)],
        ]
        return utility(ospb, rounds, [0.9, 0.1])

    assert of(0.9) == 0.0
    assert of(0.2) == pytest.approx(0.9)
