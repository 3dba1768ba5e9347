"""Dirichlet split by label (Hsu, Qi and Brown 2019), draw for draw FedML's "hetero", for the MTAE paper.

With FedML's draws the clients have the paper's sizes; hence NumPy's legacy generator, whose stream is frozen.
"""

import math

import numpy as np

from fedsift.errors import FedsiftError

LOOK = 100
"""Draws before the odds of a fitting one are judged."""


def dirichlet(
    labels: np.ndarray, clients: int, alpha: float, min_samples: int, max_draws: int, seed: int
) -> list[np.ndarray]:
    """Positions of each client, in its own shuffled order.

    Each label is shuffled and cut in proportions p ~ Dir(alpha), where a client that already holds N/K
    samples or more gets none. The whole is drawn again until every client has ``min_samples``.

    Raises:
        FedsiftError: no draw can fit, none of ``max_draws`` did, or the first ``LOOK`` show that none will.
    """
    if clients * min_samples > len(labels):
        raise FedsiftError(
            f"{clients} clients with {min_samples} samples each need {clients * min_samples} training samples"
            f" and there are {len(labels)}; lower `clients` or `min_samples`."
        )
    rng = np.random.RandomState(seed)
    by_label = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    short = 0
    for draw in range(1, max_draws + 1):
        pieces = _draw(by_label, clients, alpha, rng)
        missing = clients if pieces is None else int((np.diff(pieces[1]).sum(axis=0) < min_samples).sum())
        if pieces is not None and missing == 0:
            return _clients(*pieces, rng)
        short += missing
        # Sizes compete for the same samples, so the number of short clients varies less than a Poisson number
        # of the same mean m, and a draw fits with a chance below exp(-m).
        hopeless = draw >= LOOK and short / draw > math.log(max_draws) + 20
        if hopeless:
            break
    raise FedsiftError(
        f"alpha {alpha:g} leaves on average {short / draw:.1f} of {clients} clients with fewer than "
        f"{min_samples} samples and none of {draw} draws fits; "
        "raise `alpha`, or lower `clients` or `min_samples`."
    )


def _draw(
    by_label: list[np.ndarray], clients: int, alpha: float, rng: np.random.RandomState
) -> tuple[list[np.ndarray], np.ndarray] | None:
    """Each label's shuffled positions and its cuts [labels, clients + 1], or None where shares are 0/0."""
    total = sum(map(len, by_label))
    sizes = np.zeros(clients, np.int64)
    cuts = np.zeros((len(by_label), clients + 1), np.int64)
    shuffled = []
    for positions, cut in zip(by_label, cuts, strict=True):
        turned = positions.copy()
        rng.shuffle(turned)
        with np.errstate(invalid="ignore"):
            share = rng.dirichlet(np.full(clients, alpha)) * (sizes < total / clients)
        whole = share.sum()
        # With a tiny alpha the shares of all clients that have room can be too small for a float, or all NaN.
        if not whole > 0:
            return None
        cut[1:] = np.cumsum(share / whole) * len(positions)
        cut[-1] = len(positions)
        sizes += np.diff(cut)
        shuffled.append(turned)
    return shuffled, cuts


def _clients(shuffled: list[np.ndarray], cuts: np.ndarray, rng: np.random.RandomState) -> list[np.ndarray]:
    clients = []
    for client in range(cuts.shape[1] - 1):
        own = np.concatenate(
            [positions[cut[client] : cut[client + 1]] for positions, cut in zip(shuffled, cuts, strict=True)]
        )
        rng.shuffle(own)
        clients.append(own)
    return clients
