import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from fedsift.methods.base import Client, Evidence, Selection, Signals, Step, Task
from fedsift.methods.loss_threshold import LossThreshold

TASK = Task(rounds=1000, clients=100, classes=10, seed=0, participants=10)
T_S = 400


def method(**options: Any) -> LossThreshold:
    return LossThreshold(LossThreshold.Options.model_validate(options), TASK)


def select(at: LossThreshold, round_: int, losses: list[Any], seed: int = 0) -> Selection:
    signals = Signals(losses=torch.tensor(losses, dtype=torch.float32))
    chosen = at.select(round_, Client(0, torch.zeros(len(losses)), None), signals, np.random.default_rng(seed))
    assert chosen is not None
    return chosen


def uploads(*clients: tuple[float, float, float, float]) -> Evidence:
    """(L_low, L_high, S, n) of each."""
    sent = [dict(zip(("L_low", "L_high", "S", "n"), map(np.array, client), strict=True)) for client in clients]
    return Evidence(range(len(sent)), sent, [int(client[3]) for client in clients])


def utility(u: float, n: float = 1.0) -> Evidence:
    return uploads((0.1, 1.1, u * n, n))


def test_round_t_s_collects() -> None:
    """l = 0.05 CE + MSE; everything is kept, low, high, sum and number are sent."""
    at = method()
    chosen = select(at, T_S, [[0.1, 0.2], [0.4, 0.5], [0.0, 0.1]])
    assert chosen.keep is None
    assert chosen.suspicion == pytest.approx([0.3, 0.9, 0.1])
    assert {name: float(value) for name, value in chosen.upload.items()} == pytest.approx(
        {"L_low": 0.1, "L_high": 0.9, "S": 1.3, "n": 3}
    )


def test_threshold_by_hand() -> None:
    """min L_low = 0.1, mean L_high = (0.9 + 1.5) / 2 = 1.2; l_t = 0.1 + 1.1 ltr."""
    at = method()
    evidence = uploads((0.1, 0.9, 1.3, 3), (0.3, 1.5, 2.0, 2))
    at.observe(T_S, evidence)
    assert at.l_t == pytest.approx(0.1)
    assert at.ltr == 0.0
    at.ltr = 0.4
    at.observe(T_S + 1, evidence)
    assert at.l_t == pytest.approx(0.1 + 1.1 * 0.4)
    assert [pytest.approx(3.3 / 5)] == at.U


def test_samples_under_the_threshold_are_all_kept_and_of_the_others_floor_p() -> None:
    at = method()
    at.l_t = 0.5
    losses = [[0.0, value] for value in (0.1, 0.5, 0.9, 0.49, 0.7, 0.6, 0.8, 0.51)]
    dropped = set()
    for seed in range(50):
        chosen = select(at, T_S + 1, losses, seed)
        assert chosen.keep is not None
        assert chosen.keep[[0, 3]].all()
        assert chosen.keep.sum() == 2 + 4  # OT = {1, 2, 4, 5, 6, 7}: floor(0.75 * 6) = 4, a tie counts as over
        assert float(chosen.upload["n"]) == 6
        assert float(chosen.upload["S"]) == pytest.approx(np.array(losses)[chosen.keep].sum(), rel=1e-6)
        assert float(chosen.upload["L_high"]) == pytest.approx(0.9)
        dropped |= set(np.flatnonzero(~chosen.keep).tolist())
    assert dropped == {1, 2, 4, 5, 6, 7}


def test_with_ltr_0_all_samples_are_over_the_threshold() -> None:
    """The threshold is the global minimum."""
    at = method()
    at.observe(T_S, uploads((0.1, 0.9, 1.3, 3)))
    chosen = select(at, T_S + 1, [[0.0, value] for value in np.linspace(0.1, 3, 10)])
    assert chosen.keep is not None
    assert chosen.keep.sum() == 7


def test_with_ltr_1_only_samples_over_the_mean_of_maxima_are_at_risk() -> None:
    at = method(p=0.01)
    at.ltr = 1.0
    at.observe(T_S, uploads((0.1, 0.9, 1.3, 3), (0.3, 1.5, 2.0, 2)))
    chosen = select(at, T_S + 1, [[0.0, value] for value in (0.1, 1.0, 1.19, 1.21, 1.5)])
    assert chosen.keep is not None
    assert chosen.keep.tolist() == [True, True, True, False, False]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(0, 4, width=32), min_size=1, max_size=30),
    st.floats(0, 4, width=32),
    st.integers(1, 100),
    st.integers(0, 2**32),
)
def test_selection_against_the_definition(losses: list[float], l_t: float, percent: int, seed: int) -> None:
    at = method(p=percent / 100)
    at.l_t = l_t
    keep = select(at, T_S + 1, [[0.0, value] for value in losses], seed).keep
    assert keep is not None
    OT = [j for j, loss in enumerate(losses) if loss >= l_t]
    assert all(keep[j] for j in range(len(losses)) if j not in OT)
    assert sum(keep[j] for j in OT) == percent * len(OT) // 100


