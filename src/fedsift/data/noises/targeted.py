"""Poisoned labels: samples of one class that are called another, on purpose."""

from collections.abc import Sequence

import numpy as np

from fedsift.data.noises.which import Scope, which
from fedsift.errors import FedsiftError


def targeted(
    pairs: Sequence[Sequence[int]],
    y: np.ndarray,
    sample: np.ndarray,
    user: np.ndarray,
    rate: float,
    scope: Scope,
    key: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Rows that are hit, and the label that each of them gets.

    The rate holds of each old label by itself. So a class is hit alike whichever others are, and the first samples
    stand for all of a class even where the data set is sorted by class.

    Args:
        pairs: old and new labels; no old label twice. Samples are chosen by their clean label, so pairs do not chain.
        y: clean label [n] of each training row of the partition.
        sample, user, rate, scope, key: see ``which``.

    Raises:
        FedsiftError: an old label has too few samples to be hit at all.
    """
    rows, seen = [], []
    for old, new in pairs:
        held = np.flatnonzero(y == old)
        hit = held[which(sample[held], user[held], rate, scope, key)] if len(held) else held
        if not len(hit):
            raise FedsiftError(
                f"none of the {len(held)} training samples of label {old} would be hit; raise `rate`, choose a scope "
                "over the whole set, or drop the pair."
            )
        rows.append(hit)
        seen.append(np.full(len(hit), new))
    return np.concatenate(rows), np.concatenate(seen)
