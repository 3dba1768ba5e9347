"""The market's methods in the round loop; the mechanisms themselves are tested in market/."""

from typing import Any

import numpy as np
import pytest
import torch
from training.tiny import SIZES, federation_of, samples_of, spec_of, task_of

from fedsift.market.stages import Stages
from fedsift.methods import registry
from fedsift.methods.auction import Auction
from fedsift.methods.base import Update
from fedsift.methods.iaofl import Iaofl
from fedsift.training.loop import Federation

NAMES = ["iaofl", "ospb", "ospb-quality", "ospm", "ospm-horizon"]
CLIENTS = [13] * 6
OPTIONS: dict[str, Any] = {"budget": 12.0, "arrivals": {"share": 0.8}}
ROUNDS = 12


def method(name: str, **options: Any) -> Auction:
    cls = registry.load(registry.find(name))
    assert issubclass(cls, Auction)
    return cls(cls.Options.model_validate(OPTIONS | options), task_of(spec_of()))


def played(m: Auction, **others: Any) -> tuple[Federation, list[Any]]:
    federation = federation_of(spec_of(evaluation={"every": 100}), m, samples_of(CLIENTS, **others))
    return federation, [federation.round(round_) for round_ in range(ROUNDS)]


def journal(m: Auction) -> dict[str, np.ndarray]:
    return {name.partition(".")[2]: value for name, value in m.state_dict().items() if name.startswith("journal.")}


@pytest.mark.parametrize("name", NAMES)
def test_who_trains_is_who_was_hired_within_the_budget(name: str) -> None:
    m = method(name)
    _, rows = played(m)
    log = journal(m)
    hired = ~np.isnan(log["price"])
    assert hired.any()
    assert [row["clients"] for row in rows] == np.bincount(log["round"][hired].astype(int), minlength=ROUNDS).tolist()
    assert (log["price"][hired] >= log["b"][hired]).all()
    assert log["price"][hired].sum() <= OPTIONS["budget"]
    if name in {"iaofl", "ospb", "ospb-quality"}:
        stages = Stages.of(ROUNDS, OPTIONS["budget"])
        for l, budget in enumerate(stages.B):
            rounds = [t - 1 for t in range(1, ROUNDS + 1) if stages.of_round(t) == l]
            assert log["price"][hired & np.isin(log["round"], rounds)].sum() <= budget + 1e-12


@pytest.mark.parametrize("name", NAMES)
def test_who_is_judged(name: str) -> None:
    """OSPB by price alone asks for no quality; all others judge every round with two hired and more."""
    m = method(name)
    _, rows = played(m)
    log = journal(m)
    hired = ~np.isnan(log["price"])
    assert np.isnan(log["loss"][~hired]).all()
    if name == "ospb":
        assert np.isnan(log["loss"]).all()
        return
    assert not np.isnan(log["loss"][hired]).any()
    for round_, row in enumerate(rows):
        q = log["quality"][hired & (log["round"] == round_)]
        assert np.isnan(q).all() if row["clients"] < 2 else (q.max() == 1.0 and q.min() >= 1e-3)
    flagged = log["flagged"][hired] == 1
    averaged = sum(row["averaged"] for row in rows)
    everybody = sum(row["clients"] for row in rows)
    assert averaged == everybody if name != "iaofl" else everybody - flagged.sum() <= averaged <= everybody


def test_all_mechanisms_see_the_same_bids() -> None:
    logs = []
    for name in NAMES:
        m = method(name)
        played(m)
        logs.append(journal(m))
    for log in logs[1:]:
        assert np.array_equal(log["b"], logs[0]["b"])
        assert np.array_equal(log["client"], logs[0]["client"])


def test_losses_without_each_are_those_of_the_average_of_the_others() -> None:
    """The slow twin averages the others' models afresh."""
    m = method("iaofl", budget=40.0)
    federation = federation_of(spec_of(), m, samples_of(CLIENTS))
    seen: list[list[Update]] = []
    plain = m.keep

    def watched(round_: int, updates: Any, losses: Any) -> Any:
        seen.append(list(updates))
        return plain(round_, updates, losses)

    m.keep = watched  # type: ignore[method-assign]
    for round_ in range(ROUNDS):
        federation.round(round_)
    log = journal(m)
    rounds = [(round_, updates) for round_, updates in enumerate(seen) if len(updates) > 2]
    assert rounds
    for round_, updates in rounds:
        for left_out in updates:
            others = [update for update in updates if update.client != left_out.client]
            total = sum(update.used for update in others)
            state = {
                name: (sum(update.state[name].double() * update.used for update in others) / total).to(value.dtype)
                for name, value in left_out.state.items()
            }
            at = (log["round"] == round_) & (log["client"] == left_out.client)
            assert log["loss"][at].item() == pytest.approx(federation._validation_loss(state), rel=1e-5)


def test_free_riders_are_found_early() -> None:
    """Of clients that all hold the same images, one that does not train holds the others up."""
    samples = samples_of(CLIENTS)
    one = samples.rows(0)
    x, y = samples.x[one].repeat(6, 1, 1, 1), samples.y[one].repeat(6)
    m = method("iaofl", arrivals={"share": 1.0}, budget=40.0)
    played(m, x=x, y=y, free_rider=[True, *[False] * 5], x_val=samples.x[one], y_val=samples.y[one])
    log = journal(m)
    judged = ~np.isnan(log["quality"])
    lazy = log["client"] == 0
    assert (judged & lazy).any()
    assert log["quality"][judged & lazy].mean() < 0.2 < log["quality"][judged & ~lazy].mean()
    assert log["flagged"][judged & lazy].mean() > log["flagged"][judged & ~lazy].mean()


@pytest.mark.parametrize("name", NAMES)
def test_continues_with_the_same_bits(name: str) -> None:
    whole = method(name)
    federation, rows = played(whole)
    first = method(name)
    half = federation_of(spec_of(evaluation={"every": 100}), first, samples_of(CLIENTS))
    for round_ in range(5):
        half.round(round_)
    second = method(name)
    second.load_state_dict({key: np.array(value) for key, value in first.state_dict().items()})
    rest = federation_of(spec_of(evaluation={"every": 100}), second, samples_of(CLIENTS))
    rest.state = half.state
    assert [rest.round(round_) for round_ in range(5, ROUNDS)] == rows[5:]
    assert all(torch.equal(rest.state[key], federation.state[key]) for key in federation.state)
    assert all(
        np.array_equal(second.state_dict()[key], value, equal_nan=True) for key, value in whole.state_dict().items()
    )


def test_nobody_bids() -> None:
    m = method("iaofl", arrivals={"share": 1e-9})
    _, rows = played(m)
    assert {row["clients"] for row in rows} == {0}
    assert journal(m)["b"].size == 0


def test_iaofl_screens_by_default_and_the_baselines_never() -> None:
    assert Iaofl.Options().quality.screen == "all"
    for name in NAMES[1:]:
        assert registry.load(registry.find(name)).Options().quality.screen == "off"  # type: ignore[attr-defined]


def test_one_hired_alone_is_compared_with_the_model_before() -> None:
    m = method("iaofl", mechanism={"min_num": 1, "max_num": 1})
    _, rows = played(m)
    log = journal(m)
    hired = ~np.isnan(log["price"])
    assert {row["clients"] for row in rows} <= {0, 1}
    assert not np.isnan(log["loss"][hired]).any()
    assert np.isnan(log["quality"]).all()
    assert len(SIZES) == len(CLIENTS)
