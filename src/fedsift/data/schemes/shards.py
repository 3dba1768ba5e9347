"""Pathological split (McMahan et al. 2017, section 3): sort by label, cut into shards, deal at random."""

import numpy as np

from fedsift.errors import FedsiftError


def shards(labels: np.ndarray, clients: int, count: int, size: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Positions of each client: ``count / clients`` shards, in the order in which they were dealt.

    The sort is stable, so a shard holds its samples in the data set's order; it may straddle two labels.

    Raises:
        FedsiftError: the shards cannot be dealt evenly, or are not exactly the samples that there are.
    """
    if count % clients:
        raise FedsiftError(
            f"{count} shards cannot be dealt evenly to {clients} clients; make `shards` a multiple of `clients`."
        )
    needed = count * size
    if needed > len(labels):
        raise FedsiftError(
            f"{count} shards of {size} need {needed} training samples and there are {len(labels)}; "
            "lower `shards` or `shard_size`."
        )
    if needed < len(labels):
        # The sort would put all that is left over into the last labels, so none may be.
        raise FedsiftError(
            f"{count} shards of {size} leave {len(labels) - needed} of {len(labels)} training samples over; "
            f"change `shards` or `shard_size`, or set `samples: {needed}` to draw as many."
        )
    cut = np.argsort(labels, kind="stable").reshape(count, size)
    return list(cut[rng.permutation(count)].reshape(clients, -1))
