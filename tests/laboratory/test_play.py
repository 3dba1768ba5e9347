"""Playing a log equals the market's own player, and what a broken mechanism does is noticed."""

import numpy as np
import pytest
from laboratory.made import Fixed, drawn, fixed, one, rows

from fedsift.errors import FedsiftError
from fedsift.laboratory.figures import Offline, by_stage, figures
from fedsift.laboratory.play import play, round_stream, rounds_with_quality
from fedsift.market.outcome import Outcome
from fedsift.market.play import play as play_in_the_market
from fedsift.market.stages import Stages
from fedsift.market.tender import Tender

VARIANTS = {
    "iaofl": (),
    "ospb": ("leave_own_out=true",),
    "ospm": ("budget=pro-rata",),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_it_equals_the_markets_player(name: str) -> None:
    log, tender = drawn(100, 30)
    contender = one(name, *VARIANTS[name])
    made = play(contender, log, tender, 0)
    q = np.ones(30)
    q[log.client] = log.q
    twin = list(play_in_the_market(contender.new(tender), log, q, lambda t: round_stream(0, t)))
    assert made.hired.tolist() == [len(outcome.client) for outcome in twin]
    assert made.price.tolist() == [hire.price for outcome in twin for hire in outcome.hires]
    assert log.client[made.row].tolist() == [hire.client for outcome in twin for hire in outcome.hires]
    assert log.t[made.row].tolist() == np.repeat(np.arange(1, 101), made.hired).tolist()
    assert made.reason == [outcome.reason for outcome in twin]
    assert made.left.tolist() == [outcome.left for outcome in twin]


def test_figures_add_up() -> None:
    log, tender = drawn(100, 30)
    made = play(one("iaofl"), log, tender, 0)
    row = figures(made, log, Offline.of(log, tender.B))
    assert row["hires"] == len(made.row) == made.hired.sum()
    assert row["trained_rounds"] == 100 - (row["empty_rounds"] or 0)
    assert by_stage(Stages.of(100, tender.B), made.spent).sum() == pytest.approx(row["spend"])
    assert (row["mean_price"] or 0) - (row["mean_bid"] or 0) == pytest.approx(row["mean_overpayment"])
    assert 0 < (row["regret_to_proportional_share"] or 0) < (row["regret_to_upper_bound"] or 0)


def test_nobody_is_hired() -> None:
    log = rows((1, 0, 1.0), (3, 0, 1.0))
    made = play(one("iaofl"), log, Tender(4, 2.0, 1), 0)
    row = figures(made, log, Offline.of(log, 2.0))
    assert (row["hires"], row["spend"], row["mean_price"], row["mean_overpayment"]) == (0, 0.0, None, None)
    assert made.bidders.tolist() == [1, 0, 1, 0]


def test_qualities_follow_the_log() -> None:
    log = rows((1, 0, 0.5, 0.4), (2, 1, 0.5, 0.9), (3, 0, 0.5, 0.6))
    assert [q.tolist() for _, _, q in rounds_with_quality(log, 4, 3)] == [
        [0.4, 0.9, 1.0],
        [0.4, 0.9, 1.0],
        [0.6, 0.9, 1.0],
        [0.6, 0.9, 1.0],
    ]


class Stranger(Fixed):
    def _hire(self, t, bids, rng):  # type: ignore[no-untyped-def]
        return Outcome(np.array([7]), np.array([0.5]), np.full(len(bids), np.inf), 0.0, None)


class Twice(Fixed):
    def _hire(self, t, bids, rng):  # type: ignore[no-untyped-def]
        return Outcome(bids.client[[0, 0]], np.array([0.5, 0.5]), np.full(len(bids), np.inf), 0.0, None)


class Nan(Fixed):
    price = float("nan")


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (Stranger, "fixed: in round 1 it hires client 7, which does not bid in it; mend the mechanism."),
        (Twice, "fixed: in round 1 it hires client 2, twice; mend the mechanism."),
        (Nan, "fixed: in round 1 it pays client 2 nan; mend the mechanism."),
    ],
)
def test_broken_mechanisms(made: type[Fixed], sentence: str) -> None:
    with pytest.raises(FedsiftError) as error:
        play(fixed(made), rows((1, 2, 0.5), (1, 1, 0.5)), Tender(1, 1.0, 8), 0)
    assert str(error.value) == sentence
