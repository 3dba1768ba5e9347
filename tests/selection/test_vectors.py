import math

import numpy as np
import pytest
import torch

from fedsift.methods.base import Signals
from fedsift.selection.vectors import loss_vectors, total_loss


def test_points_are_doubles_in_the_order_of_the_terms() -> None:
    v = loss_vectors(Signals(losses=torch.tensor([[0.5, 0.25], [1.0, 0.0]])))
    assert v.dtype == np.float64
    assert v.tolist() == [[0.5, 0.25], [1.0, 0.0]]


def test_total_loss_is_the_sum_of_terms() -> None:
    assert total_loss(Signals(losses=torch.tensor([[0.5, 0.25], [1.0, 0.0]]))).tolist() == [0.75, 1.0]
    assert total_loss(Signals(losses=torch.tensor([[0.5], [1.0]]))).tolist() == [0.5, 1.0]


@pytest.mark.parametrize(("value", "expected"), [(math.nan, 1e6), (math.inf, 1e6), (-math.inf, -1e6)])
def test_what_is_not_finite_is_a_million(value: float, expected: float) -> None:
    """MTAE spec, 5.2."""
    assert loss_vectors(Signals(losses=torch.tensor([[value, 0.25]]))).tolist() == [[expected, 0.25]]


def test_method_that_did_not_ask_for_losses() -> None:
    with pytest.raises(AssertionError, match="ask for the signal"):
        loss_vectors(Signals())
