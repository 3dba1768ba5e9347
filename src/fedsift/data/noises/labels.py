"""Wrong labels: never the sample's own."""

from typing import Literal

import numpy as np

from fedsift.errors import FedsiftError


def wrong(labels: np.ndarray, classes: int, rule: Literal["paper", "uniform"], rng: np.random.Generator) -> np.ndarray:
    """A wrong label for every sample.

    ``paper`` (MTAE, released code): r uniform over all classes; the label is r, or |y-1| where r = y. So
    class |y-1| (which is 1 for y = 0) is twice as likely as any other. ``uniform``: every other class alike.

    Args:
        labels: clean labels y [n], 0 to ``classes`` - 1.

    Raises:
        FedsiftError: there is no other class.
    """
    if classes < 2:
        raise FedsiftError("a wrong label needs a data set of at least two classes; choose another noise.")
    if rule == "uniform":
        return (labels + rng.integers(1, classes, len(labels))) % classes
    r = rng.integers(0, classes, len(labels))
    return np.where(r != labels, r, np.abs(labels.astype(np.int64) - 1))
