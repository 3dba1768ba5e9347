"""FedProx: a pull towards the round's global model (Li et al. 2020; cited by the EMFedAvg paper, section 2.2).

Its other half, partial work of slow devices, has no counterpart here: all clients finish.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from fedsift.methods.base import Method

if TYPE_CHECKING:
    from torch import Tensor, nn

    from fedsift.models.output import Output


class FedproxOptions(Method.Options):
    """How strong the pull is."""

    mu: Annotated[float, Field(gt=0)] = Field(1.0, description="Weight of the proximal term.")


class Fedprox(Method):
    """h_k(w; w_t) = F_k(w) + mu/2 |w - w_t|^2."""

    Options = FedproxOptions
    options: FedproxOptions

    def loss(
        self, round_: int, output: Output, labels: Tensor, model: nn.Module, start: Mapping[str, Tensor]
    ) -> Tensor | None:
        """mu/2 |w - w_t|^2 over all trained weights."""
        parts = [(w - start[name]).square().sum() for name, w in model.named_parameters()]
        return self.options.mu / 2 * sum(parts[1:], start=parts[0])


METHOD = Fedprox
