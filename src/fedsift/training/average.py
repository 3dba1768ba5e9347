"""The weighted average of client models."""

from collections.abc import Mapping

import torch
from torch import Tensor


class Average:
    """Sum of n_k w_k in double precision, then divided by the sum of n_k.

    One client comes back bit for bit, because n_k w_k is exact in double precision. Models are added one at a time, so
    a round needs memory for two of them whatever the number of clients.
    """

    def __init__(self) -> None:
        self.total = 0
        self.count = 0
        self.sums: dict[str, Tensor] = {}

    def add(self, state: Mapping[str, Tensor], weight: int) -> None:
        """Add a model with weight n_k; nothing for weight 0."""
        if weight == 0:
            return
        self.total += weight
        self.count += 1
        for name, value in state.items():
            part = value.detach().to(torch.float64) * weight
            if name in self.sums:
                self.sums[name] += part
            else:
                self.sums[name] = part

    def without(self, state: Mapping[str, Tensor], weight: int) -> "Average":
        """The sum without a model that was added to it, up to the rounding of double precision."""
        rest = Average()
        rest.total, rest.count = self.total - weight, self.count - (weight > 0)
        rest.sums = {name: total - state[name].detach().to(torch.float64) * weight for name, total in self.sums.items()}
        return rest

    def of(self, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The average in the types and layouts of ``state``; ``state`` if nothing was added. Integers are rounded."""
        if self.total == 0:
            return dict(state)
        made = {}
        for name, value in state.items():
            mean = self.sums[name] / self.total
            made[name] = torch.empty_like(value).copy_(mean if value.is_floating_point() else mean.round())
        return made
