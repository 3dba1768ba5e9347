"""The clients' samples as training gets them, against a slow twin; tables that do not fit are refused."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedsift.config.model import (
    AnyNoise,
    BadClients,
    ClosedSetNoise,
    IidPartition,
    NoNoise,
    OpenSetNoise,
    PowerLawPartition,
)
from fedsift.data.clients import Federation, Truth, assemble, load_federation
from fedsift.data.images import fit
from fedsift.data.noise import noise
from fedsift.data.packed import Arrays, write_arrays
from fedsift.data.partition import partition
from fedsift.errors import FedsiftError
from fedsift.specs import TrainSpec

NOISES: dict[str, AnyNoise] = {
    "none": NoNoise(kind="none"),
    "closed": ClosedSetNoise(kind="closed-set", scope="random"),
    "open": OpenSetNoise(kind="open-set", source="other", scope="user-random", order="random"),
    "bad": BadClients(kind="bad-clients", free_riders=0.3, mislabelled=0.3),
}


def images(n: int, shape: tuple[int, int, int], highest: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, highest + 1, (n, *shape), dtype=np.uint8)


def dataset(n: int, n_test: int, shape: tuple[int, int, int] = (4, 4, 1), highest: int = 16, seed: int = 0) -> Arrays:
    y = np.random.default_rng(seed + 1).permutation(np.arange(n + n_test) % 3).astype(np.int32)
    x = images(n + n_test, shape, highest, seed)
    return Arrays(x[:n], y[:n], x[n:], y[n:], 3, highest)


FOREIGN = dataset(200, 0, (8, 8, 3), 255, 9)


def tables(arrays: Arrays, kind: str, clients: int, scheme: str = "iid", seed: int = 1) -> tuple[Any, Any, Any]:
    spec = (
        IidPartition(scheme="iid")
        if scheme == "iid"
        else PowerLawPartition(scheme="power-law", users=3 * clients, first=2, train_share=0.6)
    )
    part = partition(spec, arrays.y_train, arrays.y_test, clients, seed)
    labels = np.concatenate([arrays.y_train, arrays.y_test])
    return part, *noise(NOISES[kind], part, labels, 3, clients, seed, FOREIGN.y_train)


def made(arrays: Arrays, part: Any, table: Any, rates: Any, clients: int) -> tuple[Federation, Truth]:
    return assemble(arrays, part, table, rates, clients, FOREIGN)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(list(NOISES)),
    st.sampled_from(["iid", "power-law"]),
    st.integers(1, 7),
    st.integers(0, 1000),
)
def test_agrees_with_its_slow_twin(kind: str, scheme: str, clients: int, seed: int) -> None:
    arrays = dataset(120, 30, seed=seed)
    part, table, rates = tables(arrays, kind, clients, scheme, seed)
    federation, truth = made(arrays, part, table, rates, clients)
    x, y = np.concatenate([arrays.x_train, arrays.x_test]), np.concatenate([arrays.y_train, arrays.y_test])
    noisy = table.set_index("sample")

    assert federation.clients == clients
    for client in range(clients):
        rows = federation.rows(client)
        own = part[(part["part"] == "train") & (part["client"] == client)]["sample"].tolist()
        assert federation.sample[rows].tolist() == own
        for at, sample in zip(range(rows.start, rows.stop), own, strict=True):
            image, label = x[sample], y[sample]
            if sample in noisy.index:
                label = noisy.loc[sample, "label"]
                number = noisy.loc[sample, "foreign"]
                if number >= 0:
                    image = fit(FOREIGN.x_train[number : number + 1], (4, 4, 1), 255, 16)[0]
            assert (federation.x[at] == image).all()
            assert federation.y[at] == label
            assert truth.y[at] == y[sample]
            assert truth.noisy[at] == (sample in noisy.index)
        expected = rates[(rates["client"] == client) & (rates["label"] == -1)]["behaviour"].item()
        assert federation.behaviour[client] == expected
    held_out = part[part["part"] == "test"]["sample"]
    assert (federation.x_test == x[held_out]).all()
    assert (federation.y_test == y[held_out]).all()
    assert federation.offsets[-1] == len(federation.x) == len(truth.y)


def test_types_and_ranges() -> None:
    arrays = dataset(60, 9)
    federation, truth = made(arrays, *tables(arrays, "open", 4), 4)
    assert (federation.x.dtype, federation.x_test.dtype) == (np.uint8, np.uint8)
    assert {a.dtype for a in (federation.y, federation.offsets, federation.y_test, truth.y)} == {np.dtype(np.int64)}
    assert (federation.sample.dtype, truth.noisy.dtype) == (np.int32, np.bool_)
    assert federation.max_value == 16 >= federation.x.max()
    assert truth.noisy.sum() == 24


def test_rows_of_the_partition_may_come_by_client_in_any_order() -> None:
    arrays = dataset(60, 9)
    part, table, rates = tables(arrays, "closed", 4)
    turned = pd.concat([part[part["client"] == client] for client in (2, -1, 0, 3, 1)])
    one, two = (made(arrays, rows, table, rates, 4)[0] for rows in (part, turned))
    assert (one.x == two.x).all() and (one.y == two.y).all() and (one.sample == two.sample).all()


def test_the_data_set_stays_as_it_is() -> None:
    arrays = dataset(60, 9)
    for values in (arrays.x_train, arrays.y_train, arrays.x_test, arrays.y_test):
        values.flags.writeable = False
    made(arrays, *tables(arrays, "open", 4), 4)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("twice", "the partition gives sample 5 away twice"),
        ("two clients", "the partition gives sample"),
        ("beyond", "the partition names samples that the data set of 69 does not have"),
        ("clients", "the partition is not one among 4 clients"),
        ("noise", "the noise table was made for another partition"),
        ("test noise", "the noise table was made for another partition"),
        ("beyond noise", "the noise table was made for another partition"),
        ("foreign", "the noise table names images that the foreign set does not have"),
        ("rates", "the rates table is not one of 4 clients"),
    ],
)
def test_tables_that_do_not_fit_are_refused(damage: str, words: str) -> None:
    arrays = dataset(60, 9)
    part, table, rates = tables(arrays, "open", 4)
    match damage:
        case "twice":
            part = pd.concat([part, part[part["sample"] == 5]])
        case "two clients":
            row = part.index[part["client"] == 1][0]
            part.loc[row, "sample"] = part[part["client"] == 2]["sample"].iloc[0]
        case "beyond":
            part.loc[0, "sample"] = 69
        case "clients":
            part = part[part["client"] != 3]
        case "noise":
            table["client"] = (table["client"] + 1) % 4
        case "test noise":
            table.loc[0, "sample"] = 65
        case "beyond noise":
            table.loc[len(table) - 1, "sample"] = 69
        case "foreign":
            table.loc[0, "foreign"] = 200
        case "rates":
            rates = rates[rates["client"] != 2]
    with pytest.raises(FedsiftError, match=words) as refusal:
        made(arrays, part, table, rates, 4)
    assert str(refusal.value).count(". ") == 0


def test_reads_what_a_training_specification_names(tmp_path: Path) -> None:
    arrays = dataset(60, 9)
    part, table, rates = tables(arrays, "open", 4)
    for name, held in (("set", arrays), ("other", FOREIGN)):
        facts = SimpleNamespace(
            name=name,
            max_value=held.max_value,
            classes=3,
            class_names=list("abc"),
            shape=held.x_train.shape[1:],
        )
        write_arrays(held, facts, tmp_path / name)  # type: ignore[arg-type]
    for name, frame in (("partition", part), ("noise", table), ("rates", rates)):
        frame.to_parquet(tmp_path / name, index=False)
    names = ("partition", "noise", "rates")
    spec = TrainSpec.model_construct(
        arrays=str(tmp_path / "set"),
        source_arrays=str(tmp_path / "other"),
        clients=4,
        **{name: str(tmp_path / name) for name in names},
    )
    read, read_truth = load_federation(spec)
    expected, truth = made(arrays, part, table, rates, 4)
    for name in ("x", "y", "offsets", "sample", "x_test", "y_test"):
        np.testing.assert_array_equal(getattr(read, name), getattr(expected, name))
    assert (read.behaviour, read.max_value, read.classes) == (expected.behaviour, 16, 3)
    np.testing.assert_array_equal(read_truth.y, truth.y)
    np.testing.assert_array_equal(read_truth.noisy, truth.noisy)

    (tmp_path / "noise").write_bytes(b"PAR1 cut off")
    with pytest.raises(FedsiftError, match=r"noise cannot be read .*; run the step"):
        load_federation(spec)
