import math

import numpy as np
import pytest
import torch

from fedsift.config.model import MtaeObjective
from fedsift.models.output import Output
from fedsift.training.objective import batch_loss, sample_errors, weigh

LOGITS = torch.tensor([[0.0, 0.0], [math.log(3.0), 0.0]])
X = torch.tensor([[[[0.0, 1.0]]], [[[0.5, 0.5]]]])
RECONSTRUCTION = torch.tensor([[[[0.0, 0.0]]], [[[0.5, 0.1]]]])
Y = torch.tensor([0, 1])
CE = [math.log(2), math.log(4)]
"""-log(1/2) and -log(1/4)"""
MSE = [0.5, 0.08]

MTAE = Output(LOGITS, RECONSTRUCTION, torch.zeros(2, 3))
CNN = Output(LOGITS, None, torch.zeros(2, 3))
OBJECTIVE = MtaeObjective(lambda_rec=1.0, lambda_cls=0.05)


def test_batch_loss_is_a_mean_over_batch_and_pixels() -> None:
    assert batch_loss(MTAE, X, Y, OBJECTIVE).item() == pytest.approx(np.mean(MSE) + 0.05 * np.mean(CE), rel=1e-6)


@pytest.mark.parametrize(("output", "objective"), [(MTAE, None), (CNN, None), (CNN, OBJECTIVE)])
def test_without_reconstruction_or_objective_it_is_the_cross_entropy(
    output: Output, objective: MtaeObjective | None
) -> None:
    assert batch_loss(output, X, Y, objective).item() == pytest.approx(np.mean(CE), rel=1e-6)


def test_sample_errors_are_per_sample() -> None:
    assert sample_errors(MTAE, X, Y).numpy() == pytest.approx(np.array([CE, MSE]).T, rel=1e-6)
    assert sample_errors(CNN, X, Y).numpy() == pytest.approx(np.array([CE]).T, rel=1e-6)


def test_sample_errors_average_to_the_batch_loss() -> None:
    mean = weigh(sample_errors(MTAE, X, Y), OBJECTIVE).sum(1).mean()
    assert mean.item() == pytest.approx(batch_loss(MTAE, X, Y, OBJECTIVE).item(), rel=1e-6)


def test_weights_go_to_their_own_terms() -> None:
    weighted = weigh(sample_errors(MTAE, X, Y), MtaeObjective(lambda_rec=2.0, lambda_cls=0.05))
    assert weighted.numpy() == pytest.approx(np.array([np.multiply(0.05, CE), np.multiply(2, MSE)]).T, rel=1e-6)


def test_classifiers_have_one_term() -> None:
    assert weigh(sample_errors(CNN, X, Y), None).shape == (2, 1)
    assert weigh(sample_errors(MTAE, X, Y), None).numpy() == pytest.approx(np.array([CE]).T, rel=1e-6)
    assert weigh(sample_errors(CNN, X, Y), OBJECTIVE).numpy() == pytest.approx(0.05 * np.array([CE]).T, rel=1e-6)
