"""Poisoned labels: exact pairs, the rate of each class, the rates table."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from fedsift.config.model import ClosedSetNoise, DirichletPartition, IidPartition, PowerLawPartition, TargetedNoise
from fedsift.data.clients import assemble
from fedsift.data.noise import noise
from fedsift.data.packed import Arrays
from fedsift.data.partition import partition
from fedsift.errors import FedsiftError
from fedsift.specs import NoiseSpec

Y = np.random.default_rng(0).permutation(np.repeat(np.arange(10), 500)).astype(np.int32)


def targeted(**options: Any) -> TargetedNoise:
    return TargetedNoise(kind="targeted", **({"pairs": [[7, 1], [4, 9]]} | options))


def split(clients: int = 20, y: np.ndarray = Y) -> pd.DataFrame:
    return partition(DirichletPartition(scheme="dirichlet"), y, y[:0], clients, 10)


def iid(y: np.ndarray, clients: int = 3) -> pd.DataFrame:
    return partition(IidPartition(scheme="iid"), y, y[:0], clients, 0)


def test_a_share_of_each_old_label_gets_exactly_the_new_one() -> None:
    table, rates = noise(targeted(rate=0.3, scope="random"), split(), Y, 10, 20, 10)
    assert set(table["kind"]) == {"targeted"}
    assert set(zip(Y[table["sample"]].tolist(), table["label"].tolist(), strict=True)) == {(7, 1), (4, 9)}
    assert np.bincount(Y[table["sample"]], minlength=10).tolist() == [0, 0, 0, 0, 150, 0, 0, 150, 0, 0]
    assert (table["foreign"] == -1).all()
    total = rates[(rates["client"] == -1) & (rates["label"] == -1)].iloc[0]
    assert (total["samples"], total["noisy"], total["achieved"]) == (5000, 300, 0.06)
    assert total["requested"] == pytest.approx(0.06)
    by_class = rates[(rates["client"] == -1) & (rates["label"] >= 0)].set_index("label")
    assert by_class["requested"].to_dict() == {label: 0.3 if label in (4, 7) else 0.0 for label in range(10)}
    assert (by_class["requested"] == by_class["achieved"]).all()


def test_first_takes_the_first_of_each_class_even_in_a_sorted_set() -> None:
    y = np.sort(Y)
    table, _ = noise(targeted(rate=0.1, scope="first"), split(y=y), y, 10, 20, 10)
    assert table["sample"].tolist() == [*range(2000, 2050), *range(3500, 3550)]
    with pytest.raises(FedsiftError, match="sorted by class"):
        noise(ClosedSetNoise(kind="closed-set"), split(y=y), y, 10, 20, 10)


def test_rate_1_hits_the_whole_class_and_leaves_none() -> None:
    table, _ = noise(targeted(rate=1, pairs=[[7, 1]]), split(), Y, 10, 20, 10)
    assert table["sample"].tolist() == np.flatnonzero(Y == 7).tolist()


def test_pairs_do_not_chain() -> None:
    """3 -> 5 and 5 -> 3 swap; what has become a 5 stays one."""
    table, _ = noise(targeted(rate=1, pairs=[[3, 5], [5, 3]]), split(), Y, 10, 20, 10)
    assert (table["label"] == np.where(Y[table["sample"]] == 3, 5, 3)).all()
    assert len(table) == 1000


def test_two_classes_may_become_one() -> None:
    table, _ = noise(targeted(pairs=[[3, 5], [4, 5]]), split(), Y, 10, 20, 10)
    assert set(table["label"]) == {5}


@pytest.mark.parametrize("scope", ["user-first", "user-random"])
def test_scopes_of_users_hold_the_rate_in_each(scope: str) -> None:
    labels = np.random.default_rng(1).permutation(np.repeat(np.arange(10), 500))
    part = partition(PowerLawPartition(scheme="power-law", users=50), labels[:4000], labels[4000:], 10, 10)
    table, _ = noise(targeted(scope=scope), part, labels, 10, 10, 10)
    train = part[part["part"] == "train"]
    hit = train["sample"].isin(table["sample"])
    for (_, label), own in train.groupby(["user", labels[train["sample"]]]):
        expected = np.rint(0.4 * len(own)) if label in (4, 7) else 0
        assert hit[own.index].sum() == expected
        if scope == "user-first":
            assert hit[own.index].tolist() == [True] * int(expected) + [False] * (len(own) - int(expected))


def test_what_the_clients_see() -> None:
    """The noise table goes through the same door as every other kind."""
    table, rates = noise(targeted(), split(), Y, 10, 20, 10)
    arrays = Arrays(np.zeros((5000, 2, 2, 1), np.uint8), Y, np.zeros((1, 2, 2, 1), np.uint8), Y[:1], 10, 255)
    federation, truth = assemble(arrays, split(), table, rates, 20)
    changed = federation.y != truth.y
    np.testing.assert_array_equal(changed, truth.noisy)
    assert set(zip(truth.y[changed].tolist(), federation.y[changed].tolist(), strict=True)) == {(7, 1), (4, 9)}


@st.composite
def requests(draw: st.DrawFn) -> tuple[TargetedNoise, np.ndarray, int, int, int]:
    classes, clients = draw(st.integers(2, 5)), draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    labels = np.concatenate([np.arange(classes), rng.integers(0, classes, draw(st.integers(20, 120)))])
    olds = draw(st.lists(st.integers(0, classes - 1), min_size=1, max_size=classes, unique=True))
    pairs = [[old, (old + draw(st.integers(1, classes - 1))) % classes] for old in olds]
    scope = draw(st.sampled_from(["first", "random", "user-first", "user-random"]))
    kind = targeted(pairs=pairs, rate=draw(st.floats(0.01, 1)), scope=scope)
    return kind, labels, classes, clients, draw(st.integers(0, 2**32 - 1))


@settings(max_examples=30, deadline=None)
@given(requests())
def test_all_targeted_noise(request: tuple[TargetedNoise, np.ndarray, int, int, int]) -> None:
    kind, labels, classes, clients, seed = request
    part = iid(labels, clients)
    train = part[part["part"] == "train"]
    group = "user" if kind.scope.startswith("user") else "part"
    sizes = train.groupby([group, labels[train["sample"]]]).size()
    expected = {old: int(np.rint(kind.rate * sizes.xs(old, level=1)).sum()) for old, _ in kind.pairs}
    if 0 in expected.values():
        with pytest.raises(FedsiftError, match=r"^none of the \d+ training samples of label \d would be hit; raise"):
            noise(kind, part, labels, classes, clients, seed)
        return
    table, rates = noise(kind, part, labels, classes, clients, seed)
    pd.testing.assert_frame_equal(noise(kind, part, labels, classes, clients, seed)[0], table)
    clean = labels[table["sample"]]
    assert table["sample"].is_unique and table["sample"].is_monotonic_increasing
    assert table["label"].tolist() == [dict(kind.pairs)[old] for old in clean.tolist()]
    assert {old: int((clean == old).sum()) for old in expected} == expected
    owner = train.set_index("sample")["client"]
    assert (owner[table["sample"]].to_numpy() == table["client"]).all()
    one = rates[(rates["client"] >= 0) & (rates["label"] >= 0)]
    assert one["requested"].tolist() == [kind.rate if label in expected else 0.0 for label in one["label"]]
    assert (one.loc[~one["label"].isin(expected), "noisy"] == 0).all()
    whole = rates[(rates["client"] >= 0) & (rates["label"] == -1)]
    held = one.groupby("client")[["samples", "noisy"]].sum()
    assert (held == whole.set_index("client")[["samples", "noisy"]]).all(axis=None)
    asked = (one["requested"] * one["samples"]).groupby(one["client"]).sum() / held["samples"]
    assert whole["requested"].to_numpy() == pytest.approx(asked.to_numpy())
    assert np.allclose(rates["achieved"], rates["noisy"] / rates["samples"])
    assert rates.iloc[0]["noisy"] == len(table)


@settings(max_examples=12, deadline=None)
@given(requests(), st.integers(0, 100))
def test_pairs_do_not_depend_on_each_other_and_a_higher_rate_only_adds(
    request: tuple[TargetedNoise, np.ndarray, int, int, int], shuffle: int
) -> None:
    kind, labels, classes, clients, seed = request
    kind = kind.model_copy(update={"rate": max(kind.rate, 0.7), "scope": "random"})
    part = iid(labels, clients)
    table, _ = noise(kind, part, labels, classes, clients, seed)
    more, _ = noise(kind.model_copy(update={"rate": 1.0}), part, labels, classes, clients, seed)
    assert set(table["sample"]) <= set(more["sample"])
    shuffled, _ = noise(kind, part.sample(frac=1, random_state=shuffle), labels, classes, clients, seed)
    pd.testing.assert_frame_equal(shuffled, table)
    apart = [
        noise(kind.model_copy(update={"pairs": [pair]}), part, labels, classes, clients, seed)[0] for pair in kind.pairs
    ]
    pd.testing.assert_frame_equal(pd.concat(apart).sort_values("sample", ignore_index=True), table)


@pytest.mark.parametrize(
    ("kind", "y"),
    [
        (targeted(pairs=[[7, 1]]), Y[Y != 7]),  # the class is not there
        (targeted(pairs=[[0, 1]], rate=0.01), np.arange(30) % 3),
        (targeted(pairs=[[0, 1]], scope="user-random"), np.array([0, 1, 1, 1, 1, 1, 1, 1, 1])),
    ],
)
def test_a_pair_that_would_hit_nothing_is_refused(kind: TargetedNoise, y: np.ndarray) -> None:
    with pytest.raises(FedsiftError, match="training samples of label . would be hit") as refusal:
        noise(kind, iid(y), y, 10, 3, 0)
    assert str(refusal.value).endswith(".")


@pytest.mark.parametrize(
    "wrong", [{"pairs": []}, {"pairs": [[7]]}, {"pairs": [[7, 1, 2]]}, {"pairs": [[7, -1]]}, {"rate": 0}, {"rate": 1.1}]
)
def test_impossible_keys(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        targeted(**wrong)


def test_a_specification_survives_its_file(tmp_path: Any) -> None:
    spec = NoiseSpec(
        dataset="d", arrays="a", partition="p", clients=3, noise=targeted(), seed=1, source_arrays=None, output="o",
        rates="r",
    )  # fmt: skip
    (tmp_path / "spec.json").write_text(spec.text())
    assert NoiseSpec.read(tmp_path / "spec.json") == spec
