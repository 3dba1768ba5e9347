"""Independent and identically distributed: shuffle, then equal parts."""

import numpy as np


def iid(labels: np.ndarray, clients: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Positions of each client; sizes differ by at most one, the first clients have the larger ones."""
    return np.array_split(rng.permutation(len(labels)), clients)
