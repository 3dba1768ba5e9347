"""Which client holds which sample: the partition table.

A sample's number is its position in the data set's training part followed by its test part.
"""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from fedsift.config.model import (
    AnyPartition,
    DirichletPartition,
    IidPartition,
    PowerLawPartition,
    ShardPartition,
)
from fedsift.data.draws import draws
from fedsift.data.packed import load_arrays
from fedsift.data.schemes.dirichlet import dirichlet
from fedsift.data.schemes.iid import iid
from fedsift.data.schemes.power_law import power_law
from fedsift.data.schemes.shards import shards
from fedsift.errors import FedsiftError
from fedsift.files import atomic
from fedsift.specs import PartitionSpec

SCHEMA = pa.schema([("sample", pa.int32()), ("client", pa.int32()), ("user", pa.int32()), ("part", pa.string())])


def partition(spec: AnyPartition, y_train: np.ndarray, y_test: np.ndarray, clients: int, seed: int) -> pd.DataFrame:
    """The partition table: sample, client and user (int32), part ("train" or "test").

    Args:
        spec: the scheme; its own ``seed`` is not looked at.
        y_train: clean labels [n_train].
        y_test: clean labels [n_test].
        clients: K.
        seed: of every draw, 0 to 2**32 - 1.

    Returns:
        The training rows by client and, inside a client, in the client's own order; then the test rows. A
        user is a client before merging: user i belongs to client i mod K; only ``power-law`` merges. There
        the test rows are what the users hold out; else they are the official test part in its order, client
        and user -1.

    Raises:
        FedsiftError: one sentence on why the samples cannot be shared out like that.
    """
    labels = np.concatenate([y_train, y_test]) if isinstance(spec, PowerLawPartition) else y_train
    kept = _limit(len(labels), spec.samples, seed)
    labels = labels[kept]
    rng = draws(seed, "partition/deal")
    held_out: list[np.ndarray] | None = None
    match spec:
        case IidPartition():
            users = iid(labels, clients, rng)
        case DirichletPartition():
            users = dirichlet(labels, clients, spec.alpha, spec.min_samples, spec.max_draws, seed)
        case ShardPartition():
            users = shards(labels, clients, spec.shards, spec.shard_size, rng, spec.per_client)
        case PowerLawPartition():
            if clients > spec.users:
                raise FedsiftError(
                    f"{spec.users} users cannot be merged into {clients} clients; lower `clients` or raise `users`."
                )
            hands = power_law(labels, spec.users, spec.labels_per_user, spec.first, spec.sigma, rng)
            cuts = [int(spec.train_share * len(hand)) for hand in hands]
            users = [hand[:cut] for hand, cut in zip(hands, cuts, strict=True)]
            held_out = [hand[cut:] for hand, cut in zip(hands, cuts, strict=True)]
    train = _rows(users, kept, clients, "train")
    empty = clients - train["client"].nunique()
    if empty:
        raise FedsiftError(
            f"{empty} of {clients} clients would get none of the {len(train)} training samples; lower `clients`."
        )
    test = _official(len(y_train), len(y_test)) if held_out is None else _rows(held_out, kept, clients, "test")
    return pd.concat([train, test], ignore_index=True)


def write_partition(spec: PartitionSpec) -> None:
    """Stage entry point: write the partition table to ``spec.output``."""
    arrays = load_arrays(spec.arrays, parts=("y_train", "y_test"))
    try:
        table = partition(spec.partition, arrays.y_train, arrays.y_test, spec.clients, spec.seed)
    except FedsiftError as error:
        raise FedsiftError(f"{spec.dataset}, {spec.partition.scheme}, {spec.clients} clients: {error}") from error
    with atomic(spec.output) as temporary:
        pq.write_table(pa.Table.from_pandas(table, SCHEMA, preserve_index=False), temporary)


def _limit(available: int, samples: int | None, seed: int) -> np.ndarray:
    """Positions that may be used, in the data set's order."""
    if samples is None:
        return np.arange(available)
    if samples > available:
        raise FedsiftError(f"`samples` asks for {samples} and there are {available}; lower it or leave it out.")
    return np.sort(draws(seed, "partition/samples").permutation(available)[:samples])


def _rows(users: list[np.ndarray], kept: np.ndarray, clients: int, part: str) -> pd.DataFrame:
    user = np.repeat(np.arange(len(users)), [len(positions) for positions in users])
    by_client = np.argsort(user % clients, kind="stable")
    return _frame(kept[np.concatenate(users)][by_client], (user % clients)[by_client], user[by_client], part)


def _official(n_train: int, n_test: int) -> pd.DataFrame:
    nobody = np.full(n_test, -1)
    return _frame(np.arange(n_train, n_train + n_test), nobody, nobody, "test")


def _frame(sample: np.ndarray, client: np.ndarray, user: np.ndarray, part: str) -> pd.DataFrame:
    frame = pd.DataFrame({"sample": sample, "client": client, "user": user}, dtype=np.int32)
    return frame.assign(part=pd.Series([part] * len(frame), dtype="str"))
