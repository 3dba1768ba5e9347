"""Clients that do not train, and clients whose labels are partly wrong (IAOFL paper, experimental set-up)."""

import numpy as np

from fedsift.errors import FedsiftError

HONEST, FREE_RIDER, MISLABELLED = "honest", "free-rider", "mislabelled"


def behaviours(clients: int, free_riders: float, mislabelled: float, rng: np.random.Generator) -> np.ndarray:
    """What each client is: ``HONEST``, ``FREE_RIDER`` or ``MISLABELLED`` [clients].

    round(share * clients) of each kind (a half goes to the even neighbour). Of one seed, the free riders of a
    smaller share are among those of a larger one, and so are the mislabelled clients: series over shares
    differ in what was added.

    Raises:
        FedsiftError: the shares add up to more than all clients.
    """
    if free_riders + mislabelled > 1 + 1e-9:
        raise FedsiftError(
            f"{free_riders:g} free riders and {mislabelled:g} mislabelled clients are more than all; "
            "lower `free_riders` or `mislabelled`."
        )
    order = rng.permutation(clients)
    idle = round(free_riders * clients)
    # Both halves of an odd number may have been rounded up.
    wrong = min(round(mislabelled * clients), clients - idle)
    out = np.full(clients, HONEST, dtype=object)
    out[order[:idle]] = FREE_RIDER
    out[order[clients - wrong :]] = MISLABELLED
    return out
