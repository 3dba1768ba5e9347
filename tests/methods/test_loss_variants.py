"""Loss-space detectors beyond the paper's: gmm-loss, -auto, -soft, -rich. What holds of all, and what each adds."""

from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from fedsift.methods.base import Client, Evidence, Selection, Signals, Step, Task
from fedsift.methods.gmm_loss import GmmLoss
from fedsift.methods.loss_iforest import LossIforest
from fedsift.methods.loss_iforest_auto import LossIforestAuto
from fedsift.methods.loss_iforest_rich import LossIforestRich
from fedsift.methods.loss_iforest_soft import LossIforestSoft
from fedsift.methods.loss_ocsvm_auto import LossOcsvmAuto
from fedsift.methods.loss_ocsvm_soft import LossOcsvmSoft
from fedsift.selection.mixture import estimated_rate
from fedsift.selection.refitted import RefittedDetector
from fedsift.training.streams import seed_of

TASK = Task(rounds=1000, clients=100, classes=10, seed=0, participants=10)
METHODS = [GmmLoss, LossOcsvmAuto, LossIforestAuto, LossIforestSoft, LossOcsvmSoft, LossIforestRich]
AUTO = [LossOcsvmAuto, LossIforestAuto]
T_S = 400


def method(cls: type[RefittedDetector], **options: Any) -> RefittedDetector:
    soft = {"first": T_S, "start": T_S} if "first" in cls.Options.model_fields else {}
    return cls(cls.Options.model_validate(soft | options), TASK)


def signals_of(ce: np.ndarray, seed: int = 0) -> tuple[Signals, torch.Tensor]:
    """What a model with the cross-entropies ``ce`` says: 0.05 CE, an MSE about 0.02, and logits of ten classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(10, size=len(ce))
    p = np.exp(-np.clip(ce, 0, 50))
    logits = np.log(np.maximum((1 - p) / 9, 1e-30))[:, None] * np.ones(10)
    logits[np.arange(len(ce)), y] = np.log(p)
    logits[~np.isfinite(ce)] = np.nan
    losses = np.stack([0.05 * ce, rng.gamma(20, 0.001, len(ce))], axis=1)
    return Signals(losses=torch.from_numpy(losses).float(), logits=torch.from_numpy(logits).float()), torch.from_numpy(
        y
    )


def sample(n: int, seed: int = 0, rate: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    """Cross-entropies of n samples, and which of them are noisy."""
    rng = np.random.default_rng(seed)
    noisy = rng.random(n) < rate
    return np.where(noisy, np.abs(rng.normal(4, 0.6, n)), np.abs(rng.normal(0.5, 0.2, n))), noisy


def select(m: RefittedDetector, round_: int, ce: np.ndarray, seed: int = 0) -> Selection:
    signals, y = signals_of(ce, seed)
    chosen = m.select(round_, Client(0, y, None), signals, np.random.default_rng(0))
    assert chosen is not None
    return chosen


def play(m: RefittedDetector, round_: int, *clients: np.ndarray) -> list[Selection]:
    chosen = [select(m, round_, ce, k) for k, ce in enumerate(clients)]
    m.observe(round_, Evidence(range(len(chosen)), [c.upload for c in chosen], [1] * len(chosen)))
    return chosen


# All of them


@pytest.mark.parametrize("cls", METHODS)
def test_collects_then_selects(cls: type[RefittedDetector]) -> None:
    m = method(cls)
    (first,) = play(m, T_S, sample(400)[0])
    assert first.keep is None
    ce, noisy = sample(300, 1)
    chosen = select(m, T_S + 1, ce)
    assert chosen.upload == {}
    assert (~chosen.keep)[noisy].mean() > (~chosen.keep)[~noisy].mean() + 0.2
    assert np.isfinite(chosen.suspicion).all()
    assert {"losses"} <= m.signals(T_S) <= {"losses", "logits"}
    assert cls.lineage(m.options, 1000) == [Step("fedavg", {}, T_S)]


@pytest.mark.parametrize("cls", METHODS)
def test_fewer_than_ten_samples_in_the_round(cls: type[RefittedDetector]) -> None:
    """Nobody's detector is fitted on so few; once there is one, clients of a single sample are judged by it."""
    m = method(cls)
    play(m, T_S, sample(5)[0], sample(4)[0])
    assert m.detector is None
    assert m.state_dict() == {}
    assert select(m, T_S + 1, sample(3)[0]).keep is None
    play(m, T_S + 5, sample(400)[0], sample(1)[0])
    detector = m.detector
    assert detector is not None
    play(m, T_S + 10, sample(9)[0])
    assert m.detector is detector
    for n in (1, 2, 9):
        assert select(m, T_S + 11, sample(n)[0]).keep.shape == (n,)
    if cls not in AUTO:
        # So far off that every detector agrees; the estimated rate of the others may leave it inside.
        assert [select(m, T_S + 11, np.array([ce])).keep.tolist() for ce in (0.5, 30.0)] == [[True], [False]]


