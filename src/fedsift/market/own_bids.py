"""Thresholds that a client's own earlier bids cannot move (incentive spec, 6, cross-round caveat)."""

import numpy as np
from numpy.typing import NDArray

from fedsift.market.threshold import ThresholdOptions, density, rho, room


def thresholds_without_own(
    client: NDArray[np.int64],
    v: NDArray[np.float64],
    b: NDArray[np.float64],
    budget: float,
    how: ThresholdOptions,
) -> dict[int, float | None]:
    """rho^{-i} = ``threshold`` of the samples of all clients but i, for every client i in the sample.

    All samples are sorted once. Between two of i's own samples, what i holds of the prefix sums is a constant c, so the
    first of the others that does not fit any more is found by looking up c in V_k - B' d_k, which ascends. O(n log n)
    altogether, whatever the number of clients.

    Args:
        client: [n], whose sample it is.
        v: [n], values above 0.
        b: [n], bids.
        budget: B', above 0.
        how: variant and delta.

    Returns:
        Client -> threshold; None where J is empty.
    """
    order = np.argsort(-density(v, b), kind="stable")
    client, v, d = client[order], v[order], density(v[order], b[order])
    n, V = len(v), np.cumsum(v)
    excess = V - room(d, budget)
    places = np.argsort(client, kind="stable")
    groups = np.split(places, np.flatnonzero(np.diff(client[places])) + 1) if n else []
    found: dict[int, float | None] = {}
    for own in groups:
        # The others' samples lie in the gaps before, between and behind i's own ones.
        start, end = np.append(0, own + 1), np.append(own, n)
        c = np.append(0.0, np.cumsum(v[own]))
        stop = np.maximum(np.searchsorted(excess, c, side="right"), start)
        inside = stop < end
        inside[-1] = True
        gap = int(np.argmax(inside))
        k = int(stop[gap])
        if k == gap:
            found[int(client[own[0]])] = None
            continue
        V_J = float(V[k - 1] - c[gap])
        found[int(client[own[0]])] = rho(V_J, float(d[k]) if k < n else 0.0, budget, how)
    return found
