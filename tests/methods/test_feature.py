"""feature-ocsvm and feature-iforest; what they share with those in loss space is tested in selection/test_refitted."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.ensemble import IsolationForest
from sklearn.svm import OneClassSVM
from training.tiny import SIZES, federation_of, samples_of, spec_of

from fedsift.methods.base import Client, Evidence, Selection, Signals, Step, Task
from fedsift.methods.feature_iforest import FeatureIforest
from fedsift.methods.feature_ocsvm import FeatureOcsvm
from fedsift.training.streams import seed_of

TASK = Task(rounds=1000, clients=100, classes=10, seed=0, participants=10)
METHODS = [FeatureOcsvm, FeatureIforest]
D = 16


def method(cls: type[FeatureOcsvm] = FeatureOcsvm, **options: Any) -> FeatureOcsvm:
    return cls(cls.Options.model_validate(options), TASK)


def embedding(n: int, seed: int = 0) -> Signals:
    """Half of the values are zero, as after a ReLU."""
    z = np.random.default_rng(seed).normal(size=(n, D)).clip(min=0)
    return Signals(embedding=torch.from_numpy(z).float())


def select(m: FeatureOcsvm, round_: int, signals: Signals) -> Selection:
    assert signals.embedding is not None
    client = Client(0, torch.zeros(len(signals.embedding)), None)
    chosen = m.select(round_, client, signals, np.random.default_rng(0))
    assert chosen is not None
    return chosen


def play(m: FeatureOcsvm, round_: int, *clients: Signals) -> None:
    uploads = [select(m, round_, signals).upload for signals in clients]
    m.observe(round_, Evidence(range(len(uploads)), uploads, [1] * len(uploads)))


@pytest.mark.parametrize("cls", METHODS)
def test_timing(cls: type[FeatureOcsvm]) -> None:
    """From 600 of 1000, refitted every 5 rounds, on the embedding alone."""
    m = method(cls)
    assert [m.acts(round_) for round_ in (0, 599, 600, 999)] == [False, False, True, True]
    assert [round_ for round_ in range(600, 620) if m.refits(round_)] == [600, 605, 610, 615]
    assert m.signals(600) == {"embedding"}
    assert cls.lineage(m.options, 1000) == [Step("fedavg", {}, 600)]
    assert cls.lineage(m.options, 100) == [Step("fedavg", {}, 60)]


def test_defaults_are_the_papers() -> None:
    assert method().options.model_dump() == {
        "start": 0.6,
        "contamination": 0.4,
        "refit_every": 5,
        "trains_at_start": True,
        "fit_cap": 10_000,
    }


def test_svm_selects_by_the_raw_embedding() -> None:
    m, signals = method(), embedding(40, 3)
    play(m, 600, embedding(50, 1), embedding(70, 2))
    v = torch.cat([embedding(50, 1).embedding, embedding(70, 2).embedding]).double().numpy()
    reference = OneClassSVM(nu=0.4).fit(v).decision_function(signals.embedding.double().numpy())
    chosen = select(m, 601, signals)
    np.testing.assert_allclose(chosen.suspicion, -reference, atol=1e-5)
    np.testing.assert_array_equal(chosen.keep, reference >= 0)
    assert 0 < chosen.keep.sum() < 40


def test_forest_selects_by_the_raw_embedding() -> None:
    m, signals = method(FeatureIforest), embedding(40, 3)
    play(m, 600, embedding(50, 1), embedding(71, 2))
    v = torch.cat([embedding(50, 1).embedding, embedding(71, 2).embedding]).double().numpy()
    seed = seed_of(0, "detector", 600) % 2**32
    forest = IsolationForest(n_estimators=11, contamination=0.4, random_state=seed).fit(v)
    chosen = select(m, 601, signals)
    np.testing.assert_array_equal(chosen.suspicion, -forest.decision_function(signals.embedding.double().numpy()))


@pytest.mark.parametrize("cls", METHODS)
def test_state_gives_identical_decisions(cls: type[FeatureOcsvm]) -> None:
    m, again = method(cls), method(cls)
    play(m, 600, embedding(60, 1))
    again.load_state_dict(m.state_dict())
    signals = embedding(200, 3)
    np.testing.assert_array_equal(select(m, 601, signals).suspicion, select(again, 601, signals).suspicion)


@pytest.mark.parametrize("cls", METHODS)
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_embedding_that_is_not_finite(cls: type[FeatureOcsvm], bad: float) -> None:
    m = method(cls)
    play(m, 600, embedding(200))
    broken = embedding(20, 1)
    broken.embedding[3, 5] = bad
    play(m, 605, broken)
    chosen = select(m, 606, broken)
    assert not chosen.keep[3]
    assert np.isfinite(chosen.suspicion).all()


@pytest.mark.parametrize("cls", METHODS)
def test_dead_embedding(cls: type[FeatureOcsvm]) -> None:
    """All units at zero: nothing varies, and nobody is an outlier."""
    m = method(cls)
    dead = Signals(embedding=torch.zeros(20, D))
    play(m, 600, dead)
    chosen = select(m, 601, dead)
    assert np.isfinite(chosen.suspicion).all()
    assert chosen.keep.all()


@pytest.mark.parametrize("cls", METHODS)
def test_in_the_round_loop(cls: type[FeatureOcsvm]) -> None:
    spec = spec_of()
    m = cls(cls.Options(start=1), Task(12, len(SIZES), 10, 3, 2))
    federation = federation_of(spec, m, samples_of(list(SIZES)))
    rows = [federation.round(round_) for round_ in range(4)]
    assert m.fitted_on.shape[0] == rows[1]["samples"]
    assert m.fitted_on.dtype == np.float32
    assert [row["used"] < row["samples"] for row in rows] == [False, False, True, True]
