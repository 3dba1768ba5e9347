"""Noise tables: the papers' rules and rates, and what holds of all noise."""

from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedsift.config.model import (
    AnyNoise,
    BadClients,
    ClosedSetNoise,
    DirichletPartition,
    IidPartition,
    NoNoise,
    OpenSetNoise,
    PowerLawPartition,
)
from fedsift.data.noise import noise, write_noise
from fedsift.data.packed import Arrays, write_arrays
from fedsift.data.partition import partition
from fedsift.errors import FedsiftError
from fedsift.files import sha256
from fedsift.specs import NoiseSpec

CIFAR10 = np.random.default_rng(0).permutation(np.repeat(np.arange(10), 5000)).astype(np.int32)
CIFAR10_TEST = np.repeat(np.arange(10), 1000).astype(np.int32)
FOREIGN = np.arange(30_000) % 7


def closed(**options: Any) -> ClosedSetNoise:
    return ClosedSetNoise(kind="closed-set", **options)


def opened(**options: Any) -> OpenSetNoise:
    return OpenSetNoise(kind="open-set", source="other", **options)


def bad(**options: Any) -> BadClients:
    return BadClients(kind="bad-clients", **options)


def cifar10(clients: int) -> tuple[pd.DataFrame, np.ndarray]:
    table = partition(DirichletPartition(scheme="dirichlet"), CIFAR10, CIFAR10_TEST, clients, 10)
    return table, np.concatenate([CIFAR10, CIFAR10_TEST])


def users(seed: int = 10, clients: int = 50) -> tuple[pd.DataFrame, np.ndarray]:
    """A small power-law split: 500 users."""
    labels = np.random.default_rng(1).permutation(np.repeat(np.arange(10), 2500))
    spec = PowerLawPartition(scheme="power-law", users=500)
    return partition(spec, labels[:20_000], labels[20_000:], clients, seed), labels


# CIFAR-10: the first 40 % of the whole set


@pytest.mark.parametrize("clients", [1000, 200, 100, 50])
def test_cifar10_noise_hits_the_first_20000_whoever_holds_them(clients: int) -> None:
    table, rates = noise(closed(), *cifar10(clients), 10, clients, 10)
    assert table["sample"].tolist() == list(range(20_000))
    total = rates[(rates["client"] == -1) & (rates["label"] == -1)].iloc[0]
    assert (total["samples"], total["noisy"], total["requested"], total["achieved"]) == (
        50_000,
        20_000,
        0.4,
        0.4,
    )
    whole = rates[(rates["client"] >= 0) & (rates["label"] == -1)]
    spread = whole["achieved"].std(ddof=0)
    # A client's samples lie anywhere in the data set, so its noisy ones are binomial.
    assert spread == pytest.approx(np.sqrt((0.4 * 0.6 / whole["samples"]).mean()), rel=0.15)
    if clients == 1000:
        assert spread == pytest.approx(0.074, abs=0.004)


def test_paper_rule_doubles_one_class() -> None:
    table, _ = noise(closed(), *cifar10(100), 10, 100, 10)
    clean = CIFAR10[table["sample"]]
    for y in range(10):
        expected = np.full(10, 0.1)
        expected[y], expected[abs(y - 1)] = 0, 0.2
        seen = np.bincount(table["label"][clean == y], minlength=10)
        assert seen[y] == 0
        assert seen / seen.sum() == pytest.approx(expected, abs=0.035)  # about 2,000 samples: four deviations


def test_uniform_rule_treats_all_other_classes_alike() -> None:
    table, _ = noise(closed(rule="uniform"), *cifar10(100), 10, 100, 10)
    away = (table["label"].to_numpy() - CIFAR10[table["sample"]]) % 10
    assert np.bincount(away, minlength=10)[1:] / len(away) == pytest.approx(1 / 9, abs=0.01)
    assert (away > 0).all()


def test_open_set_of_cifar10_takes_the_first_foreign_images_in_order() -> None:
    table, _ = noise(opened(), *cifar10(100), 10, 100, 10, FOREIGN)
    assert table["foreign"].tolist() == list(range(20_000))
    assert (table["label"] == CIFAR10[table["sample"]]).all()


# MNIST: the first 40 % of each user


