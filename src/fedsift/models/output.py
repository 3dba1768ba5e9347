"""What every model returns."""

from typing import NamedTuple

from torch import Tensor


class Output(NamedTuple):
    """One forward pass over n images.

    Attributes:
        logits: [n, classes].
        reconstruction: [n, C, H, W] in [0, 1]; None for a plain classifier.
        embedding: [n, d], the values that the classifier head gets.
    """

    logits: Tensor
    reconstruction: Tensor | None
    embedding: Tensor
