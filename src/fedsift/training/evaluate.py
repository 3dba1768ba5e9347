"""Test of the global model, and how well a selection found the noisy samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from sklearn import metrics
from torch import Tensor, nn

from fedsift.training.objective import sample_errors, weigh
from fedsift.training.tensors import Samples

if TYPE_CHECKING:
    from fedsift.config.model import MtaeObjective


@torch.no_grad()
def evaluate(model: nn.Module, samples: Samples, objective: MtaeObjective | None, chunk: int) -> dict[str, float]:
    """Accuracy, macro averages over all classes, and mean losses on the whole test set (eval mode).

    A class that is never predicted has precision 0. Models without a reconstruction leave `mse` out.
    """
    model.eval()
    predicted, errors = [], []
    for xb, yb in zip(samples.x_test.split(chunk), samples.y_test.split(chunk), strict=True):
        x = samples.images(xb)
        output = model(x)
        predicted.append(output.logits.argmax(1))
        errors.append(sample_errors(output, x, yb).double())
    y, y_hat = samples.y_test.cpu().numpy(), torch.cat(predicted).cpu().numpy()
    precision, recall, f1, _ = metrics.precision_recall_fscore_support(y, y_hat, average="macro", zero_division=0)
    mean = torch.cat(errors).mean(0)
    scores = {
        "accuracy": float(metrics.accuracy_score(y, y_hat)),
        "balanced_accuracy": float(metrics.recall_score(y, y_hat, labels=np.unique(y), average="macro")),
        "macro_f1": float(f1),
        "macro_precision": float(precision),
        "macro_recall": float(recall),
        "loss": float(weigh(mean[None], objective).sum()),
        "cross_entropy": float(mean[0]),
    }
    if len(mean) > 1:
        scores["mse"] = float(mean[1])
    return scores


def detection(noisy: Sequence[Tensor], keep: Sequence[np.ndarray], suspicion: Sequence[np.ndarray]) -> dict[str, float]:
    """Precision and recall of the dropped samples as a guess at the noisy ones, and the AUC of the suspicion.

    Over all clients of a round that selected. What is undefined (nothing dropped, no noise, ...) is left out.
    """
    if not keep:
        return {}
    truth, dropped = torch.cat(list(noisy)).cpu().numpy(), ~np.concatenate(keep)
    scores = {}
    if dropped.any():
        scores["detection_precision"] = float(metrics.precision_score(truth, dropped))
    if truth.any():
        scores["detection_recall"] = float(metrics.recall_score(truth, dropped))
    if len(suspicion) == len(keep) and 0 < truth.mean() < 1:
        scores["detection_auc"] = float(metrics.roc_auc_score(truth, np.concatenate(suspicion)))
    return scores
