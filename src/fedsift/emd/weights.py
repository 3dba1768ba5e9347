"""The distance that sections 3.2 and Algorithm 2 of the EMFedAvg paper speak of: weights against all weights (A1)."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from scipy.stats import wasserstein_distance
from torch import Tensor

from fedsift.training.average import Average


def weight_emd(states: Sequence[Mapping[str, Tensor]], sizes: Sequence[int]) -> np.ndarray:
    """[m]: the 1-D Wasserstein distance between the weights of each model and those of their average.

    Both are taken as a set of numbers without places: a model whose weights are the average's in another order is at
    distance 0.

    Args:
        states: the participants' models.
        sizes: n_k, the weights in the average; participants that did not train (0) count for nothing in it.
    """
    average = Average()
    for state, n in zip(states, sizes, strict=True):
        average.add(state, n)
    whole = _flat(average.of(states[0]))
    return np.array([wasserstein_distance(_flat(state), whole) for state in states])


def _flat(state: Mapping[str, Tensor]) -> np.ndarray:
    floats = [value.detach().flatten() for value in state.values() if value.is_floating_point()]
    return torch.cat(floats).double().cpu().numpy()
