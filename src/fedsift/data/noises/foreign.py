"""Images of another data set that take the place of a sample's own."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from fedsift.errors import FedsiftError


def foreign_images(
    labels: np.ndarray,
    wanted: int,
    order: Literal["file", "random"],
    excluded: Sequence[int],
    rng: np.random.Generator,
) -> np.ndarray:
    """Positions [wanted] in the foreign set's training part, each once.

    Args:
        labels: the foreign set's training labels.
        order: ``file`` takes the first ones (MTAE, released code), ``random`` draws without replacement.
        excluded: labels that must not be used.

    Raises:
        FedsiftError: the foreign set has fewer images of other labels.
    """
    usable = np.flatnonzero(~np.isin(labels, list(excluded)))
    if wanted > len(usable):
        without = f" without the labels in `exclude_classes` ({len(labels)} with them)" if excluded else ""
        raise FedsiftError(
            f"{wanted} foreign images are needed and the source has {len(usable)}{without}; "
            "lower `rate` or choose another `source`."
        )
    return usable[:wanted] if order == "file" else rng.permutation(usable)[:wanted]
