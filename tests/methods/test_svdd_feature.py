"""svdd+feature-ocsvm and svdd+feature-iforest."""

from typing import Any

import numpy as np
import pytest
import torch
from training.tiny import SIZES, federation_of, samples_of, spec_of, task_of

from fedsift.config import Config
from fedsift.grid import expand
from fedsift.methods.base import Evidence, Method, Step, Task
from fedsift.methods.feature_iforest import FeatureIforest
from fedsift.methods.feature_ocsvm import FeatureOcsvm
from fedsift.methods.svdd import Svdd
from fedsift.methods.svdd__feature_iforest import SvddFeatureIforest
from fedsift.methods.svdd__feature_ocsvm import SvddFeatureOcsvm
from fedsift.training.loop import Federation

TASK = Task(rounds=1000, clients=100, classes=10, seed=0, participants=10)
METHODS = {SvddFeatureOcsvm: ("feature-ocsvm", FeatureOcsvm), SvddFeatureIforest: ("feature-iforest", FeatureIforest)}
Combined = type[SvddFeatureOcsvm]


def options(cls: Combined, **given: Any) -> Any:
    return cls.Options.model_validate(given)


def small(cls: type[Method], **given: Any) -> Method:
    return cls(cls.Options.model_validate(given), task_of(spec_of()))


def play(method: Method, rounds: int) -> tuple[Federation, list[Any]]:
    federation = federation_of(spec_of(), method, samples_of(list(SIZES)))
    return federation, [federation.round(round_) for round_ in range(rounds)]


def same(a: Federation, b: Federation) -> bool:
    return all(torch.equal(a.state[name], b.state[name]) for name in a.state)


@pytest.mark.parametrize("cls", METHODS)
def test_lineage(cls: Combined) -> None:
    """FedAvg until 500, svdd with the same options until 600."""
    given = options(cls, svdd={"nu": 0.2})
    svdd = Svdd.Options(nu=0.2).model_dump()
    assert cls.lineage(given, 1000) == [Step("fedavg", {}, 500), Step("svdd", svdd, 600)]


@pytest.mark.parametrize("cls", METHODS)
def test_lineage_where_the_detector_starts_first_or_together(cls: Combined) -> None:
    name, detector = METHODS[cls]
    own = detector.Options(start=0.3, contamination=0.2).model_dump()
    early = options(cls, start=0.3, contamination=0.2)
    assert cls.lineage(early, 1000) == [Step("fedavg", {}, 300), Step(name, own, 500)]
    assert cls.lineage(options(cls, start=0.5), 1000) == [Step("fedavg", {}, 500)]


EXPERIMENT = {
    "paper": "mtae",
    "title": "One",
    "dataset": "digits",
    "model": "mtae-digits",
    "partition": {"scheme": "iid"},
    "noises": {"clean": {"kind": "none"}},
    "clients": [5],
    "seeds": [0],
    "rounds": 100,
    "methods": ["svdd", "svdd+feature-ocsvm", "svdd+feature-iforest", "feature-iforest"],
}


@pytest.mark.parametrize(("nu", "phases_of_svdd"), [(0.1, 1), (0.2, 2)])
def test_phases_are_shared_where_the_options_agree(nu: float, phases_of_svdd: int) -> None:
    """One phase of svdd until 60 for all three, unless one of them has another nu."""
    methods = {"svdd+feature-ocsvm": {"svdd": {"nu": nu}}}
    grid = expand(Config.model_validate({"scale": "quick", "methods": methods, "experiments": {"one": EXPERIMENT}}))
    spans = [(spec.method.name, spec.start, spec.stop) for spec in grid.phases.values()]
    assert spans.count(("svdd", 50, 60)) == phases_of_svdd
    assert spans.count(("fedavg", 0, 50)) == 1
    assert sorted(name for name, _, stop in spans if stop == 100) == sorted(EXPERIMENT["methods"])


