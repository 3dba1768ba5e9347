"""Federated multi-class SVDD: the formulas, without state (MTAE spec, 5.6).

Symbols: z [n, d] embeddings, y [n] their classes of 0 to k - 1, mu [k, d] centres, R [k] radii, nu the share of a
class's distances that lie over its radius. A class of which the server has no sample has no centre: its mu_i is
infinite, and its samples take no part.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

LEAST = 1e-10
"""A coordinate of a centre that is not zero is at least this far from it."""


def members(y: Tensor, k: int) -> Tensor:
    """1[y_j = i]: [n, k] bool."""
    return y[:, None] == torch.arange(k, device=y.device)


def has_centre(mu: Tensor) -> Tensor:
    """[k] bool."""
    return mu.isfinite().all(dim=1)


def centres(z: Tensor, y: Tensor, k: int) -> Tensor:
    """mu_i, the mean z_j of class i, where |coordinates| < 1e-10 become +-1e-10 and exact zeros stay: [k, d]."""
    member = members(y, k).double()
    mu = (member.T @ z.double() / member.sum(0)[:, None]).to(z.dtype)
    mu = torch.where(mu.abs() < LEAST, mu.sign() * LEAST, mu)
    return torch.where(has_centre(mu)[:, None], mu, torch.inf)


def distances(z: Tensor, y: Tensor, mu: Tensor) -> Tensor:
    """||z_j - mu_{y_j}||, not squared: [n]."""
    d: Tensor = torch.linalg.vector_norm(z - mu[y], dim=1)
    return d


def in_last_batch(y: Tensor, batch: Tensor, k: int) -> Tensor:
    """[n] bool: whether sample j, of batch number ``batch`` [n], is of the last batch that held its class."""
    last = torch.where(members(y, k), batch[:, None], -1).amax(0)
    own: Tensor = batch == last[y]
    return own


def radii(d: np.ndarray, y: np.ndarray, R: np.ndarray, nu: float) -> np.ndarray:
    """R_i, the (1 - nu) quantile of the distances ``d`` [n] of class i; classes that are not in ``y`` keep theirs."""
    new = R.copy()
    for i in np.unique(y):
        new[i] = np.quantile(d[y == i], 1 - nu)
    return new


def regulariser(z: Tensor, y: Tensor, mu: Tensor, R: Tensor, *, factor: float, batch_classes: bool) -> Tensor:
    """L_reg without its weight lambda_reg, of one batch; a scalar, differentiable through ``z``.

    L_reg = 1/|C| sum_{i in C} ( R_i^2 + factor 1/n_i sum_j 1[y_j = i] max(0, ||z_j - mu_i||^2 - R_i^2) )

    Paper: factor 1 and C all k classes. Authors' code: factor 1/nu and C the classes in the batch.
    """
    k, centred = len(mu), has_centre(mu)
    member = (members(y, k) & centred).to(z.dtype)
    n = member.sum(0)
    mu = torch.where(centred[:, None], mu, 0)
    outside = ((z - mu[y]).square().sum(1) - R[y].square()).clamp(min=0)
    # Sums over a class are products with its indicator: on a GPU index_add is not repeatable.
    per_class = R.square() + factor * (outside @ member) / n.clamp(min=1)
    if not batch_classes:
        return per_class.sum() / k
    C_B = n > 0
    return (per_class * C_B).sum() / C_B.sum().clamp(min=1)