@pytest.mark.parametrize("cls", METHODS)
@pytest.mark.parametrize("ce", [0.0, 2.3, 40.0])
def test_constant_losses(cls: type[RefittedDetector], ce: float) -> None:
    """Nothing can be told apart, so nothing is dropped; the reconstruction does not vary either here."""
    m = method(cls)
    flat, y = signals_of(np.full(30, ce))
    flat.losses[:, 1] = 0.02
    client = Client(0, torch.zeros_like(y), None)
    flat.logits[:] = flat.logits[0]
    for round_ in (T_S, T_S + 1):
        chosen = m.select(round_, client, flat, np.random.default_rng(0))
        if round_ == T_S:
            m.observe(round_, Evidence([0], [chosen.upload], [30]))
    assert np.isfinite(chosen.suspicion).all()
    assert chosen.keep.all()


@pytest.mark.parametrize("cls", METHODS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_losses_that_are_not_finite(cls: type[RefittedDetector], bad: float) -> None:
    """They are dropped, finite ones are judged as without them, and a detector can be fitted with them too.

    A broken vector that is fitted stretches the SVM's kernel until all finite ones look the same, and may drop them all
    until the next fit; trees and mixtures stand it.
    """
    m = method(cls)
    play(m, T_S, sample(400)[0])
    ce, _ = sample(40, 1)
    whole = select(m, T_S + 1, ce)
    broken = np.where(np.arange(40) == 3, bad, ce)
    chosen = select(m, T_S + 1, broken)
    others = np.arange(40) != 3
    assert not chosen.keep[3]
    np.testing.assert_array_equal(chosen.keep[others], whole.keep[others])
    assert np.isfinite(chosen.suspicion).all()
    play(m, T_S + 5, np.concatenate([broken, sample(200, 2)[0]]))
    assert m.fitted_at == T_S + 5
    again = select(m, T_S + 6, broken)
    assert not again.keep[3]
    assert again.keep.sum() < 40
    assert again.keep.any() or cls in (LossOcsvmAuto, LossOcsvmSoft)
    assert np.isfinite(again.suspicion).all()


@pytest.mark.parametrize("cls", METHODS)
def test_nothing_but_broken_losses(cls: type[RefittedDetector]) -> None:
    """The model is lost: nothing can be fitted, so nothing is dropped."""
    m = method(cls)
    play(m, T_S, np.full(30, np.nan))
    assert m.detector is None
    assert select(m, T_S + 1, np.full(30, np.nan)).keep is None


@pytest.mark.parametrize("cls", METHODS)
def test_state_gives_identical_decisions(cls: type[RefittedDetector]) -> None:
    m, again = method(cls, fit_cap=100), method(cls, fit_cap=100)
    play(m, T_S, sample(300)[0])
    again.load_state_dict(m.state_dict())
    ce, _ = sample(100, 1)
    first, second = select(m, T_S + 1, ce), select(again, T_S + 1, ce)
    np.testing.assert_array_equal(first.keep, second.keep)
    np.testing.assert_array_equal(first.suspicion, second.suspicion)


# gmm-loss


def test_gmm_finds_the_noisy_without_being_told_how_many() -> None:
    for rate in (0.1, 0.4):
        m = method(GmmLoss)
        play(m, T_S, sample(500, 1, rate)[0])
        ce, noisy = sample(500, 2, rate)
        dropped = ~select(m, T_S + 1, ce).keep
        assert dropped[noisy].mean() > 0.95
        assert dropped[~noisy].mean() < 0.05


def test_gmm_works_on_the_summed_loss() -> None:
    m = method(GmmLoss)
    (chosen,) = play(m, T_S, sample(20)[0])
    signals, _ = signals_of(sample(20)[0])
    assert chosen.upload["vectors"] == pytest.approx(signals.losses.double().numpy().sum(axis=1, keepdims=True))


def test_gmm_options() -> None:
    assert GmmLoss.Options().model_dump() == {
        "start": 0.4, "refit_every": 5, "trains_at_start": True, "fit_cap": 10_000, "threshold": 0.5,
    }  # fmt: skip
    for wrong in ({"threshold": 0}, {"threshold": 1}, {"contamination": 0.4}):
        with pytest.raises(ValidationError):
            GmmLoss.Options.model_validate(wrong)


# -auto


@pytest.mark.parametrize("cls", AUTO)
@pytest.mark.parametrize("rate", [0.1, 0.3])
def test_auto_takes_the_rate_of_its_vectors(cls: type[RefittedDetector], rate: float) -> None:
    m = method(cls)
    play(m, T_S, sample(600, 1, rate)[0])
    estimate = estimated_rate(m.fitted_on.sum(axis=1), seed_of(0, "detector", T_S))
    assert estimate == pytest.approx(rate, abs=0.05)
    dropped = ~select(m, T_S + 1, sample(600, 1, rate)[0], 0).keep
    assert dropped.mean() == pytest.approx(estimate, abs=0.02)
    told = cls.__mro__[1](cls.__mro__[1].Options(contamination=estimate), TASK)
    told.load_state_dict(m.state_dict())
    np.testing.assert_array_equal(~dropped, select(told, T_S + 1, sample(600, 1, rate)[0], 0).keep)


@pytest.mark.parametrize("cls", AUTO)
def test_auto_takes_no_rate(cls: type[RefittedDetector]) -> None:
    with pytest.raises(ValidationError):
        cls.Options.model_validate({"contamination": 0.4})


# -rich


def test_rich_points() -> None:
    m = method(LossIforestRich)
    (chosen,) = play(m, T_S, np.array([0.0, np.log(10), 1.0] * 10))
    v = chosen.upload["vectors"]
    assert v.shape == (30, 4)
    assert v[0, 2:] == pytest.approx([0, 0], abs=1e-6)
    assert v[1, 2:] == pytest.approx([0.9, 1.0])
    assert v[2, 2] == pytest.approx(1 - np.exp(-1))
    np.testing.assert_array_equal(v[:, :2], signals_of(np.array([0.0, np.log(10), 1.0] * 10))[0].losses.double())


def test_rich_looks_at_the_label_that_the_client_holds() -> None:
    m = method(LossIforestRich)
    signals, y = signals_of(np.full(12, 0.1))
    right = m.points(Client(0, y, None), signals)
    wrong = m.points(Client(0, (y + 1) % 10, None), signals)
    assert (wrong[:, 2] > 0.9).all() and (right[:, 2] < 0.1).all()
    np.testing.assert_array_equal(wrong[:, 3], right[:, 3])


def test_rich_is_the_forest_otherwise() -> None:
    assert LossIforestRich.Options is LossIforest.Options
    assert method(LossIforestRich).signals(T_S) == {"losses", "logits"}
