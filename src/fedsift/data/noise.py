"""Which samples are noisy and what their clients see instead, and the rates that this reaches."""

from dataclasses import dataclass
from typing import assert_never

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from fedsift.config.model import AnyNoise, BadClients, ClosedSetNoise, NoNoise, OpenSetNoise, TargetedNoise
from fedsift.data.draws import draws
from fedsift.data.noises.behaviour import HONEST, MISLABELLED, behaviours
from fedsift.data.noises.foreign import foreign_images
from fedsift.data.noises.labels import wrong
from fedsift.data.noises.rates import rates_table
from fedsift.data.noises.targeted import targeted
from fedsift.data.noises.which import which
from fedsift.data.packed import load_arrays
from fedsift.errors import FedsiftError
from fedsift.files import atomic
from fedsift.specs import NoiseSpec

NOISY = pa.schema(
    [
        ("sample", pa.int32()),
        ("client", pa.int32()),
        ("kind", pa.string()),
        ("label", pa.int32()),
        ("foreign", pa.int32()),
    ]
)
RATES = pa.schema(
    [
        ("client", pa.int32()),
        ("label", pa.int32()),
        ("behaviour", pa.string()),
        ("samples", pa.int32()),
        ("noisy", pa.int32()),
        ("requested", pa.float64()),
        ("achieved", pa.float64()),
    ]
)


@dataclass(frozen=True)
class _Hits:
    """Noisy training rows, the label and foreign image (or -1) seen there; the rate asked of every training row."""

    rows: np.ndarray
    label: np.ndarray
    foreign: np.ndarray
    requested: np.ndarray
    behaviour: np.ndarray


def noise(
    noise: AnyNoise,
    part: pd.DataFrame,
    labels: np.ndarray,
    classes: int,
    clients: int,
    seed: int,
    foreign: np.ndarray | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The noise table and the rates table. Test samples are never noisy.

    Args:
        noise: the kind of noise; its own ``seed`` is not looked at.
        part: the partition table.
        labels: clean labels of the data set, training part then test part.
        classes: number of classes of the data set.
        clients: K.
        seed: of every draw, not negative.
        foreign: labels of the foreign set's training part, for open-set noise.

    Returns:
        (a) a row for each noisy sample, by sample: sample, client (int32), kind ("closed-set", "open-set",
        "targeted", "mislabelled"), label (int32, what the client sees), foreign (int32, position of the image in the
        foreign set's training part, or -1); (b) the rates: see ``noises.rates.rates_table``.

    Raises:
        FedsiftError: one sentence on why there can be no such noise.
    """
    train = part[part["part"] == "train"]
    sample, client = train["sample"].to_numpy(), train["client"].to_numpy()
    held = len(np.unique(client))
    if held != clients:
        raise FedsiftError(f"the partition has {held} clients, not {clients}; make it for as many.")
    hits = _hits(noise, sample, client, train["user"].to_numpy(), labels, classes, clients, seed, foreign)

    noisy = np.zeros(len(train), bool)
    noisy[hits.rows] = True
    rates = rates_table(client, labels[sample], noisy, hits.requested, hits.behaviour)
    kind = MISLABELLED if isinstance(noise, BadClients) else noise.kind
    table = pd.DataFrame(
        {
            "sample": sample[hits.rows].astype(np.int32),
            "client": client[hits.rows].astype(np.int32),
            "kind": pd.Series([kind] * len(hits.rows), dtype="str"),
            "label": hits.label.astype(np.int32),
            "foreign": hits.foreign.astype(np.int32),
        }
    )
    return table.sort_values("sample", ignore_index=True), rates


def write_noise(spec: NoiseSpec) -> None:
    """Stage entry point: write the noise table to ``spec.output`` and the rates to ``spec.rates``."""
    arrays = load_arrays(spec.arrays, parts=("y_train", "y_test"))
    foreign = load_arrays(spec.source_arrays, parts=("y_train",)).y_train if spec.source_arrays else None
    labels = np.concatenate([arrays.y_train, arrays.y_test])
    try:
        part = pd.read_parquet(spec.partition)
    except (OSError, ValueError) as error:
        raise FedsiftError(f"{spec.partition} cannot be read ({error}); run the partition step again.") from error
    try:
        table, rates = noise(spec.noise, part, labels, arrays.classes, spec.clients, spec.seed, foreign)
    except FedsiftError as error:
        raise FedsiftError(f"{spec.dataset}, {spec.noise.kind}, {spec.clients} clients: {error}") from error
    for frame, schema, path in ((table, NOISY, spec.output), (rates, RATES, spec.rates)):
        with atomic(path) as temporary:
            pq.write_table(pa.Table.from_pandas(frame, schema, preserve_index=False), temporary)


def _hits(
    noise: AnyNoise,
    sample: np.ndarray,
    client: np.ndarray,
    user: np.ndarray,
    labels: np.ndarray,
    classes: int,
    clients: int,
    seed: int,
    foreign: np.ndarray | None,
) -> _Hits:
    key = draws(seed, "noise/which").random(len(labels))
    honest = np.full(clients, HONEST, dtype=object)
    none = np.zeros(0, np.int64)
    asked = np.zeros(len(sample))
    match noise:
        case NoNoise():
            return _Hits(none, none, none, asked, honest)
        case ClosedSetNoise():
            rows = _some(noise, sample, user, labels, key)
            seen = wrong(labels, classes, noise.rule, draws(seed, "noise/label"))[sample[rows]]
            return _Hits(rows, seen, np.full(len(rows), -1), asked + noise.rate, honest)
        case OpenSetNoise():
            if foreign is None:
                raise FedsiftError(f"open-set noise needs the images of '{noise.source}'; give `source_arrays`.")
            rows = _some(noise, sample, user, labels, key)
            rng = draws(seed, "noise/foreign")
            images = foreign_images(foreign, len(rows), noise.order, noise.exclude_classes, rng)
            return _Hits(rows, labels[sample[rows]], images, asked + noise.rate, honest)
        case TargetedNoise():
            y = labels[sample]
            rows, seen = targeted(noise.pairs, y, sample, user, noise.rate, noise.scope, key)
            asked[np.isin(y, [old for old, _ in noise.pairs])] = noise.rate
            return _Hits(rows, seen, np.full(len(rows), -1), asked, honest)
        case BadClients():
            behaviour = behaviours(clients, noise.free_riders, noise.mislabelled, draws(seed, "noise/behaviour"))
            rate = np.where(behaviour == MISLABELLED, noise.mislabel_rate, 0.0)
            rows = which(sample, client, rate, "user-random", key)
            seen = wrong(labels, classes, "uniform", draws(seed, "noise/label"))[sample[rows]]
            return _Hits(rows, seen, np.full(len(rows), -1), rate[client], behaviour)
        case _:
            assert_never(noise)


def _some(
    noise: ClosedSetNoise | OpenSetNoise,
    sample: np.ndarray,
    user: np.ndarray,
    labels: np.ndarray,
    key: np.ndarray,
) -> np.ndarray:
    """Noisy rows by the rate and scope of ``noise``.

    The first samples stand for all only where the data set's order has nothing to do with the label.
    """
    in_order = labels[np.sort(sample)]
    if noise.scope == "first" and in_order[0] < in_order[-1] and (np.diff(in_order) >= 0).all():
        raise FedsiftError(
            "the samples lie sorted by class, so that `scope: first` would hit whole classes; set `scope: random`."
        )
    return which(sample, user, noise.rate, noise.scope, key)
