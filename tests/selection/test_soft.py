"""The soft start: timing, probabilities, and that it ends as the hard switch."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fedsift.errors import ConfigError
from fedsift.methods.base import Client, Evidence, Selection, Signals, Step, Task
from fedsift.methods.loss_iforest import LossIforest
from fedsift.methods.loss_iforest_soft import LossIforestSoft
from fedsift.methods.loss_ocsvm import LossOcsvm
from fedsift.methods.loss_ocsvm_soft import LossOcsvmSoft
from fedsift.selection.refitted import RefittedDetector
from fedsift.selection.soft import SoftStart

TASK = Task(rounds=1000, clients=100, classes=10, seed=0, participants=10)
PAIRS = [(LossIforestSoft, LossIforest), (LossOcsvmSoft, LossOcsvm)]
SOFT = [soft for soft, _ in PAIRS]


def method(cls: type[RefittedDetector], **options: Any) -> Any:
    return cls(cls.Options.model_validate(options), TASK)


def losses(n: int, seed: int = 0) -> Signals:
    return Signals(losses=torch.from_numpy(np.random.default_rng(seed).gamma(2.0, 0.1, size=(n, 2))).float())


def select(m: RefittedDetector, round_: int, signals: Signals, seed: int = 0) -> Selection:
    chosen = m.select(round_, Client(0, torch.zeros(len(signals.losses)), None), signals, np.random.default_rng(seed))
    assert chosen is not None
    return chosen


def fitted(cls: type[RefittedDetector], round_: int = 100, **options: Any) -> Any:
    m = method(cls, **options)
    upload = select(m, round_, losses(200)).upload
    m.observe(round_, Evidence([0], [upload], [200]))
    return m


@pytest.mark.parametrize("cls", SOFT)
def test_timing(cls: type[SoftStart]) -> None:
    """Fitted at 100, then every five rounds; full selection from 400 on."""
    m = method(cls)
    assert [m.acts(round_) for round_ in (0, 99, 100, 999)] == [False, False, True, True]
    assert [round_ for round_ in range(100, 120) if m.refits(round_)] == [100, 105, 110, 115]
    assert cls.lineage(m.options, 1000) == [Step("fedavg", {}, 100)]
    assert cls.lineage(cls.Options(first=7, start=0.5), 1000) == [Step("fedavg", {}, 7)]
    assert [m.drop_probability(round_) for round_ in (100, 101, 175, 250, 399, 400, 999)] == pytest.approx(
        [0, 1 / 300, 0.25, 0.5, 299 / 300, 1, 1]
    )
    collecting = method(cls, trains_at_start=False)
    assert [collecting.trains(round_) for round_ in (100, 101, 400)] == [False, True, True]


@pytest.mark.parametrize(("soft", "hard"), PAIRS)
def test_outliers_are_those_of_the_hard_switch(soft: type[SoftStart], hard: type[RefittedDetector]) -> None:
    """From `start` on the selections are equal; before, the soft one keeps more, and the same inliers."""
    signals = losses(100, 3)
    m, full = fitted(soft), fitted(hard, start=100)
    expected = select(full, 401, signals)
    for round_ in (400, 401, 777):
        chosen = select(m, round_, signals)
        np.testing.assert_array_equal(chosen.keep, expected.keep)
        np.testing.assert_array_equal(chosen.suspicion, expected.suspicion)
    halfway = select(m, 250, signals)
    assert halfway.keep[expected.keep].all()
    assert expected.keep.sum() < halfway.keep.sum() < 100
    np.testing.assert_array_equal(halfway.suspicion, expected.suspicion)


@pytest.mark.parametrize("round_", [101, 130, 250, 370, 399])
def test_share_of_outliers_that_is_dropped(round_: int) -> None:
    m, signals = fitted(LossIforestSoft), losses(400, 3)
    outlier = ~select(m, 400, signals).keep
    draws = np.array([~select(m, round_, signals, seed).keep for seed in range(60)])
    assert not draws[:, ~outlier].any()
    # 60 draws of some 160 outliers: a standard deviation of at most 0.005.
    assert draws[:, outlier].mean() == pytest.approx((round_ - 100) / 300, abs=0.02)
    if round_ == 250:
        assert draws[:, outlier].mean(axis=0) == pytest.approx(0.5, abs=0.35), "every outlier alike"


def test_draws_come_from_the_hooks_stream() -> None:
    m, signals = fitted(LossIforestSoft), losses(100, 3)
    draws = [select(m, 250, signals, seed).keep.tolist() for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]


def test_first_at_start_is_the_hard_switch() -> None:
    soft, hard = fitted(LossIforestSoft, first=100, start=100), fitted(LossIforest, start=100)
    assert soft.drop_probability(100) == soft.drop_probability(101) == 1
    np.testing.assert_array_equal(select(soft, 101, losses(50, 3)).keep, select(hard, 101, losses(50, 3)).keep)


@pytest.mark.parametrize("options", [{"first": 0.5}, {"first": 401}, {"first": 0.1, "start": 99}])
def test_first_after_start_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="first is round .* after start"):
        LossIforestSoft.lineage(LossIforestSoft.Options.model_validate(options), 1000)


@settings(deadline=None)
@given(st.integers(1, 1000), st.integers(1, 1000), st.integers(1, 1000))
def test_probability_only_rises(first: int, length: int, rounds: int) -> None:
    m = method(LossIforestSoft, first=first, start=first + length)
    chances = [m.drop_probability(round_) for round_ in range(first, first + rounds)]
    assert all(0 <= low <= high <= 1 for low, high in pairwise(chances))
    assert m.drop_probability(first) == 0
    assert m.drop_probability(first + length) == 1


@pytest.mark.parametrize("rounds", range(2, 30))
def test_any_number_of_rounds(rounds: int) -> None:
    (step,) = LossIforestSoft.lineage(LossIforestSoft.Options(), rounds)
    assert 1 <= step.until <= max(1, round(0.4 * rounds))


@pytest.mark.parametrize("cls", SOFT)
def test_state_gives_identical_decisions(cls: type[SoftStart]) -> None:
    m, again, signals = fitted(cls), method(cls), losses(100, 3)
    again.load_state_dict(m.state_dict())
    np.testing.assert_array_equal(select(m, 250, signals).keep, select(again, 250, signals).keep)
