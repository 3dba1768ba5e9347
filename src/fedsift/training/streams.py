"""Random streams: each is derived from (seed, purpose, round, client), and nothing else in the program is random.

So a result depends neither on the order of clients, nor on the number of workers, nor on where a run was interrupted.
"""

import hashlib

import numpy as np


def seed_of(seed: int, purpose: str, *index: int) -> int:
    """A 63-bit seed for ``purpose`` (a fixed word) at ``index`` (round, client, ...) of the run with ``seed``."""
    text = ":".join((str(seed), purpose, *map(str, index)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def stream(seed: int, purpose: str, *index: int) -> np.random.Generator:
    """An independent NumPy generator for ``purpose`` at ``index`` of the run with ``seed``."""
    return np.random.Generator(np.random.PCG64(seed_of(seed, purpose, *index)))


def clients_by_round(round_: int, clients: int, count: int) -> np.ndarray:
    """The clients that FedML samples in a round: legacy generator seeded with the round alone, without replacement.

    Source: MTAE spec, section 4 (authors' code): r = 0, K = 1000 starts 993, 859, 298, 553, 672.
    """
    return np.random.RandomState(round_).choice(clients, count, replace=False)
