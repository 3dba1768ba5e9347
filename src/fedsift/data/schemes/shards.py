"""Pathological split (McMahan et al. 2017, section 3): sort by label, cut into shards, deal at random."""

from collections.abc import Sequence

import numpy as np

from fedsift.errors import FedsiftError


def shards(
    labels: np.ndarray,
    clients: int,
    count: int,
    size: int,
    rng: np.random.Generator,
    per_client: Sequence[int] | None = None,
) -> list[np.ndarray]:
    """Positions of each client: ``count / clients`` shards, in the order in which they were dealt.

    The sort is stable, so a shard holds its samples in the data set's order; it may straddle two labels.

    Args:
        per_client: least and most shards of a client; how many it gets is drawn (see ``unequal_counts``).

    Raises:
        FedsiftError: the shards cannot be dealt evenly, or are not exactly the samples that there are.
    """
    if per_client is None and count % clients:
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
    dealt = cut[rng.permutation(count)]
    if per_client is None:
        return list(dealt.reshape(clients, -1))
    least, most = per_client
    ends = np.cumsum(unequal_counts(clients, count, least, most, rng))
    return [hand.ravel() for hand in np.split(dealt, ends[:-1])]


def unequal_counts(clients: int, count: int, least: int, most: int, rng: np.random.Generator) -> np.ndarray:
    """[clients] shards of each client: uniform from ``least`` to ``most``, then moved one by one to sum to ``count``.

    Raises:
        FedsiftError: no numbers in that range have that sum.
    """
    if not clients * least <= count <= clients * most:
        raise FedsiftError(
            f"{count} shards cannot be dealt to {clients} clients with {least} to {most} each; change `per_client`."
        )
    counts = rng.integers(least, most, size=clients, endpoint=True)
    while excess := int(counts.sum()) - count:
        step, end = (-1, least) if excess > 0 else (1, most)
        counts[rng.choice(np.flatnonzero(counts != end))] += step
    return counts
