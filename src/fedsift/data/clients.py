"""What the clients hold when training begins: the data set, dealt out and with its noise in place."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fedsift.data.images import fit
from fedsift.data.packed import Arrays, load_arrays
from fedsift.errors import FedsiftError
from fedsift.specs import TrainSpec

AGAIN = "delete the partition and noise tables and run those steps again."


@dataclass(frozen=True, eq=False)
class Federation:
    """Training samples of all clients, client after client, as the clients see them; and the test set.

    Client k owns the rows ``offsets[k]`` to ``offsets[k + 1] - 1``, in the partition's order.
    """

    x: NDArray[np.uint8]
    """Images [N, H, W, C], foreign ones fitted in."""
    y: NDArray[np.int64]
    """Labels [N], wrong ones included."""
    offsets: NDArray[np.int64]
    """[K + 1]"""
    sample: NDArray[np.int32]
    """Numbers [N] in the data set."""
    behaviour: tuple[str, ...]
    """"honest", "free-rider" or "mislabelled", per client."""
    x_test: NDArray[np.uint8]
    """[M, H, W, C]"""
    y_test: NDArray[np.int64]
    """[M]"""
    classes: int
    max_value: int
    """Pixel value of full brightness."""

    @property
    def clients(self) -> int:
        """K."""
        return len(self.offsets) - 1

    def rows(self, client: int) -> slice:
        """Where a client's samples lie."""
        return slice(int(self.offsets[client]), int(self.offsets[client + 1]))


@dataclass(frozen=True, eq=False)
class Truth:
    """What nobody in the federation knows; only for scoring detection. Rows as in the ``Federation``."""

    y: NDArray[np.int64]
    """Clean labels [N]."""
    noisy: NDArray[np.bool_]
    """[N]"""


def load_federation(spec: TrainSpec) -> tuple[Federation, Truth]:
    """Read and assemble what a training specification names.

    Raises:
        FedsiftError: a file is missing, damaged or does not fit the others.
    """
    part, noise, rates = (_table(path) for path in (spec.partition, spec.noise, spec.rates))
    foreign = load_arrays(spec.source_arrays, parts=("train",)) if spec.source_arrays else None
    return assemble(load_arrays(spec.arrays), part, noise, rates, spec.clients, foreign)


def assemble(
    arrays: Arrays,
    part: pd.DataFrame,
    noise: pd.DataFrame,
    rates: pd.DataFrame,
    clients: int,
    foreign: Arrays | None = None,
) -> tuple[Federation, Truth]:
    """The clients' samples, and apart from them the truth about these.

    Args:
        arrays: the data set, both parts.
        part: the partition table.
        noise: the noise table.
        rates: the rates table, for the clients' behaviour.
        clients: K.
        foreign: the set that foreign images come from (training part); fitted to the shape of ``arrays``.

    Raises:
        FedsiftError: the tables do not fit the data set or one another.
    """
    train = part[part["part"] == "train"]
    client, sample = train["client"].to_numpy(np.int64), train["sample"].to_numpy()
    total = len(arrays.y_train) + len(arrays.y_test)
    if not part["sample"].between(0, total - 1).all():
        raise FedsiftError(f"the partition names samples that the data set of {total} does not have; {AGAIN}")
    if not part["sample"].is_unique:
        twice = part["sample"][part["sample"].duplicated()].iloc[0]
        raise FedsiftError(f"the partition gives sample {twice} away twice; {AGAIN}")
    if not np.array_equal(np.unique(client), np.arange(clients)):
        raise FedsiftError(f"the partition is not one among {clients} clients; {AGAIN}")
    order = np.argsort(client, kind="stable")
    client, sample = client[order], sample[order]

    row = np.full(total, -1)
    row[sample] = np.arange(len(sample))
    hit = row[noise["sample"].clip(0, total - 1)]
    fits = (hit >= 0).all() and (sample[hit] == noise["sample"]).all() and (client[hit] == noise["client"]).all()
    if not fits:
        raise FedsiftError(f"the noise table was made for another partition; {AGAIN}")

    x = _take(arrays.x_train, arrays.x_test, sample)
    image = noise["foreign"].to_numpy()
    if (image >= 0).any():
        if foreign is None or image.max() >= len(foreign.x_train):
            raise FedsiftError(f"the noise table names images that the foreign set does not have; {AGAIN}")
        x[hit[image >= 0]] = fit(foreign.x_train[image[image >= 0]], x.shape[1:], foreign.max_value, arrays.max_value)
    clean = _take(arrays.y_train, arrays.y_test, sample).astype(np.int64)
    y, noisy = clean.copy(), np.zeros(len(clean), bool)
    y[hit] = noise["label"]
    noisy[hit] = True

    whole = rates[(rates["client"] >= 0) & (rates["label"] < 0)].sort_values("client")
    if not np.array_equal(whole["client"], np.arange(clients)):
        raise FedsiftError(f"the rates table is not one of {clients} clients; {AGAIN}")
    held_out = part[part["part"] == "test"]["sample"].to_numpy()
    federation = Federation(
        x=x,
        y=y,
        offsets=np.concatenate([[0], np.cumsum(np.bincount(client))]),
        sample=sample,
        behaviour=tuple(whole["behaviour"]),
        x_test=_take(arrays.x_train, arrays.x_test, held_out),
        y_test=_take(arrays.y_train, arrays.y_test, held_out).astype(np.int64),
        classes=arrays.classes,
        max_value=arrays.max_value,
    )
    return federation, Truth(clean, noisy)


def _take(train: NDArray[Any], test: NDArray[Any], sample: NDArray[np.int32]) -> NDArray[Any]:
    """Rows of the training part followed by the test part, without joining the two in memory."""
    taken = np.empty((len(sample), *train.shape[1:]), train.dtype)
    first = sample < len(train)
    taken[first] = train[sample[first]]
    taken[~first] = test[sample[~first] - len(train)]
    return taken


def _table(path: str) -> pd.DataFrame:
    try:
        return pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise FedsiftError(f"{path} cannot be read ({error}); run the step that makes it again.") from error
