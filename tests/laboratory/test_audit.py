"""The audit finds what is wrong, and nothing where nothing is."""

import numpy as np
import pytest
from laboratory.made import NAIVE, Fixed, drawn, fixed, one, rows

from fedsift.laboratory.play import play
from fedsift.laboratory.promises import promises
from fedsift.laboratory.truthfulness import GAIN, drawn_rows, probes
from fedsift.laboratory.words import of_probes, of_promises
from fedsift.market.tender import Tender
from fedsift.training.streams import stream

TRUTHFUL = {
    "iaofl": ("iaofl",),
    "iaofl, fill": ("iaofl", "rule=fill", "max_num=4"),
    "iaofl, own bids out": ("iaofl", "leave_own_out=true", "min_num=1", "max_num=3"),
    "ospb": ("ospb",),
    "ospb, quality": ("ospb", "value=quality"),
    "ospm": ("ospm",),
    "ospm, pro rata": ("ospm", "budget=pro-rata", "groups=run"),
}


@pytest.mark.parametrize("name", TRUTHFUL)
def test_nothing_is_found_in_the_real_ones(name: str) -> None:
    log, tender = drawn(128, 40)
    played = play(one(*TRUTHFUL[name]), log, tender, 0)
    found = probes(played, log, tender, 0, 150)
    assert len(found) == 150
    assert max(probe.gain for probe in found) <= GAIN
    assert "none pays in its round." in of_probes("it", found)
    kept = promises(played, log, tender)
    assert (kept.underpaid, kept.exceeded) == (0, 0)


def test_the_naive_rule_is_found_out() -> None:
    """Underbidding brings a client among the densest, and the price does not fall for it."""
    log, tender = drawn(128, 60)
    found = probes(play(one(NAIVE, "max_num=3"), log, tender, 0), log, tender, 0, 150)
    paying = [probe for probe in found if probe.gain > GAIN]
    assert len(paying) > 5
    assert all(probe.lie < probe.cost for probe in paying)
    best = max(paying, key=lambda probe: probe.gain)
    assert of_probes("naive", found).endswith(
        f"{len(paying)} bidders have one that pays in its round, the best {best.gain:.4g} "
        f"(round {best.t}, client {best.client}, cost {best.cost:.4g}, bid {best.lie:.4g})."
    )


class FirstPrice(Fixed):
    """Pays what the first bidder asks for."""

    def _hire(self, t, bids, rng):  # type: ignore[no-untyped-def]
        self.price = float(bids.b[0])
        return super()._hire(t, bids, rng)  # type: ignore[no-untyped-call]


def test_paying_the_bid_is_found_out() -> None:
    log, tender = rows((1, 0, 0.25)), Tender(1, 1.0, 1)
    (found,) = probes(play(fixed(FirstPrice), log, tender, 0), log, tender, 0, 5)
    assert (found.utility, found.lie, found.gain) == (0.0, 1.0, 0.75)


def test_probing_leaves_the_run_alone() -> None:
    """A sample of everybody probes the same bidders to the same ends as one of a few."""
    log, tender = drawn(32, 10)
    played = play(one(NAIVE), log, tender, 0)
    few, all_ = (probes(played, log, tender, 0, sample) for sample in (20, len(log)))
    assert set(few) <= set(all_)
    assert len(all_) == len(log)


def test_who_is_probed() -> None:
    """A third are hired, a third are the densest that is not, of rounds that hire."""
    log, tender = drawn(64, 20)
    played = play(one("iaofl"), log, tender, 0)
    rows_ = drawn_rows(played, log, 60, stream(0, "audit"))
    assert len(rows_) == len(set(rows_.tolist())) == 60
    hired = set(played.row.tolist())
    assert len(hired & set(rows_.tolist())) >= 20
    first = 0
    for row in set(rows_.tolist()) - hired:
        losers = [k for k in np.flatnonzero(log.t == log.t[row]).tolist() if k not in hired]
        first += log.q[row] / log.b[row] == max(log.q[k] / log.b[k] for k in losers)
    assert first >= 20


def test_broken_promises() -> None:
    """Hired at 0.5 whatever it asks, in four rounds with a budget of 1."""
    log, tender = rows((1, 0, 0.5), (2, 0, 0.75), (3, 0, 0.25), (4, 0, 1.0)), Tender(4, 1.0, 1)
    found = promises(play(fixed(), log, tender, 0), log, tender)
    assert (found.underpaid, found.worst_loss, found.spans) == (2, 0.5, ("run",))
    assert (found.exceeded, found.worst_excess) == (1, 1.0)
    assert of_promises("fixed", found) == (
        "fixed: 2 of 4 hires are paid less than bid, by up to 0.5; "
        "1 of 1 budgets (of the run) are exceeded, by up to 1."
    )


def test_limits_by_mechanism() -> None:
    log, tender = drawn(16, 10)
    spans = {name: promises(play(one(name), log, tender, 0), log, tender) for name in ("iaofl", "ospm")}
    assert (spans["iaofl"].spans, spans["iaofl"].limits) == (("run", "stage"), 1 + 5)
    assert (spans["ospm"].spans, spans["ospm"].limits) == (("run", "round"), 1 + 16)