def ltrs(utilities: list[float], **options: Any) -> list[float]:
    """ltr after each round from t_s on; the first utility is of round t_s + 1."""
    at, seen = method(**options), []
    at.observe(T_S, utility(9.0))
    for index, u in enumerate(utilities):
        at.observe(T_S + 1 + index, utility(u))
        seen.append(at.ltr)
    return seen


def test_first_change_is_after_round_414() -> None:
    """Ten utilities since 401 are there after 410; the next round with (r + 1) mod 5 = 0 is 414."""
    seen = ltrs([1 - 0.01 * index for index in range(20)])
    assert seen[:13] == [0.0] * 13  # 401 to 413
    assert seen[13:18] == [0.1] * 5  # 414 to 418
    assert seen[18:] == [0.2] * 2


def slow_control(U: list[float], r: int, ltr: float, tw: int = 5, lss: float = 0.1) -> float:
    """ControlLtr, word for word from the MTAE spec, 5.3."""
    R1 = r + 1
    if R1 % tw == 0 and len(U) >= 2 * tw:
        if sum(U[-tw - i] for i in range(1, tw + 1)) > sum(U[-i] for i in range(1, tw + 1)):
            return min(ltr + lss, 1)
        return max(ltr - lss, 0)
    return ltr


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 20), min_size=1, max_size=60), st.integers(1, 7))
def test_control_against_the_paper(utilities: list[int], tw: int) -> None:
    """Utilities that are sums of powers of two, so that no order of adding matters."""
    ltr, expected = 0.0, []
    for index in range(len(utilities)):
        ltr = slow_control([u / 4 for u in utilities[: index + 1]], T_S + 1 + index, ltr, tw)
        expected.append(ltr)
    assert ltrs([u / 4 for u in utilities], tw=tw) == expected


def test_ratio_stays_between_0_and_1() -> None:
    falling = [100.0 - index for index in range(90)]
    assert max(ltrs(falling)) == 1.0
    both = ltrs(falling + [200.0 + index for index in range(90)])
    assert both[89] == 1.0
    assert both[-1] == 0.0
    assert all(0 <= ltr <= 1 for ltr in both)


def test_constant_loss_lowers_the_ratio() -> None:
    at = method()
    at.ltr = 0.5
    for index in range(14):
        at.observe(T_S + 1 + index, utility(1.0))
    assert at.ltr == 0.4


def test_utility_weighs_samples_not_clients() -> None:
    at = method()
    at.observe(T_S + 1, uploads((0.0, 1.0, 8.0, 4), (0.0, 1.0, 1.0, 1), (0.0, 1.0, 0.0, 0)))
    assert at.U == [9 / 5]


def test_nothing_selected_anywhere_adds_no_utility() -> None:
    at = method()
    at.observe(T_S + 1, uploads((0.2, 1.0, 0.0, 0)))
    assert at.U == []
    assert at.l_t == pytest.approx(0.2)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_losses_that_are_not_finite_count_as_a_million(bad: float) -> None:
    at = method()
    at.l_t = 0.5
    chosen = select(at, T_S + 1, [[0.1, 0.1], [bad, 0.1], [0.1, bad]])
    assert chosen.keep is not None
    assert chosen.keep[0]
    assert chosen.keep.sum() == 2
    assert float(chosen.upload["L_high"]) == pytest.approx(1e6, rel=1e-3)


def test_state_continues_exactly() -> None:
    rng = np.random.default_rng(0)
    utilities = rng.random(60).tolist()
    whole = method()
    for index, u in enumerate(utilities):
        whole.observe(T_S + index, utility(u))
    for cut in (0, 3, 11, 37):
        first, second = method(), method()
        for index, u in enumerate(utilities[:cut]):
            first.observe(T_S + index, utility(u))
        second.load_state_dict(first.state_dict())
        for index, u in enumerate(utilities[cut:], start=cut):
            second.observe(T_S + index, utility(u))
        assert (second.ltr, second.l_t) == (whole.ltr, whole.l_t)
        np.testing.assert_array_equal(second.state_dict()["U"], whole.state_dict()["U"])
    assert len(whole.state_dict()["U"]) == 10


def test_state_of_fedavg_is_a_fresh_start() -> None:
    at = method()
    at.load_state_dict({})
    assert (at.ltr, at.l_t, at.U) == (0.0, 0.0, [])


def test_timing() -> None:
    at = method()
    assert [at.acts(round_) for round_ in (0, 399, 400, 999)] == [False, False, True, True]
    assert at.trains(400)
    collecting = method(trains_at_start=False)
    assert [collecting.trains(round_) for round_ in (400, 401)] == [False, True]
    assert at.signals(400) == {"losses"}
    assert LossThreshold.lineage(at.options, 1000) == [Step("fedavg", {}, 400)]
    assert LossThreshold.lineage(at.options, 100) == [Step("fedavg", {}, 40)]


def test_defaults_are_the_papers() -> None:
    assert method().options.model_dump() == {"start": 0.4, "p": 0.75, "lss": 0.1, "tw": 5, "trains_at_start": True}


@pytest.mark.parametrize("wrong", [{"p": 0}, {"p": 1.1}, {"tw": 0}, {"start": 0}, {"start": 1.0}, {"surprise": 1}])
def test_impossible_options(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        method(**wrong)
