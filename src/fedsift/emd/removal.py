"""Which participants are too far from the whole (EMFedAvg spec, A4)."""

from typing import Literal

import numpy as np

Rule = Literal["quartile", "rank"]


def too_far(distances: np.ndarray, rule: Rule, keep: float = 0.75) -> np.ndarray:
    """[m] bool, the participants to remove; never all of them.

    Args:
        distances: D_k, [m].
        rule: `quartile`: D_k > Q3, the ``keep`` quantile with linear interpolation, so that ties stay together.
            `rank`: exactly the floor((1 - keep) m) largest; of equal ones the later go.
        keep: 0.75 for the third quartile.
    """
    if rule == "quartile":
        return np.asarray(distances > np.quantile(distances, keep))
    m = len(distances)
    last = np.zeros(m, dtype=bool)
    last[np.argsort(distances, kind="stable")[m - int((1 - keep) * m + 1e-9) :]] = True
    return last
