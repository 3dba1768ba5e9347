"""The local loss: L = lambda_rec MSE + lambda_cls CE for autoencoders, CE for classifiers (MTAE spec, 1.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, mse_loss

from fedsift.models.output import Output

if TYPE_CHECKING:
    from fedsift.config.model import MtaeObjective


def batch_loss(output: Output, x: Tensor, y: Tensor, objective: MtaeObjective | None) -> Tensor:
    """Mean over the batch; the square error is a mean over pixels and channels too. Scalar."""
    ce = cross_entropy(output.logits, y)
    if objective is None or output.reconstruction is None:
        return ce
    return objective.lambda_rec * mse_loss(output.reconstruction, x) + objective.lambda_cls * ce


def sample_errors(output: Output, x: Tensor, y: Tensor) -> Tensor:
    """[n, 2]: CE_j and MSE_j of every sample; [n, 1] with CE_j alone for classifiers."""
    ce = cross_entropy(output.logits, y, reduction="none")
    if output.reconstruction is None:
        return ce[:, None]
    return torch.stack((ce, (output.reconstruction - x).square().flatten(1).mean(1)), dim=1)


def weigh(errors: Tensor, objective: MtaeObjective | None) -> Tensor:
    """[n, 2]: lambda_cls CE_j and lambda_rec MSE_j; [n, 1] with CE_j where the objective has no reconstruction."""
    if objective is None:
        return errors[:, :1]
    return errors * errors.new_tensor([objective.lambda_cls, objective.lambda_rec])[: errors.shape[1]]
