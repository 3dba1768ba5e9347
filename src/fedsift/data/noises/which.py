"""Which of the training samples become noisy."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Scope = Literal["first", "random", "user-first", "user-random"]


def which(sample: np.ndarray, user: np.ndarray, rate: float | np.ndarray, scope: Scope, key: np.ndarray) -> np.ndarray:
    """Rows that become noisy, in the order in which they are taken.

    MTAE paper, released code: the first 20,000 of CIFAR-10 in the data set's order (``first``); of MNIST the
    first round(0.4 n_u) of each user u, in the user's own order (``user-first``), users one after another.

    Args:
        sample: number [n] in the data set, of each training row of the partition.
        user: user [n] of the row; a user's rows are in its own order.
        rate: share to take, of all (scopes without user) or of each user's samples; a number or one per user.
        scope: order and group in which samples are taken.
        key: a random number [samples of the data set].

    Returns:
        Row numbers. A group of n gives round(rate * n); a half goes to the even neighbour.
    """
    group = user if scope.startswith("user") else np.zeros_like(user)
    if scope == "first":
        rank = sample
    elif scope == "user-first":
        rank = np.arange(len(sample))
    else:
        rank = key[sample]
    order = np.lexsort((rank, group))
    size = np.bincount(group)
    start = np.cumsum(size) - size
    place = np.arange(len(order)) - start[group[order]]
    chosen: NDArray[np.int64] = order[place < np.rint(rate * size)[group[order]]]
    return chosen
