"""Random draws of the partition and noise stages: one independent generator a purpose."""

import numpy as np


def draws(seed: int, purpose: str) -> np.random.Generator:
    """The generator of ``purpose`` (a fixed word) for a table's ``seed``, 0 or more."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *purpose.encode()])))
