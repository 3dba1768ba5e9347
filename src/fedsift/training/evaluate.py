"""Test of the global model, its reconstructions, and how well a selection found the noisy samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from fedsift.training.objective import sample_errors, weigh
from fedsift.training.tensors import Samples

if TYPE_CHECKING:
    from fedsift.config.model import MtaeObjective


MOST_DB = 100.0
"""PSNR of an image that comes back exactly (MSE 0), where the formula is infinite: float32 resolves no more."""


@torch.no_grad()
def evaluate(
    model: nn.Module, samples: Samples, objective: MtaeObjective | None, chunk: int, ssim_images: int = 500
) -> dict[str, float | str]:
    """Scores of the labels, each class's recall and mean losses on the whole test set, in eval mode.

    Models without a reconstruction leave `mse`, `psnr` and `ssim` out.

    Args:
        chunk: images in one forward pass.
        ssim_images: the SSIM is the mean over as many images, the first of the test set.
    """
    model.eval()
    predicted, errors, pairs = [], [], []
    wanted = ssim_images
    for xb, yb in zip(torch.split(samples.x_test, chunk), torch.split(samples.y_test, chunk), strict=True):
        x = samples.images(xb)
        output = model(x)
        predicted.append(output.logits.argmax(1))
        errors.append(sample_errors(output, x, yb).double())
        if output.reconstruction is not None and wanted > 0:
            pairs.append((x[:wanted].cpu().numpy(), output.reconstruction[:wanted].cpu().numpy()))
            wanted -= len(x)
    all_errors = torch.cat(errors)
    mean = all_errors.mean(0)
    table = confusion(samples.y_test.cpu().numpy(), torch.cat(predicted).cpu().numpy(), output.logits.shape[1])
    scores: dict[str, float | str] = {**classification(table), "class_recall": class_recall(table)}
    scores |= {"loss": float(weigh(mean[None], objective).sum()), "cross_entropy": float(mean[0])}
    if len(mean) > 1:
        scores["mse"] = float(mean[1])
        scores["psnr"] = psnr(all_errors[:, 1].cpu().numpy())
        scores["ssim"] = float(np.concatenate([ssim(x, x_hat) for x, x_hat in pairs]).mean())
    return scores


def psnr(mse: np.ndarray) -> float:
    """Mean over images of 10 log10(1 / MSE_j), in dB, for images in [0, 1]; at most ``MOST_DB`` each."""
    return float(np.mean(-10 * np.log10(np.maximum(mse, 10 ** (-MOST_DB / 10)))))


def ssim(x: np.ndarray, x_hat: np.ndarray) -> np.ndarray:
    """[n]: scikit-image's structural similarity of images [n, C, H, W] in [0, 1], 7x7 window, mean over channels."""
    from skimage.metrics import structural_similarity  # most of a phase's rounds do without it

    how = {"win_size": 7, "data_range": 1.0, "channel_axis": 0}
    pairs = zip(x.astype(np.float64), x_hat.astype(np.float64), strict=True)
    return np.array([structural_similarity(*pair, **how) for pair in pairs])  # type: ignore[no-untyped-call]


def confusion(y: np.ndarray, y_hat: np.ndarray, classes: int) -> np.ndarray:
    """[m, m] counts of the labels ``y`` [n] (rows) that were predicted as ``y_hat`` [n] (columns), m >= ``classes``."""
    size = max(classes, int(max(y.max(), y_hat.max())) + 1)
    return np.bincount(y * size + y_hat, minlength=size * size).reshape(size, size)


def classification(table: np.ndarray) -> dict[str, float]:
    """Accuracy and class averages of a ``confusion`` table.

    As in scikit-learn (whose import would double the start of a phase), macro averages are over the classes that are
    labels or predictions, the balanced accuracy over the labels, and what is 0 / 0 counts as 0.
    """
    hits, held, guessed = table.diagonal(), table.sum(axis=1), table.sum(axis=0)
    seen = held + guessed > 0
    return {
        "accuracy": float(hits.sum() / held.sum()),
        "balanced_accuracy": float(np.mean(hits[held > 0] / held[held > 0])),
        "macro_f1": float(np.mean(2 * hits[seen] / (held + guessed)[seen])),
        "macro_precision": float(np.mean(hits[seen] / np.maximum(guessed[seen], 1))),
        "macro_recall": float(np.mean(hits[seen] / np.maximum(held[seen], 1))),
    }


def class_recall(table: np.ndarray) -> str:
    """Recall of every class of a ``confusion`` table, from class 0 on; `-` for a class without a sample."""
    hits, held = table.diagonal().tolist(), table.sum(axis=1).tolist()
    return " ".join(f"{hit / of:.6g}" if of else "-" for hit, of in zip(hits, held, strict=True))


def detection(noisy: Sequence[Tensor], keep: Sequence[np.ndarray], suspicion: Sequence[np.ndarray]) -> dict[str, float]:
    """Precision and recall of the dropped samples as a guess at the noisy ones, and the AUC of the suspicion.

    Over all clients of a round that selected. What is undefined (nothing dropped, no noise, ...) is left out.
    """
    if not keep:
        return {}
    truth, dropped = torch.cat(list(noisy)).cpu().numpy(), ~np.concatenate(keep)
    scores = {}
    if dropped.any():
        scores["detection_precision"] = float(truth[dropped].mean())
    if truth.any():
        scores["detection_recall"] = float(dropped[truth].mean())
    if len(suspicion) == len(keep) and 0 < truth.mean() < 1:
        scores["detection_auc"] = auc(truth, np.concatenate(suspicion))
    return scores


def auc(truth: np.ndarray, score: np.ndarray) -> float:
    """How often a true one scores higher than a false one; a tie counts half. NaN scores highest."""
    _, level = np.unique(score, return_inverse=True)
    true, false = np.bincount(level, truth), np.bincount(level, ~truth)
    return float((true * (np.cumsum(false) - false / 2)).sum() / (true.sum() * false.sum()))
