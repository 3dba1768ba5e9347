"""Lies across rounds: the two rounds of tests/market/test_across_rounds.py, and what is counted."""

import pytest
from laboratory.made import drawn, one, rows

from fedsift.laboratory.lies import FACTORS, lies, utilities
from fedsift.laboratory.play import play
from fedsift.laboratory.words import of_lies
from fedsift.market.tender import Tender

LOG = rows((1, 0, 0.3), (1, 1, 0.2), (1, 2, 0.6), (2, 0, 0.1), (2, 1, 0.2))


@pytest.mark.parametrize("name", ["ospb", "iaofl"])
def test_an_early_lie_pays_unless_own_bids_are_left_out(name: str) -> None:
    """Client 0 loses round 1 with its true 0.3; with 0.6 the threshold is 1 instead of 2, and its price 1, not 0.5."""
    settings = ["rho_1=10"] + ["min_num=1"] * (name == "iaofl")
    found = [lie for lie in lies(one(name, *settings), LOG, Tender(2, 2.0, 3), 0, 3) if lie.client == 0]
    gains = {
        own_out: max(lie.gain for lie in found if lie.leave_own_out == own_out and lie.when == "early")
        for own_out in (False, True)
    }
    assert gains[False] == pytest.approx(0.5)
    assert gains[True] <= 1e-12


def test_everything_is_tried_once() -> None:
    log, tender = drawn(16, 10)
    found = lies(one("iaofl"), log, tender, 0, 3)
    assert len(found) == len(set(found)) == 3 * 2 * 2 * len(FACTORS)
    assert {lie.leave_own_out for lie in lies(one("ospm"), log, tender, 0, 3)} == {None}


def test_costs_stay_true() -> None:
    """With twice its bid a hired client is paid for its true cost all the same."""
    log, tender = drawn(16, 10)
    made = play(one("ospb"), log, tender, 0)
    by_hand = [0.0] * 10
    for row, price in zip(made.row, made.price, strict=True):
        by_hand[log.client[row]] += price - log.b[row]
    assert utilities(made, log, 10) == pytest.approx(by_hand)


def test_in_words() -> None:
    found = lies(one("ospb", "rho_1=10"), LOG, Tender(2, 2.0, 3), 0, 1)
    text = of_lies("ospb", found)
    assert text.startswith("ospb: with own bids in it, the best lie is bids times ")
    assert "; with own bids left out of the threshold, the best lie is" in text