def test_user_first_takes_the_front_of_every_user_before_merging() -> None:
    part, labels = users()
    table, _ = noise(opened(scope="user-first"), part, labels, 10, 50, 10, FOREIGN)
    train = part[part["part"] == "train"]
    expected = [own["sample"].to_numpy()[: round(0.4 * len(own))] for _, own in train.groupby("user", sort=True)]
    by_image = table.sort_values("foreign")
    assert by_image["sample"].tolist() == np.concatenate(expected).tolist()
    assert by_image["foreign"].tolist() == list(range(len(table)))


def test_noise_of_users_does_not_depend_on_how_they_are_merged() -> None:
    for scope in ("user-first", "user-random", "first", "random"):
        merged, apart = (
            noise(opened(scope=scope), *users(clients=clients), 10, clients, 10, FOREIGN)[0].drop(columns="client")
            for clients in (50, 500)
        )
        pd.testing.assert_frame_equal(merged, apart)


# Bad clients


def test_bad_clients_are_disjoint_and_counted() -> None:
    part, labels = cifar10(100)
    table, rates = noise(bad(free_riders=0.1, mislabelled=0.1), part, labels, 10, 100, 10)
    whole = rates[(rates["client"] >= 0) & (rates["label"] == -1)]
    assert whole["behaviour"].value_counts().to_dict() == {"honest": 80, "free-rider": 10, "mislabelled": 10}
    wrong = whole[whole["behaviour"] == "mislabelled"]
    assert set(table["client"]) == set(wrong["client"])
    assert (wrong["noisy"] == np.rint(0.3 * wrong["samples"])).all()
    assert (wrong["requested"] == 0.3).all()
    others = whole[whole["behaviour"] != "mislabelled"]
    assert (others[["noisy", "requested", "achieved"]] == 0).all(axis=None)
    total = rates.iloc[0]
    assert (total["client"], total["label"], total["behaviour"]) == (-1, -1, "mixed")
    assert total["requested"] == pytest.approx(0.3 * wrong["samples"].sum() / 50_000)
    assert (table["label"] != labels[table["sample"]]).all()
    assert set(table["kind"]) == {"mislabelled"}


def test_more_free_riders_include_the_fewer() -> None:
    part, labels = cifar10(100)
    named = []
    for share in (0.1, 0.3, 0.5, 1.0):
        _, rates = noise(bad(free_riders=share), part, labels, 10, 100, 10)
        named.append(set(rates[(rates["client"] >= 0) & (rates["behaviour"] == "free-rider")]["client"]))
    assert [len(clients) for clients in named] == [10, 30, 50, 100]
    assert all(few <= many for few, many in pairwise(named))


def test_halves_of_an_odd_number_of_clients() -> None:
    y = np.arange(30) % 3
    part = partition(IidPartition(scheme="iid"), y, y[:0], 3, 0)
    _, rates = noise(bad(free_riders=0.5, mislabelled=0.5), part, y, 3, 3, 0)
    assert sorted(rates[(rates["label"] == -1) & (rates["client"] >= 0)]["behaviour"]) == [
        "free-rider", "free-rider", "mislabelled",
    ]  # fmt: skip


# What holds of all noise


@st.composite
def requests(draw: st.DrawFn) -> tuple[AnyNoise, pd.DataFrame, np.ndarray, int, int, int]:
    classes = draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    n, clients = draw(st.integers(20, 120)), draw(st.integers(1, 20))
    labels = np.append([1, 0], rng.integers(0, classes, n - 2))  # not sorted
    n_test = draw(st.integers(0, n - 20))
    part = partition(IidPartition(scheme="iid"), labels[n_test:], labels[:n_test], clients, 3)
    labels = np.concatenate([labels[n_test:], labels[:n_test]])
    labels[:2] = [1, 0]
    rate = draw(st.floats(0.01, 0.99))
    scope = draw(st.sampled_from(["first", "random", "user-first", "user-random"]))
    kind: AnyNoise = draw(
        st.sampled_from(
            [
                closed(rate=rate, scope=scope),
                closed(rate=rate, scope=scope, rule="uniform"),
                opened(rate=rate, scope=scope),
                opened(rate=rate, scope=scope, order="random", exclude_classes=[2, 5]),
                bad(free_riders=rate / 2, mislabelled=rate / 2, mislabel_rate=rate),
                NoNoise(kind="none"),
            ]
        )
    )
    return kind, part, labels, classes, clients, draw(st.integers(0, 2**32 - 1))


