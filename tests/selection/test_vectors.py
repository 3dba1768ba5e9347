import math

import numpy as np
import pytest
import torch

from fedsift.methods.base import Signals
from fedsift.selection.vectors import embedding_vectors, loss_vectors, rich_vectors, total_loss


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


def test_embedding_is_taken_as_it_is() -> None:
    z = embedding_vectors(Signals(embedding=torch.tensor([[0.5, 0.0, 3.0], [math.nan, math.inf, -math.inf]])))
    assert z.dtype == np.float32
    assert z.tolist() == [[0.5, 0.0, 3.0], [1e6, 1e6, -1e6]]


def test_method_that_did_not_ask_for_the_embedding() -> None:
    with pytest.raises(AssertionError, match="ask for the signal"):
        embedding_vectors(Signals())


def rich(logits: list[list[float]], labels: list[int]) -> np.ndarray:
    signals = Signals(losses=torch.full((len(labels), 2), 0.5), logits=torch.tensor(logits))
    return rich_vectors(signals, torch.tensor(labels))


def test_rich_points_by_hand() -> None:
    """p = (1/2, 1/4, 1/4): entropy 1.5 of log2(3) bits."""
    v = rich([[math.log(2.0), 0.0, 0.0]] * 2, [0, 1])
    assert v.dtype == np.float64
    assert v == pytest.approx(np.array([[0.5, 0.5, 0.5, 1.5 / math.log2(3)], [0.5, 0.5, 0.75, 1.5 / math.log2(3)]]))


def test_rich_points_of_sure_and_of_clueless_predictions() -> None:
    v = rich([[1e4, 0.0, 0.0], [1e4, 0.0, 0.0], [7.0, 7.0, 7.0]], [0, 2, 1])
    assert v[:, 2:] == pytest.approx(np.array([[0, 0], [1, 0], [2 / 3, 1]]))


def test_entropy_says_the_same_as_the_divergence_from_uniform() -> None:
    logits = torch.randn(20, 5, generator=torch.Generator().manual_seed(0))
    p = torch.softmax(logits.double(), 1)
    divergence = (p * (p * 5).log()).sum(1).numpy()
    v = rich_vectors(Signals(losses=torch.zeros(20, 1), logits=logits), torch.zeros(20, dtype=torch.int64))
    assert v.shape == (20, 3)
    assert v[:, 2] == pytest.approx(1 - divergence / math.log(5))


def test_predictions_that_are_not_finite_count_as_a_million() -> None:
    v = rich([[math.nan, 0.0], [math.inf, 0.0], [0.0, 0.0]], [0, 0, 0])
    assert v[:, 2:].tolist() == [[1e6, 1e6], [1e6, 1e6], [0.5, 1.0]]


def test_method_that_did_not_ask_for_predictions() -> None:
    with pytest.raises(AssertionError, match="'logits'"):
        rich_vectors(Signals(losses=torch.zeros(2, 2)), torch.zeros(2, dtype=torch.int64))
    with pytest.raises(AssertionError, match="'losses'"):
        rich_vectors(Signals(logits=torch.zeros(2, 2)), torch.zeros(2, dtype=torch.int64))