@pytest.mark.parametrize("cls", METHODS)
def test_timing(cls: Combined) -> None:
    m = cls(options(cls), TASK)
    assert [m.acts(round_) for round_ in (0, 499, 500, 999)] == [False, False, True, True]
    assert [m.signals(round_) for round_ in (500, 599, 600)] == [set(), set(), {"embedding"}]
    assert [m.reply_signals(round_) for round_ in (500, 501, 600)] == [set(), {"embedding"}, {"embedding"}]
    collecting = cls(options(cls, trains_at_start=False), TASK)
    assert [collecting.trains(round_) for round_ in (500, 599, 600, 601)] == [True, True, False, True]
    assert m.trains(600)


@pytest.mark.parametrize("cls", METHODS)
def test_defaults_are_those_of_the_parts(cls: Combined) -> None:
    expected = METHODS[cls][1].Options().model_dump() | {"svdd": Svdd.Options().model_dump()}
    assert options(cls).model_dump() == expected


@pytest.mark.parametrize("cls", METHODS)
def test_equals_svdd_until_the_detector_works(cls: Combined) -> None:
    """The detector is fitted at the end of round 4 and drops from round 5 on."""
    given = {"start": 2, "lambda_reg": 0.01}
    for rounds, equal in ((5, True), (6, False)):
        combined, _ = play(small(cls, start=4, svdd=given), rounds)
        alone, _ = play(small(Svdd, **given), rounds)
        assert same(combined, alone) == equal


@pytest.mark.parametrize("cls", METHODS)
def test_equals_the_detector_where_svdd_weighs_nothing(cls: Combined) -> None:
    combined, rows = play(small(cls, start=4, svdd={"start": 2, "lambda_reg": 0.0}), 8)
    alone, expected = play(small(METHODS[cls][1], start=4), 8)
    assert same(combined, alone)
    assert rows == expected
    assert rows[6]["used"] < rows[6]["samples"]


@pytest.mark.parametrize("cls", METHODS)
@pytest.mark.parametrize("before", ["svdd", "detector"])
def test_continues_the_state_of_either_part(cls: Combined, before: str) -> None:
    """Whichever starts first: the phase before leaves its state to the combination."""
    part: type[Method] = Svdd if before == "svdd" else METHODS[cls][1]
    starts = {"svdd": 2, "detector": 4} if before == "svdd" else {"svdd": 4, "detector": 2}
    given = {"start": starts["detector"], "svdd": {"start": starts["svdd"], "lambda_reg": 0.01}}
    whole_method = small(cls, **given)
    whole, _ = play(whole_method, 7)
    first = small(part, **(given["svdd"] if before == "svdd" else {"start": 2}))
    prefix, _ = play(first, 4)
    later = small(cls, **given)
    later.load_state_dict(first.state_dict())
    prefix.method = later
    for round_ in range(4, 7):
        prefix.round(round_)
    assert same(prefix, whole)
    states = later.state_dict(), whole_method.state_dict()
    assert states[0].keys() == states[1].keys() == {"mu", "R", "fitted_on", "fitted_at"}
    assert all(np.array_equal(states[0][name], states[1][name]) for name in states[0])


@pytest.mark.parametrize("cls", METHODS)
def test_distances_are_sent_of_dropped_samples_too(cls: Combined) -> None:
    seen: dict[int, Evidence] = {}

    class Watched(cls):
        def observe(self, round_: int, evidence: Evidence) -> None:
            super().observe(round_, evidence)
            seen[round_] = evidence

    _, rows = play(small(Watched, start=4, svdd={"start": 2}), 6)
    known = np.unique(samples_of(list(SIZES)).y_test.numpy())
    assert rows[5]["used"] < rows[5]["samples"]
    for client, upload in zip(seen[5].clients, seen[5].uploads, strict=True):
        samples = samples_of(list(SIZES))
        held = samples.y[samples.rows(client)].numpy()
        assert len(upload["distances"]) == np.isin(held, known).sum()
    assert [sorted(seen[round_].uploads[0]) for round_ in (2, 3, 4, 5, 6) if round_ in seen] == [
        [],
        ["classes", "distances"],
        ["classes", "distances", "vectors"],
        ["classes", "distances", "vectors"],  # 5 is a round of refitting
    ]