@settings(max_examples=100, deadline=None)
@given(requests())
def test_all_noise_keeps_its_rate_and_its_kind(
    request: tuple[AnyNoise, pd.DataFrame, np.ndarray, int, int, int],
) -> None:
    kind, part, labels, classes, clients, seed = request
    table, rates = noise(kind, part, labels, classes, clients, seed, FOREIGN)
    again = noise(kind, part, labels, classes, clients, seed, FOREIGN)
    pd.testing.assert_frame_equal(table, again[0])
    pd.testing.assert_frame_equal(rates, again[1])
    assert table.dtypes.astype(str).to_dict() == {
        "sample": "int32", "client": "int32", "kind": "str", "label": "int32", "foreign": "int32",
    }  # fmt: skip
    assert rates.dtypes.astype(str).to_dict() == {
        "client": "int32", "label": "int32", "behaviour": "str", "samples": "int32", "noisy": "int32",
        "requested": "float64", "achieved": "float64",
    }  # fmt: skip

    owner = part[part["part"] == "train"].set_index("sample")["client"]
    assert table["sample"].is_unique and table["sample"].is_monotonic_increasing
    assert (owner[table["sample"]].to_numpy() == table["client"]).all()
    clean = labels[table["sample"]]
    if isinstance(kind, OpenSetNoise):
        assert (table["label"] == clean).all()
        assert table["foreign"].is_unique
        assert not np.isin(FOREIGN[table["foreign"]], kind.exclude_classes).any()
    else:
        assert (table["label"] != clean).all()
        assert table["label"].between(0, classes - 1).all()
        assert (table["foreign"] == -1).all()

    whole = rates[(rates["client"] >= 0) & (rates["label"] == -1)]
    total = rates[(rates["client"] == -1) & (rates["label"] == -1)].iloc[0]
    assert whole["client"].tolist() == list(range(clients))
    assert whole["samples"].tolist() == owner.value_counts().sort_index().tolist()
    assert total["noisy"] == whole["noisy"].sum() == len(table)
    by_class = rates[(rates["client"] >= 0) & (rates["label"] >= 0)]
    for column in ("samples", "noisy"):
        assert (by_class.groupby("client")[column].sum() == whole.set_index("client")[column]).all()
    assert np.allclose(rates["achieved"], rates["noisy"] / rates["samples"])
    off = (rates["noisy"] - rates["requested"] * rates["samples"]).abs()
    if isinstance(kind, BadClients | NoNoise) or kind.scope.startswith("user"):
        assert (off[whole.index] <= 0.5 + 1e-9).all()
    else:
        assert off.iloc[0] <= 0.5 + 1e-9


@settings(max_examples=40, deadline=None)
@given(requests(), st.integers(0, 1000))
def test_order_of_the_rows_and_a_higher_rate_change_nothing_for_the_rest(
    request: tuple[AnyNoise, pd.DataFrame, np.ndarray, int, int, int], shuffle: int
) -> None:
    kind, part, labels, classes, clients, seed = request
    table, rates = noise(kind, part, labels, classes, clients, seed, FOREIGN)
    if not (isinstance(kind, ClosedSetNoise | OpenSetNoise) and kind.scope == "user-first"):
        shuffled = part.sample(frac=1, random_state=shuffle)
        got = noise(kind, shuffled, labels, classes, clients, seed, FOREIGN)
        pd.testing.assert_frame_equal(got[0], table)
        pd.testing.assert_frame_equal(got[1], rates)
    if isinstance(kind, ClosedSetNoise):
        more, _ = noise(kind.model_copy(update={"rate": 0.995}), part, labels, classes, clients, seed)
        kept = more.set_index("sample")["label"].reindex(table["sample"])
        assert kept.tolist() == table["label"].tolist()


@pytest.mark.parametrize("kind", [closed(rate=0.6, scope="user-first"), bad(mislabelled=1.0, mislabel_rate=0.6)])
def test_clients_with_one_sample(kind: AnyNoise) -> None:
    y = np.arange(12) % 3
    part = partition(IidPartition(scheme="iid"), y, y[:0], 12, 0)
    table, rates = noise(kind, part, y, 3, 12, 0)
    assert len(table) == 12
    assert (rates["achieved"] == 1).all()


