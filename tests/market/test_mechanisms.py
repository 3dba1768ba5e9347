"""What every mechanism promises, over whole runs with changing qualities (incentive spec, 3, 7, 8 and 12)."""

from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from market.drawn import MECHANISMS, drawn_bids, drawn_log, rng_of

from fedsift.errors import FedsiftError
from fedsift.market.bids import Bid, Bids
from fedsift.market.iaofl import Iaofl, IaoflOptions
from fedsift.market.mechanism import Mechanism
from fedsift.market.ospb import Ospb, OspbOptions
from fedsift.market.ospm import Ospm, OspmOptions
from fedsift.market.outcome import Outcome
from fedsift.market.play import play
from fedsift.market.registry import MECHANISMS as REGISTRY
from fedsift.market.stages import Stages
from fedsift.market.tender import Tender
from fedsift.market.threshold import threshold
from fedsift.training.streams import stream

RUNS = st.tuples(st.integers(0, 2**32 - 1), st.integers(1, 20), st.integers(1, 8))
"""Seed, T, N."""
TENDER = Tender(4, 4.0, 10)


def qualities(seed: int, t: int, N: int) -> np.ndarray[Any, Any]:
    return stream(seed, "q", t).uniform(1e-3, 1, N)


def run(mechanism: Mechanism, seed: int, rounds: int) -> list[tuple[Bids, Outcome]]:
    """Rounds after the last closed one; qualities change after each."""
    made = []
    for t in range(mechanism.t + 1, mechanism.t + rounds + 1):
        bids = drawn_bids(qualities(seed, t - 1, mechanism.tender.N), stream(seed, "bids", t))
        made.append((bids, mechanism.hire(t, bids, rng_of(seed)(t))))
        mechanism.close(t, qualities(seed, t, mechanism.tender.N))
    return made


def tender_of(seed: int, T: int, N: int) -> Tender:
    return Tender(T, float(stream(seed, "budget").uniform(0.1, 1.5)) * T, N)


@pytest.mark.parametrize("name", MECHANISMS)
@given(RUNS)
@settings(max_examples=40, deadline=None)
def test_budget_rationality_and_order(name: str, of: tuple[int, int, int]) -> None:
    seed, T, _ = of
    tender = tender_of(*of)
    mechanism = MECHANISMS[name](tender)
    made = run(mechanism, seed, T)
    total = 0.0
    for bids, outcome in made:
        asked = dict(zip(bids.client.tolist(), bids.b.tolist(), strict=True))
        order = bids.client.tolist()
        assert [order.index(i) for i in outcome.client] == sorted(order.index(i) for i in outcome.client)
        assert all(asked[i] <= p <= 1 for i, p in outcome.hires)
        assert (outcome.reason is None) == (len(outcome.client) > 0)
        assert outcome.rho.shape == (len(bids),)
        assert outcome.left >= 0
        if isinstance(mechanism, Iaofl):
            least, most = mechanism.options.min_num, mechanism.options.max_num
            assert len(outcome.client) == 0 or least <= len(outcome.client) <= most
        if isinstance(mechanism, Ospm) and mechanism.options.budget == "round":
            assert outcome.spent <= tender.B / T * (1 + 1e-12)
        total += outcome.spent
    assert total <= tender.B * (1 + 1e-12)
    if isinstance(mechanism, (Iaofl, Ospb)):
        stages = Stages.of(T, tender.B)
        spent = [0.0] * stages.L
        for t, (_, outcome) in enumerate(made, 1):
            l = stages.of_round(t)
            for _, p in outcome.hires:
                spent[l - 1] += p
            # Nothing is carried over from the stage before.
            assert outcome.left == stages.B[l - 1] - spent[l - 1]
        assert all(paid <= B_l for paid, B_l in zip(spent, stages.B, strict=True))


