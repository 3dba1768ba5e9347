import math
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from fedsift.methods.base import Client, Evidence, Selection, Signals, Step, Task
from fedsift.methods.loss_iforest import LossIforest
from fedsift.methods.loss_ocsvm import LossOcsvm
from fedsift.selection.refitted import RefittedDetector

TASK = Task(rounds=1000, clients=100, classes=10, seed=0, participants=10)
METHODS = [LossOcsvm, LossIforest]


def method(cls: type[RefittedDetector] = LossOcsvm, **options: Any) -> RefittedDetector:
    return cls(cls.Options.model_validate(options), TASK)


def losses(n: int, seed: int = 0) -> Signals:
    return Signals(losses=torch.from_numpy(np.random.default_rng(seed).gamma(2.0, 0.1, size=(n, 2))).float())


def select(m: RefittedDetector, round_: int, signals: Signals) -> Selection:
    n = 0 if signals.losses is None else len(signals.losses)
    chosen = m.select(round_, Client(0, torch.zeros(n), None), signals, np.random.default_rng(0))
    assert chosen is not None
    return chosen


def play(m: RefittedDetector, round_: int, *clients: Signals) -> list[Selection]:
    """One round of the protocol."""
    chosen = [select(m, round_, signals) for signals in clients]
    m.observe(round_, Evidence(range(len(chosen)), [c.upload for c in chosen], [1] * len(chosen)))
    return chosen


@pytest.mark.parametrize("cls", METHODS)
def test_refits_at_400_and_then_every_five_rounds(cls: type[RefittedDetector]) -> None:
    """400, 405, ..., 995; vectors are sent in these rounds only, and the new detector works from the next round on."""
    m, refitted, sent, used = method(cls), [], [], {}
    for round_ in range(400, 1000):
        at = m.fitted_at
        (chosen,) = play(m, round_, losses(12, round_))
        used[round_] = at
        if chosen.upload:
            sent.append(round_)
        if m.fitted_at != at:
            refitted.append(round_)
    assert refitted == sent == list(range(400, 1000, 5))
    assert [used[round_] for round_ in (400, 401, 405, 406)] == [-1, 400, 400, 405]


def test_start_between_refits() -> None:
    m = method(start=402)
    assert [round_ for round_ in range(402, 420) if m.refits(round_)] == [402, 405, 410, 415]


@pytest.mark.parametrize("cls", METHODS)
def test_selection_by_hand(cls: type[RefittedDetector]) -> None:
    """Keeps what the detector of the last refit, fitted on all clients' vectors, calls an inlier."""
    m = method(cls)
    first = play(m, 400, losses(30, 1), losses(40, 2))
    assert [chosen.keep for chosen in first] == [None, None]
    together = np.concatenate([losses(30, 1).losses.double().numpy(), losses(40, 2).losses.double().numpy()])
    np.testing.assert_array_equal(m.fitted_on, together)
    reference = m.fit()(together, 12345) if cls is LossOcsvm else m.detector
    signals = losses(25, 3)
    chosen = select(m, 401, signals)
    decision = reference.decision_function(signals.losses.double().numpy())
    np.testing.assert_array_equal(chosen.keep, decision >= 0)
    np.testing.assert_array_equal(chosen.suspicion, -decision)
    assert chosen.upload == {}
    assert 0 < chosen.keep.sum() < 25


def test_vectors_of_dropped_samples_are_sent_too() -> None:
    m = method()
    play(m, 400, losses(30))
    chosen = select(m, 405, losses(25, 3))
    assert chosen.keep is not None
    assert not chosen.keep.all()
    assert len(chosen.upload["vectors"]) == 25


def test_no_history_is_kept() -> None:
    m = method()
    play(m, 400, losses(30, 1))
    play(m, 405, losses(20, 2))
    assert len(m.fitted_on) == 20


@pytest.mark.parametrize("cls", METHODS)
def test_state_gives_identical_decisions(cls: type[RefittedDetector]) -> None:
    m = method(cls, fit_cap=50)
    play(m, 400, losses(80, 1))
    again = method(cls, fit_cap=50)
    again.load_state_dict(m.state_dict())
    signals = losses(200, 3)
    first, second = select(m, 401, signals), select(again, 401, signals)
    np.testing.assert_array_equal(first.suspicion, second.suspicion)
    np.testing.assert_array_equal(first.keep, second.keep)
    assert again.fitted_at == 400


def test_state_before_the_first_fit_is_empty() -> None:
    m = method()
    assert m.state_dict() == {}
    m.load_state_dict({})
    assert m.detector is None


