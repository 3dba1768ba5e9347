"""The simulated figures of the incentive spec, 6, 8 and 11: T = 512, 100 clients of quality U(0, 1), bids U(0, 1).

The spec does not say what its arrivals were apart from their mean, so the tolerances cover w = 0 and w = 0.5.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from market.drawn import rng_of

from fedsift.market.arrivals import ArrivalOptions, draw_log
from fedsift.market.iaofl import Iaofl, IaoflOptions
from fedsift.market.mechanism import Mechanism
from fedsift.market.ospb import Ospb, OspbOptions
from fedsift.market.ospm import Ospm, OspmOptions
from fedsift.market.play import play
from fedsift.market.tender import Tender

pytestmark = pytest.mark.slow
T, N, SEEDS = 512, 100, 8


class Figures(NamedTuple):
    hires: float
    sd: float
    empty: float
    spent: float
    early: float
    late: float


def figures(make: Callable[[Tender], Mechanism], B: float, arrivals: int, w: float = 0.5) -> Figures:
    """Hires of a round, their sd, share of empty rounds and of the budget spent, hires in rounds 1-64 and after."""
    rows = []
    for seed in range(SEEDS):
        q = np.maximum(np.random.default_rng(seed).random(N), 1e-3)
        log = draw_log(T, q, ArrivalOptions(share=arrivals / N, w=w), rng_of(seed))
        made = list(play(make(Tender(T, B, N)), log, q, rng_of(seed)))
        h = np.array([len(outcome.client) for outcome in made])
        spent = sum(outcome.spent for outcome in made) / B
        rows.append(Figures(h.mean(), h.std(), (h == 0).mean(), spent, h[:64].mean(), h[64:].mean()))
    return Figures(*np.mean(rows, axis=0))


def limits(min_num: int, max_num: int, rule: str = "skip") -> Callable[[Tender], Mechanism]:
    options = IaoflOptions(min_num=min_num, max_num=max_num, rule=rule)  # type: ignore[arg-type]
    return lambda tender: Iaofl(options, tender)


@pytest.mark.parametrize("w", [0.0, 0.5])
@pytest.mark.parametrize(
    ("B", "arrivals", "ospb", "two_to_eight", "three_to_ten"),
    [
        (256, 20, (2.65, 1.71, 0.10), (2.51, 0.74), (2.05, 0.50)),
        (256, 30, (3.26, 1.83, 0.06), (3.19, 0.85), (2.83, 0.66)),
        (256, 50, (4.22, 2.17, 0.04), (4.18, 0.92), (4.01, 0.80)),
        (320, 30, (3.65, 1.93, 0.05), (3.59, 0.89), (3.30, 0.73)),
        (320, 50, (4.73, 2.30, 0.03), (4.69, 0.94), (4.58, 0.85)),
    ],
)
def test_clients_a_round(
    w: float,
    B: float,
    arrivals: int,
    ospb: tuple[float, float, float],
    two_to_eight: tuple[float, float],
    three_to_ten: tuple[float, float],
) -> None:
    """Section 11: OSPB-q mean, sd, empty rounds; IAOFL mean and trained rounds."""
    posted = figures(lambda tender: Ospb(OspbOptions(value="quality"), tender), B, arrivals, w)
    assert posted.hires == pytest.approx(ospb[0], abs=0.12)
    assert posted.sd == pytest.approx(ospb[1], abs=0.25 if w else 0.1)
    assert posted.empty == pytest.approx(ospb[2], abs=0.035)
    for made, (hires, trained) in ((limits(2, 8), two_to_eight), (limits(3, 10), three_to_ten)):
        found = figures(made, B, arrivals, w)
        assert found.hires == pytest.approx(hires, abs=0.12)
        assert 1 - found.empty == pytest.approx(trained, abs=0.04)


def test_filling_up_drains_the_stage() -> None:
    """Section 6: at B = 256, 20 arrivals, min 3, max 10: trained 52 % (F) and 50 % (K), spent 99 % and 75 %."""
    fill, skip = (figures(limits(3, 10, rule), 256, 20) for rule in ("fill", "skip"))
    assert 1 - fill.empty == pytest.approx(0.52, abs=0.04)
    assert 1 - skip.empty == pytest.approx(0.50, abs=0.04)
    assert fill.spent == pytest.approx(0.99, abs=0.01)
    assert skip.spent == pytest.approx(0.75, abs=0.03)


def test_ospm() -> None:
    """Section 8."""

    def ospm(budget: str) -> Figures:
        return figures(lambda tender: Ospm(OspmOptions(budget=budget), tender), 256, 20)  # type: ignore[arg-type]

    per_round = ospm("round")
    assert per_round.hires == pytest.approx(1.05, abs=0.06)
    assert per_round.empty == pytest.approx(0.36, abs=0.03)
    assert per_round.spent == pytest.approx(0.31, abs=0.03)
    full = ospm("full")
    assert full.early == pytest.approx(4.3, abs=0.15)
    assert full.late < 0.02
    assert full.empty == pytest.approx(0.95, abs=0.015)
    pro_rata = ospm("pro-rata")
    assert pro_rata.hires == pytest.approx(2.75, abs=0.12)
    assert pro_rata.empty == pytest.approx(0.08, abs=0.025)


@pytest.mark.parametrize(("B", "m", "n"), [(256, 20, 3.2), (256, 50, 5.0), (256, 100, 7.1), (320, 20, 3.5)])
def test_posted_price_at_constant_quality(B: float, m: int, n: float) -> None:
    """Section 11: hires sqrt(beta m) of m bidders with beta a round; whole clients cost a little of it."""
    found = figures(lambda tender: Ospb(OspbOptions(), tender), B, m, w=0.0)
    assert n == pytest.approx((B / T * m) ** 0.5, abs=0.05)
    assert found.hires == pytest.approx(n, rel=0.06)
    assert 0.93 < found.spent <= 1