@pytest.mark.parametrize("name", MECHANISMS)
@given(RUNS, st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_no_lie_pays_in_a_round(name: str, of: tuple[int, int, int], lie: float) -> None:
    seed, T, N = of
    before = MECHANISMS[name](tender_of(*of))
    run(before, seed, T - 1)
    bids = drawn_bids(qualities(seed, T - 1, N), stream(seed, "bids", T))
    if not len(bids):
        return
    k = seed % len(bids)
    i, cost = int(bids.client[k]), float(bids.b[k])

    def price(bid: float) -> float | None:
        b = bids.b.copy()
        b[k] = bid
        outcome = deepcopy(before).hire(T, Bids(bids.client, b, bids.q), rng_of(seed)(T))
        return dict(outcome.hires).get(i)

    honest = price(cost)
    free = price(0.0)
    critical = 0.0 if free is None else free
    near = [critical + eta for eta in (-1e-3, -1e-6, 0.0, 1e-6, 1e-3)]
    for other in [0.0, 1.0, lie, *(bid for bid in near if 0 <= bid <= 1)]:
        paid = price(other)
        assert (0.0 if paid is None else paid - cost) <= (0.0 if honest is None else honest - cost) + 1e-9
        if honest is not None and other < cost:
            assert paid == pytest.approx(honest, rel=1e-12)
        if free is not None and abs(other - critical) > 1e-8:
            assert (paid is not None) == (other < critical)


@pytest.mark.parametrize("name", MECHANISMS)
@given(RUNS, st.integers(0, 19))
@settings(max_examples=30, deadline=None)
def test_a_continued_run_ends_like_an_unbroken_one(name: str, of: tuple[int, int, int], cut: int) -> None:
    seed, T, _ = of
    cut = min(cut, T)
    whole, first, second = (MECHANISMS[name](tender_of(*of)) for _ in range(3))
    unbroken = run(whole, seed, T)
    run(first, seed, cut)
    state = {key: value.copy() for key, value in first.state_dict().items()}
    second.load_state_dict(state)
    for (_, one), (_, other) in zip(unbroken[cut:], run(second, seed, T - cut), strict=True):
        assert one.hires == other.hires
        assert np.array_equal(one.rho, other.rho)
        assert (one.left, one.reason) == (other.left, other.reason)
    end, again = whole.state_dict(), second.state_dict()
    assert list(end) == list(again)
    assert all(np.array_equal(end[key], again[key]) for key in end)
    assert all(isinstance(value, np.ndarray) for value in end.values())


def test_a_long_continued_run_has_the_same_bits() -> None:
    """Beyond the bids that wait unsorted, and with qualities that stay for a while."""
    q = np.random.default_rng(0).uniform(1e-3, 1, 100)
    log = drawn_log(60, q, 0)
    whole, broken = (Ospm(OspmOptions(budget="pro-rata"), Tender(60, 60.0, 100)) for _ in range(2))
    for t, bids in log.rounds(60):
        if t > 20:
            state = broken.state_dict()
            broken = Ospm(OspmOptions(budget="pro-rata"), Tender(60, 60.0, 100))
            broken.load_state_dict(state)
        one, other = (mechanism.hire(t, bids, rng_of(0)(t)) for mechanism in (whole, broken))
        assert one.hires == other.hires and np.array_equal(one.rho, other.rho)
        for mechanism in (whole, broken):
            mechanism.close(t, q)


@pytest.mark.parametrize(
    ("make", "rho_1"),
    [
        (lambda tender: Iaofl(IaoflOptions(min_num=3), tender), 3 * 0.5 / 0.5),
        (lambda tender: Iaofl(IaoflOptions(rho_1=0.7), tender), 0.7),
        (lambda tender: Ospb(OspbOptions(), tender), 2 / 0.5),
        (lambda tender: Ospb(OspbOptions(value="quality"), tender), 2 * 0.5 / 0.5),
    ],
)
def test_first_threshold(make: Any, rho_1: float) -> None:
    """At B = 256, T = 512 the first stage has 0.5, for min_num clients of initial quality."""
    assert make(Tender(512, 256.0, 4, q_init=0.5)).rho == pytest.approx(np.full(4, rho_1))


def test_stages_threshold_by_hand() -> None:
    """OSPB-q over T = 4, B = 4: stages end at 1, 2, 4 with budgets 1, 1, 2."""
    ospb = Ospb(OspbOptions(value="quality"), TENDER)
    q = np.full(10, 0.5)
    rng = rng_of(0)(0)
    first = ospb.hire(1, Bids.of([Bid(0, 0.5, 1.0), Bid(1, 0.6, 1.0), Bid(2, 0.1, 1.0), Bid(3, 0.1, 1.0)]), rng)
    assert first.hires == [(0, 0.5), (2, 0.5)]
    assert (first.left, first.reason) == (0.0, None)
    ospb.close(1, q)
    # All four samples, at the latest quality of 0.5: 0.1, 0.1 are J, then 1.5 > 1 / 0.5 * 0.5.
    assert ospb.rho.tolist() == [threshold(np.full(4, 0.5), np.array([0.5, 0.6, 0.1, 0.1]), 1.0)] * 10
    assert ospb.rho[0] == 1.0
    second = ospb.hire(2, Bids.of([Bid(4, 0.51, 0.5), Bid(5, 0.5, 0.5)]), rng)
    assert second.hires == [(5, 0.5)]
    assert second.left == 0.5
    ospb.close(2, q)
    assert (ospb.l, ospb.spent) == (3, 0.0)
    third = ospb.hire(3, Bids.of([]), rng)
    assert (third.hires, third.reason, third.left) == ([], "no bids", 2.0)
    ospb.close(3, q)
    assert ospb.l == 3


def test_thresholds_use_the_latest_qualities() -> None:
    iaofl = Iaofl(IaoflOptions(min_num=1), Tender(2, 2.0, 2))
    iaofl.hire(1, Bids.of([Bid(0, 0.2, 1.0), Bid(1, 0.4, 1.0)]), rng_of(0)(1))
    iaofl.close(1, np.array([0.3, 0.9]))
    assert iaofl.rho == pytest.approx(np.full(2, 1.2))


def test_an_empty_prefix_keeps_the_threshold() -> None:
    for options in (IaoflOptions(), IaoflOptions(leave_own_out=True)):
        iaofl = Iaofl(options, Tender(512, 1.0, 3))
        before = iaofl.rho.copy()
        iaofl.hire(1, Bids.of([Bid(0, 1.0, 1.0), Bid(1, 0.9, 1.0)]), rng_of(0)(1))
        iaofl.close(1, np.ones(3))
        assert np.array_equal(iaofl.rho, before)


def test_own_bids_are_left_out_of_the_own_threshold_alone() -> None:
    iaofl = Iaofl(IaoflOptions(leave_own_out=True), Tender(2, 2.0, 4))
    b = np.array([0.1, 0.2, 0.3])
    iaofl.hire(1, Bids(np.arange(3), b, np.ones(3)), rng_of(0)(1))
    q = np.array([0.9, 0.6, 0.5, 1.0])
    iaofl.close(1, q)
    without = [threshold(np.delete(q[:3], i), np.delete(b, i), 1.0) for i in range(3)]
    assert iaofl.rho == pytest.approx([*without, threshold(q[:3], b, 1.0)])


def test_reasons() -> None:
    rng = rng_of(0)(1)
    dear = Bids.of([Bid(0, 1.0, 0.1), Bid(1, 1.0, 0.1)])
    cheap = Bids.of([Bid(0, 0.1, 1.0), Bid(1, 0.1, 1.0)])
    poor = Tender(1, 0.1, 2)
    assert Iaofl(IaoflOptions(), TENDER).hire(1, dear, rng).reason == "threshold"
    assert Iaofl(IaoflOptions(rho_1=1.0), poor).hire(1, cheap, rng).reason == "budget"
    assert Ospb(OspbOptions(value="quality"), TENDER).hire(1, dear, rng).reason == "threshold"
    assert Ospb(OspbOptions(rho_1=1.0), poor).hire(1, cheap, rng).reason == "budget"
    assert Ospm(OspmOptions(), TENDER).hire(1, Bids.of([]), rng).reason == "no bids"
    assert Ospm(OspmOptions(), TENDER).hire(1, Bids.of([Bid(0, 0.0, 1.0)]), rng).reason == "no threshold"
    assert Ospm(OspmOptions(budget="full"), TENDER).hire(1, cheap, rng).reason == "no threshold"


def test_ospm_prices_each_group_by_the_other() -> None:
    bids = Bids(np.arange(8), np.linspace(0, 0.7, 8), np.linspace(0.3, 1, 8))
    outcome = Ospm(OspmOptions(), Tender(1, 4.0, 8)).hire(1, bids, rng_of(0)(1))
    group = rng_of(0)(1).integers(0, 2, 8)
    assert 0 < group.sum() < 8
    rho = [threshold(bids.q[group != g], bids.b[group != g], 2.0) for g in (0, 1)]
    assert outcome.rho.tolist() == [rho[g] for g in group]
    for i, p in outcome.hires:
        assert p == min(bids.q[i] / rho[group[i]], 1.0)


def test_fixed_groups_stay() -> None:
    ospm = Ospm(OspmOptions(budget="full", groups="run"), TENDER)
    bids = Bids(np.arange(10), np.full(10, 0.5), np.ones(10))
    ospm.hire(1, bids, rng_of(0)(1))
    group = ospm.group.copy()
    assert set(group) == {0, 1}
    ospm.close(1, np.ones(10))
    ospm.hire(2, bids, rng_of(0)(2))
    assert np.array_equal(ospm.group, group)


@pytest.mark.parametrize("name", MECHANISMS)
def test_rounds_out_of_turn(name: str) -> None:
    mechanism = MECHANISMS[name](Tender(2, 1.0, 2))
    none, rng, q = Bids.of([]), rng_of(0)(1), np.ones(2)
    with pytest.raises(FedsiftError, match=r"round 2 is out of turn after round 0 of 2; hire and close once a round"):
        mechanism.hire(2, none, rng)
    with pytest.raises(FedsiftError, match="round 1 cannot be closed after round 0; hire for it first"):
        mechanism.close(1, q)
    with pytest.raises(FedsiftError, match="client 2 bids, but the tender has clients 0 to 1; raise its number"):
        mechanism.hire(1, Bids.of([Bid(2, 0.1, 1.0)]), rng)
    mechanism.hire(1, none, rng)
    with pytest.raises(FedsiftError, match="round 1 is out of turn"):
        mechanism.hire(1, none, rng)
    for wrong in (np.ones(3), np.array([0.0, 1.0]), np.array([np.nan, 1.0]), np.array([1.0, 1.1])):
        with pytest.raises(FedsiftError, match="round 1 needs a quality above 0 and at most 1 for each of 2 clients"):
            mechanism.close(1, wrong)
    mechanism.close(1, q)
    with pytest.raises(FedsiftError, match="round 1 cannot be closed"):
        mechanism.close(1, q)
    mechanism.hire(2, none, rng)
    mechanism.close(2, q)
    with pytest.raises(FedsiftError, match="round 3 is out of turn after round 2 of 2"):
        mechanism.hire(3, none, rng)


def test_play_goes_on_where_a_mechanism_stands() -> None:
    q = np.linspace(0.1, 1, 6)
    log = drawn_log(8, q, 1)
    whole = list(play(REGISTRY["iaofl"](IaoflOptions(), Tender(8, 6.0, 6)), log, q, rng_of(1)))  # type: ignore[arg-type]
    first, second = (Iaofl(IaoflOptions(), Tender(8, 6.0, 6)) for _ in range(2))
    part = play(first, log, q, rng_of(1))
    for _ in range(4):
        next(part)
    second.load_state_dict(first.state_dict())
    rest = list(play(second, log, q, rng_of(1)))
    assert [outcome.hires for outcome in rest] == [outcome.hires for outcome in whole[4:]]
    assert sum(len(outcome.hires) for outcome in rest) > 0