@pytest.mark.parametrize("cls", METHODS)
def test_fewer_than_ten_vectors_keep_the_old_detector(cls: type[RefittedDetector]) -> None:
    """SK#4195: with three samples everything is an outlier."""
    m = method(cls)
    play(m, 400, losses(5), losses(4))
    assert m.detector is None
    assert select(m, 401, losses(3)).keep is None
    play(m, 405, losses(6), losses(4))
    assert m.fitted_at == 405
    detector = m.detector
    play(m, 410, losses(9))
    assert m.detector is detector


@pytest.mark.parametrize("cls", METHODS)
def test_small_clients_are_judged_by_the_common_detector(cls: type[RefittedDetector]) -> None:
    m = method(cls)
    play(m, 400, losses(500))
    far = Signals(losses=torch.tensor([[0.2, 0.2], [9.0, 9.0]]))
    assert select(m, 401, far).keep.tolist() == [True, False]


@pytest.mark.parametrize("cls", METHODS)
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_losses_that_are_not_finite(cls: type[RefittedDetector], bad: float) -> None:
    m = method(cls)
    play(m, 400, losses(200))
    broken = losses(20, 1)
    broken.losses[3] = bad
    (chosen,) = play(m, 405, broken)
    assert not chosen.keep[3]
    assert np.isfinite(chosen.suspicion).all()
    assert np.isfinite(select(m, 406, broken).suspicion).all()


@pytest.mark.parametrize("cls", METHODS)
def test_constant_losses(cls: type[RefittedDetector]) -> None:
    m = method(cls)
    flat = Signals(losses=torch.full((20, 2), 0.25))
    play(m, 400, flat)
    assert np.isfinite(select(m, 401, flat).suspicion).all()


def test_one_loss_term_of_classifiers() -> None:
    m = method()
    play(m, 400, Signals(losses=losses(50).losses[:, :1]))
    assert 0 < select(m, 401, Signals(losses=losses(50, 1).losses[:, :1])).keep.sum() < 50


@pytest.mark.parametrize("cls", METHODS)
def test_cap_on_the_vectors_that_are_fitted(cls: type[RefittedDetector]) -> None:
    """SK#6617: OneClassSVM never ends on many samples."""
    m, again = method(cls, fit_cap=60), method(cls, fit_cap=60)
    for each in (m, again):
        play(each, 400, losses(100, 1), losses(100, 2))
    assert len(m.fitted_on) == 60
    np.testing.assert_array_equal(m.fitted_on, again.fitted_on)
    assert {tuple(row) for row in m.fitted_on} <= {
        tuple(row) for seed in (1, 2) for row in losses(100, seed).losses.double().numpy()
    }
    before = m.fitted_on
    play(m, 405, losses(100, 1), losses(100, 2))
    assert not np.array_equal(m.fitted_on, before), "another draw in every refit"


@pytest.mark.parametrize("cls", METHODS)
def test_timing(cls: type[RefittedDetector]) -> None:
    m = method(cls)
    assert [m.acts(round_) for round_ in (0, 399, 400, 999)] == [False, False, True, True]
    assert m.trains(400)
    collecting = method(cls, trains_at_start=False)
    assert [collecting.trains(round_) for round_ in (400, 401, 405)] == [False, True, True]
    assert m.signals(400) == {"losses"}
    assert cls.lineage(m.options, 1000) == [Step("fedavg", {}, 400)]


def test_defaults_are_the_papers() -> None:
    assert method().options.model_dump() == {
        "start": 0.4,
        "contamination": 0.4,
        "refit_every": 5,
        "trains_at_start": True,
        "fit_cap": 10_000,
    }


@pytest.mark.parametrize("wrong", [{"contamination": 0}, {"contamination": 0.6}, {"refit_every": 0}, {"fit_cap": 9}])
def test_impossible_options(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        method(**wrong)


def test_a_loss_that_is_not_finite_is_dropped_and_not_fitted_on() -> None:
    m, signals = method(start=1), losses(60)
    assert signals.losses is not None
    signals.losses[7] = float("nan")
    play(m, 1, signals)
    assert len(m.fitted_on) == 59
    chosen = select(m, 2, signals)
    assert chosen.keep is not None
    assert not chosen.keep[7]
    assert chosen.keep.mean() > 0.4


def test_a_round_without_clients_changes_nothing() -> None:
    m = method(start=1)
    m.observe(1, Evidence([], [], []))
    assert m.detector is None