def test_no_noise_has_rates_too() -> None:
    part, labels = cifar10(50)
    table, rates = noise(NoNoise(kind="none"), part, labels, 10, 50, 10)
    assert table.empty
    assert (rates[["noisy", "requested", "achieved"]] == 0).all(axis=None)
    assert set(rates["behaviour"]) == {"honest"}


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (opened(), r"12 foreign images are needed and the source has 10; lower `rate`"),
        (
            opened(rate=0.3, exclude_classes=[0]),
            r"9 foreign .* has 5 without the labels in `exclude_classes` \(10 with them\)",
        ),
        (
            bad(free_riders=0.7, mislabelled=0.4),
            r"0\.7 free riders and 0\.4 mislabelled clients are more than all",
        ),
    ],
)
def test_refusals_are_one_sentence(kind: AnyNoise, words: str) -> None:
    y = np.arange(30) % 3
    part = partition(IidPartition(scheme="iid"), y, y[:0], 3, 0)
    with pytest.raises(FedsiftError, match=words) as refusal:
        noise(kind, part, y, 3, 3, 0, np.arange(10) % 2)
    assert str(refusal.value).count(". ") == 0
    assert str(refusal.value).endswith(".")


def test_first_is_refused_where_the_samples_lie_sorted() -> None:
    y = np.repeat(np.arange(3), 10)
    part = partition(IidPartition(scheme="iid"), y, y[:0], 3, 0)
    with pytest.raises(FedsiftError, match=r"sorted by class.*set `scope: random`"):
        noise(closed(), part, y, 3, 3, 0)
    assert len(noise(closed(scope="random"), part, y, 3, 3, 0)[0]) == 12


def test_one_class_another_partition_and_a_missing_source_are_refused() -> None:
    y = np.zeros(30, np.int32)
    part = partition(IidPartition(scheme="iid"), y, y[:0], 3, 0)
    with pytest.raises(FedsiftError, match="at least two classes"):
        noise(closed(), part, y, 1, 3, 0)
    with pytest.raises(FedsiftError, match="the partition has 3 clients, not 4"):
        noise(closed(), part, y, 3, 4, 0)
    with pytest.raises(FedsiftError, match="needs the images of 'other'"):
        noise(opened(), part, y, 3, 3, 0)


# The stage


def test_stage_writes_the_same_bytes_twice(tmp_path: Path) -> None:
    y, y_test = (np.arange(30) % 3).astype(np.int32), (np.arange(6) % 3).astype(np.int32)
    for name in ("set", "other"):
        facts = SimpleNamespace(name=name, max_value=255, classes=3, class_names=["a", "b", "c"], shape=(2, 2, 1))
        images = np.zeros((36, 2, 2, 1), np.uint8)
        write_arrays(Arrays(images[:30], y, images[30:], y_test, 3, 255), facts, tmp_path / name)  # type: ignore[arg-type]
    part = partition(IidPartition(scheme="iid"), y, y_test, 3, 0)
    part.to_parquet(tmp_path / "part", index=False)
    spec = NoiseSpec(
        dataset="set",
        arrays=str(tmp_path / "set"),
        partition=str(tmp_path / "part"),
        clients=3,
        noise=opened(),
        seed=1,
        source_arrays=str(tmp_path / "other"),
        output=str(tmp_path / "out" / "noise"),
        rates=str(tmp_path / "out" / "rates"),
    )
    digests = []
    for _ in range(2):
        write_noise(spec)
        digests.append([sha256(spec.output), sha256(spec.rates)])
    assert digests[0] == digests[1]
    assert list(map(str, pq.read_schema(spec.output).types)) == ["int32", "int32", "string", "int32", "int32"]
    table, rates = noise(spec.noise, part, np.append(y, y_test), 3, 3, 1, y)
    pd.testing.assert_frame_equal(pd.read_parquet(spec.output), table)
    pd.testing.assert_frame_equal(pd.read_parquet(spec.rates), rates)

    with pytest.raises(FedsiftError, match=r"^set, open-set, 3 clients: 27 foreign images are needed"):
        write_noise(spec.model_copy(update={"noise": opened(rate=0.9, exclude_classes=[0])}))
    assert [sha256(spec.output), sha256(spec.rates)] == digests[0]
