"""Splits: known sizes, and what holds of every split."""

import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fedsift.config.model import (
    AnyPartition,
    DirichletPartition,
    IidPartition,
    PowerLawPartition,
    ShardPartition,
)
from fedsift.data.packed import Arrays, write_arrays
from fedsift.data.partition import partition, write_partition
from fedsift.data.schemes.dirichlet import dirichlet
from fedsift.data.schemes.power_law import power_law
from fedsift.data.schemes.shards import unequal_counts
from fedsift.errors import FedsiftError
from fedsift.files import sha256
from fedsift.specs import PartitionSpec

CIFAR10 = np.random.default_rng(0).permutation(np.repeat(np.arange(10), 5000))
CIFAR10_TEST = np.repeat(np.arange(10), 1000)
MNIST_TRAIN = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
MNIST_TEST = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
DIGITS = [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def mnist() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return rng.permutation(np.repeat(np.arange(10), MNIST_TRAIN)), rng.permutation(np.repeat(np.arange(10), MNIST_TEST))


def sizes(table: pd.DataFrame, by: str = "client", part: str = "train") -> np.ndarray:
    return table[table["part"] == part].groupby(by).size().to_numpy()


# FedML's Dirichlet split


@pytest.mark.parametrize(
    ("clients", "first", "spread", "least", "most"),
    [
        (1000, [116, 52, 31, 52, 36], 16.98, 10, 189),
        (200, [208, 240, 251, 256, 167], 78.66, 63, 544),
        (100, [547, 412, 524, 423, 603], 144.06, 137, 876),
        (50, [1023, 879, 954, 393, 860], 355.2, 236, 2077),
    ],
)
def test_dirichlet_has_the_papers_sizes(clients: int, first: list[int], spread: float, least: int, most: int) -> None:
    got = sizes(partition(DirichletPartition(scheme="dirichlet"), CIFAR10, CIFAR10_TEST, clients, 10))
    assert got[:5].tolist() == first
    assert got.std() == pytest.approx(spread, abs=0.05)
    assert (got.min(), got.max()) == (least, most)


def slow_dirichlet(labels: np.ndarray, clients: int, alpha: float, least: int, seed: int) -> list[list[int]]:
    """The split told with lists, one client at a time."""
    rng = np.random.RandomState(seed)
    while True:
        held: list[list[int]] = [[] for _ in range(clients)]
        for label in sorted(set(labels.tolist())):
            mine = [i for i in range(len(labels)) if labels[i] == label]
            rng.shuffle(mine)
            p = rng.dirichlet([alpha] * clients)
            p = np.array([0.0 if len(own) >= len(labels) / clients else pj for own, pj in zip(held, p, strict=True)])
            p = p / p.sum()
            edges = [0, *(int(edge) for edge in (np.cumsum(p) * len(mine))[:-1]), len(mine)]
            for j, own in enumerate(held):
                own.extend(mine[edges[j] : edges[j + 1]])
        if min(map(len, held)) >= least:
            for own in held:
                rng.shuffle(own)
            return held


@settings(max_examples=25, deadline=None)
@given(
    counts=st.lists(st.integers(5, 40), min_size=1, max_size=5),
    clients=st.integers(1, 8),
    alpha=st.sampled_from([0.3, 0.5, 1.0, 10.0]),
    least=st.integers(1, 3),
    seed=st.integers(0, 2**32 - 1),
)
def test_dirichlet_agrees_with_its_slow_twin(
    counts: list[int], clients: int, alpha: float, least: int, seed: int
) -> None:
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    assume(len(labels) >= 4 * least * clients)
    try:
        fast = dirichlet(labels, clients, alpha, least, 200, seed)
    except FedsiftError:
        assume(False)
    assert [own.tolist() for own in fast] == slow_dirichlet(labels, clients, alpha, least, seed)


@pytest.mark.parametrize(
    ("alpha", "clients", "words"),
    [
        (0.05, 1000, r"alpha 0\.05 leaves .* of 1000 clients .*; raise `alpha`, or lower"),
        (1e-4, 20, r"alpha 0\.0001 leaves"),
        (
            0.5,
            5001,
            r"5001 clients with 10 samples each need 50010 training samples and there are 50000; lower",
        ),
    ],
)
def test_dirichlet_ends_where_no_draw_fits(alpha: float, clients: int, words: str) -> None:
    begin = time.perf_counter()
    with pytest.raises(FedsiftError, match=words):
        partition(
            DirichletPartition(scheme="dirichlet", alpha=alpha, max_draws=2000),
            CIFAR10,
            CIFAR10_TEST,
            clients,
            10,
        )
    assert time.perf_counter() - begin < 20


def test_dirichlet_odds_are_judged_only_where_they_are_hopeless() -> None:
    spec = DirichletPartition(scheme="dirichlet", alpha=0.15, max_draws=5000)
    with pytest.raises(FedsiftError, match="none of 100 draws fits"):
        partition(spec, CIFAR10, CIFAR10_TEST, 1000, 10)
    # On average three of 100 clients are short here, and yet a draw fits in the end.
    spec = DirichletPartition(scheme="dirichlet", alpha=0.08)
    assert sizes(partition(spec, CIFAR10, CIFAR10_TEST, 100, 10)).min() >= 10


# Users of few labels, merged


@pytest.mark.parametrize("seed", [0, 1, 10])
def test_power_law_has_the_known_sizes_of_mnist(seed: int) -> None:
    table = partition(PowerLawPartition(scheme="power-law"), *mnist(), 1000, seed)
    train, test = sizes(table), sizes(table, part="test")
    assert len(train) == len(test) == 1000
    assert 61_600 <= train.sum() <= 61_720
    assert 7_350 <= test.sum() <= 7_410
    assert 110 <= train.std() <= 220
    assert (train.min(), test.min()) == (9, 1)


@pytest.mark.parametrize(("clients", "mean"), [(200, 308), (100, 617), (50, 1233)])
def test_power_law_clients_keep_two_labels(clients: int, mean: int) -> None:
    y_train, y_test = mnist()
    spec = PowerLawPartition(scheme="power-law")
    table = partition(spec, y_train, y_test, clients, 10)
    labels = np.concatenate([y_train, y_test])[table["sample"]]
    assert (pd.Series(labels).groupby(table["client"]).nunique() == 2).all()
    assert (table["client"] == table["user"] % clients).all()
    assert sizes(table).mean() == pytest.approx(mean, abs=1)
    unmerged = partition(spec, y_train, y_test, 1000, 10)
    for user in (0, clients, 999):
        mine = table[table["user"] == user]["sample"].tolist()
        assert mine == unmerged[unmerged["user"] == user]["sample"].tolist()


def test_power_law_users_own_consecutive_labels_and_hold_out_a_tenth() -> None:
    y_train, y_test = mnist()
    table = partition(PowerLawPartition(scheme="power-law"), y_train, y_test, 1000, 10)
    labels = np.concatenate([y_train, y_test])
    for user, rows in table.groupby("user"):
        assert set(labels[rows["sample"]]) == {user % 10, (user + 1) % 10}
        assert (rows["part"] == "train").sum() == int(0.9 * len(rows))


def test_power_law_agrees_with_its_slow_twin_before_the_shuffle() -> None:
    labels = np.random.default_rng(2).permutation(np.repeat(np.arange(10), DIGITS))
    users, first = 20, 3
    got = power_law(labels, users, 2, first, 2.0, np.random.default_rng(7))
    weights = np.random.default_rng(7).lognormal(0.0, 2.0, (users, 2))
    owners = [[(u, j) for u in range(users) for j in range(2) if (u + j) % 10 == label] for label in range(10)]
    stock = {label: np.flatnonzero(labels == label).tolist() for label in range(10)}
    hands: list[list[int]] = [[] for _ in range(users)]
    for u in range(users):
        for j in range(2):
            hands[u] += [stock[(u + j) % 10].pop(0) for _ in range(first)]
    left = {label: len(own) for label, own in stock.items()}
    for u in range(users):
        for j in range(2):
            label = (u + j) % 10
            extra = int(left[label] * weights[u, j] / sum(weights[owner] for owner in owners[label]))
            hands[u] += [stock[label].pop(0) for _ in range(extra)]
    assert [sorted(hand) for hand in hands] == [sorted(own.tolist()) for own in got]
    assert all(hand != own.tolist() for hand, own in zip(hands, got, strict=True))


def test_power_law_works_for_a_small_set() -> None:
    y = np.random.default_rng(0).permutation(np.repeat(np.arange(10), DIGITS))
    table = partition(PowerLawPartition(scheme="power-law", users=50), y[:1437], y[1437:], 10, 10)
    assert sizes(table).min() > 0
    assert len(table) > 1700


# Shards


def test_shards_of_mnist_straddle_as_computed() -> None:
    in_order = np.repeat(np.arange(10), MNIST_TRAIN).reshape(200, 300)
    straddling = {number: Counter(shard.tolist()) for number, shard in enumerate(in_order) if len(set(shard)) > 1}
    assert list(straddling) == [19, 42, 62, 82, 101, 120, 139, 160, 180]
    y_train, y_test = mnist()
    table = partition(ShardPartition(scheme="shards"), y_train, y_test, 100, 10)
    train = table[table["part"] == "train"]
    dealt = y_train[train["sample"]].reshape(200, 300)
    found = sorted(sorted(Counter(shard.tolist()).items()) for shard in dealt if len(set(shard)) > 1)
    assert found == sorted(sorted(counts.items()) for counts in straddling.values())
    assert [sorted(count for _, count in counts) for counts in found] == [
        sorted(pair)
        for pair in [
            (223, 77), (65, 235), (23, 277), (154, 146), (296, 4),
            (17, 283), (235, 65), (200, 100), (51, 249),
        ]
    ]  # fmt: skip
    assert (sizes(table) == 600).all()


def test_shards_give_the_known_label_counts() -> None:
    y_train = np.repeat(np.arange(10), MNIST_TRAIN)
    held = []
    for seed in range(60):
        table = partition(ShardPartition(scheme="shards"), y_train, np.zeros(0, np.int32), 100, seed)
        held += [len(set(own)) for own in y_train[table["sample"]].reshape(100, 600)]
    share = np.bincount(held, minlength=5) / len(held)
    assert share[1:4] == pytest.approx([0.088, 0.842, 0.069], abs=0.015)


def test_unequal_numbers_of_shards() -> None:
    y_train, y_test = mnist()
    table = partition(ShardPartition(scheme="shards", per_client=[1, 5]), y_train, y_test, 100, 10)
    counts = sizes(table) // 300
    assert (sizes(table) % 300 == 0).all()
    assert counts.sum() == 200
    assert (counts.min(), counts.max()) == (1, 5)
    assert len(set(counts)) == 5


@given(st.integers(1, 12), st.integers(1, 4), st.integers(0, 6), st.floats(0, 1), st.integers(0, 1000))
def test_unequal_counts(clients: int, least: int, extra: int, where: float, seed: int) -> None:
    count = clients * least + round(where * clients * extra)
    counts = unequal_counts(clients, count, least, least + extra, np.random.default_rng(seed))
    assert counts.sum() == count
    assert counts.min() >= least
    assert counts.max() <= least + extra


# What holds of every split


@st.composite
def requests(draw: st.DrawFn) -> tuple[AnyPartition, np.ndarray, np.ndarray, int, int]:
    classes = draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    per_class = draw(st.integers(24, 48))
    y = rng.permutation(np.repeat(np.arange(classes), per_class)).astype(np.int32)
    n_test = draw(st.integers(0, 10))
    y_train, y_test = y[: len(y) - n_test], y[len(y) - n_test :]
    clients = draw(st.integers(1, 6))
    samples = draw(st.one_of(st.none(), st.integers(40, len(y_train)))) if len(y_train) >= 40 else None
    seed = draw(st.integers(0, 2**32 - 1))
    scheme = draw(st.sampled_from(["iid", "dirichlet", "power-law", "shards"]))
    spec: AnyPartition
    if scheme == "iid":
        spec = IidPartition(scheme="iid", samples=samples)
    elif scheme == "dirichlet":
        spec = DirichletPartition(scheme="dirichlet", samples=samples, alpha=1.0, min_samples=1)
    elif scheme == "power-law":
        # A fifth of 40 and more drawn samples is in no class fewer than the one user that owns it gets first.
        spec = PowerLawPartition(scheme="power-law", users=max(clients, classes), first=2)
    else:
        size = draw(st.integers(1, len(y_train) // (2 * clients)))
        spec = ShardPartition(scheme="shards", shards=2 * clients, shard_size=size, samples=2 * clients * size)
    return spec, y_train, y_test, clients, seed


@settings(max_examples=80, deadline=None)
@given(requests())
def test_every_split_is_disjoint_complete_ordered_and_deterministic(
    request: tuple[AnyPartition, np.ndarray, np.ndarray, int, int],
) -> None:
    spec, y_train, y_test, clients, seed = request
    table = partition(spec, y_train, y_test, clients, seed)
    pd.testing.assert_frame_equal(table, partition(spec, y_train, y_test, clients, seed))
    assert table.dtypes.astype(str).to_dict() == {
        "sample": "int32",
        "client": "int32",
        "user": "int32",
        "part": "str",
    }
    assert table["sample"].is_unique
    train, test = table[table["part"] == "train"], table[table["part"] == "test"]
    assert table["part"].tolist() == ["train"] * len(train) + ["test"] * len(test)
    assert train["client"].is_monotonic_increasing
    assert set(train["client"]) == set(range(clients))
    if isinstance(spec, PowerLawPartition):
        assert table["sample"].between(0, len(y_train) + len(y_test) - 1).all()
        assert (table["user"] % clients == table["client"]).all()
        assert test["client"].is_monotonic_increasing
    else:
        assert len(train) == (spec.samples or len(y_train))
        assert train["sample"].max() < len(y_train)
        assert (train["user"] == train["client"]).all()
        assert test["sample"].tolist() == list(range(len(y_train), len(y_train) + len(y_test)))
        assert (test[["client", "user"]] == -1).all(axis=None)
    if isinstance(spec, IidPartition):
        assert np.ptp(sizes(table)) <= 1


@pytest.mark.parametrize(
    "spec",
    [
        IidPartition(scheme="iid"),
        DirichletPartition(scheme="dirichlet"),
        ShardPartition(scheme="shards", shards=9, shard_size=100),
    ],
)
def test_one_client_holds_everything(spec: AnyPartition) -> None:
    y = np.repeat(np.arange(3), 300)
    table = partition(spec, y, y[:5], 1, 0)
    assert sorted(table[table["part"] == "train"]["sample"]) == list(range(900))


def test_samples_are_the_same_whatever_the_clients() -> None:
    y = np.repeat(np.arange(3), 300)
    spec = IidPartition(scheme="iid", samples=100)
    few, many = (set(partition(spec, y, y[:0], clients, 3)["sample"]) for clients in (2, 50))
    assert few == many


def test_seeds_differ_and_the_global_generator_is_left_alone() -> None:
    y = np.repeat(np.arange(3), 300)
    before = np.random.get_state()[1].copy()  # type: ignore[union-attr]
    for spec in (IidPartition(scheme="iid"), DirichletPartition(scheme="dirichlet")):
        one, two = (partition(spec, y, y[:0], 5, seed)["sample"].tolist() for seed in (1, 2))
        assert one != two
    assert (np.random.get_state()[1] == before).all()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("spec", "clients", "words"),
    [
        (
            IidPartition(scheme="iid"),
            301,
            "1 of 301 clients would get none of the 300 training samples; lower `clients`",
        ),
        (IidPartition(scheme="iid", samples=301), 3, "`samples` asks for 301 and there are 300; lower it"),
        (
            ShardPartition(scheme="shards", shards=10, shard_size=30),
            3,
            "make `shards` a multiple of `clients`",
        ),
        (
            ShardPartition(scheme="shards", shards=10, shard_size=31),
            5,
            "need 310 training samples and there are 300; lower",
        ),
        (
            ShardPartition(scheme="shards", shards=10, shard_size=30, per_client=[3, 4]),
            5,
            "10 shards cannot be dealt to 5 clients with 3 to 4 each; change `per_client`",
        ),
        (ShardPartition(scheme="shards", shards=10, shard_size=29), 5, "leave 10 of 300 .* `samples: 290`"),
        (
            PowerLawPartition(scheme="power-law", users=4),
            5,
            "4 users cannot be merged into 5 clients; lower `clients`",
        ),
        (
            PowerLawPartition(scheme="power-law", users=90),
            5,
            "take 300 of label 0 and there are 103; lower `users`",
        ),
        (
            PowerLawPartition(scheme="power-law", users=3, labels_per_user=4),
            3,
            "cannot own 4 labels of 3; lower",
        ),
    ],
)
def test_refusals_are_one_sentence(spec: AnyPartition, clients: int, words: str) -> None:
    y = np.repeat(np.arange(3), 100)
    with pytest.raises(FedsiftError, match=words) as refusal:
        partition(spec, y, np.repeat(np.arange(3), 3), clients, 0)
    assert str(refusal.value).count(". ") == 0
    assert str(refusal.value).endswith(".")


# The stage


def test_stage_writes_the_same_bytes_twice(tmp_path: Path) -> None:
    arrays = tmp_path / "set.safetensors"
    write_toy(arrays)
    digests = []
    for name in ("one", "two"):
        output = tmp_path / name / 'it\'s a "split".parquet'
        write_partition(
            PartitionSpec(
                dataset="toy",
                arrays=str(arrays),
                clients=3,
                partition=IidPartition(scheme="iid"),
                seed=4,
                output=str(output),
            )
        )
        digests.append(sha256(output))
    assert digests[0] == digests[1]
    schema = pq.read_schema(output)
    assert dict(zip(schema.names, map(str, schema.types), strict=True)) == {
        "sample": "int32", "client": "int32", "user": "int32", "part": "string",
    }  # fmt: skip
    y_train, y_test = np.arange(30) % 3, np.arange(6) % 3
    expected = partition(IidPartition(scheme="iid"), y_train, y_test, 3, 4)
    pd.testing.assert_frame_equal(pd.read_parquet(output), expected)


def test_stage_refusal_names_the_set_and_leaves_nothing(tmp_path: Path) -> None:
    write_toy(tmp_path / "set.safetensors")
    spec = PartitionSpec(
        dataset="toy",
        arrays=str(tmp_path / "set.safetensors"),
        clients=31,
        partition=IidPartition(scheme="iid"),
        seed=4,
        output=str(tmp_path / "out" / "split.parquet"),
    )
    with pytest.raises(FedsiftError, match=r"^toy, iid, 31 clients: 1 of 31 clients would get none"):
        write_partition(spec)
    assert not (tmp_path / "out").exists()


def write_toy(path: Path) -> None:
    """A set of three classes: 30 and 6 images of 2 x 2 pixels."""
    toy = SimpleNamespace(name="toy", max_value=255, classes=3, class_names=["a", "b", "c"], shape=(2, 2, 1))
    images = np.zeros((36, 2, 2, 1), np.uint8)
    y = np.concatenate([np.arange(30) % 3, np.arange(6) % 3]).astype(np.int32)
    write_arrays(Arrays(images[:30], y[:30], images[30:], y[30:], 3, 255), toy, path)  # type: ignore[arg-type]
