"""What a round's average would come to on the validation images, with and without a participant (IAOFL spec, 4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from fedsift.training.average import Average

if TYPE_CHECKING:
    from torch import Tensor

    from fedsift.methods.base import Update


class ValidationLosses:
    """Each question costs one aggregation, from the sum of all updates, and one evaluation; nobody asks for nothing."""

    def __init__(
        self,
        begins: Mapping[str, Tensor],
        updates: Sequence[Update],
        loss: Callable[[Mapping[str, Tensor]], float],
    ) -> None:
        """``begins``: the round's model; ``loss``: mean loss of a model on the validation images."""
        self.begins = begins
        self.updates = updates
        self.loss = loss
        self._sum: Average | None = None

    def before(self) -> float:
        """Of the model that the round began with."""
        return self.loss(self.begins)

    def of_all(self) -> float:
        """Of the average of all updates."""
        return self.loss(self._all().of(self.begins))

    def without(self, place: int) -> float:
        """Of the average of all updates but the one at ``place``; of the round's model where that leaves none."""
        left_out = self.updates[place]
        return self.loss(self._all().without(left_out.state, left_out.used).of(self.begins))

    def _all(self) -> Average:
        if self._sum is None:
            self._sum = Average()
            for update in self.updates:
                self._sum.add(update.state, update.used)
        return self._sum
