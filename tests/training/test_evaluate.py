import math
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from skimage.metrics import peak_signal_noise_ratio
from sklearn import metrics
from torch import Tensor, nn
from training.tiny import samples_of

from fedsift import models
from fedsift.config.model import MtaeObjective
from fedsift.models.output import Output
from fedsift.training.evaluate import auc, class_recall, classification, confusion, detection, evaluate, psnr, ssim

OBJECTIVE = MtaeObjective(lambda_rec=1.0, lambda_cls=0.5)
LABELS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=60)


class Fixed(nn.Module):
    """Predicts what it is told, in order."""

    def __init__(self, logits: Tensor) -> None:
        super().__init__()
        self.logits = logits
        self.at = 0

    def forward(self, x: Tensor) -> Output:
        self.at += len(x)
        return Output(self.logits[self.at - len(x) : self.at], None, x.flatten(1))


def test_known_answer() -> None:
    """Labels 0 0 1 2, predictions 0 1 1 0: by hand."""
    scores = classification(confusion(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 0]), 3))
    assert scores == pytest.approx(
        {
            "accuracy": 2 / 4,
            "balanced_accuracy": (1 / 2 + 1 + 0) / 3,
            "macro_recall": (1 / 2 + 1 + 0) / 3,
            "macro_precision": (1 / 2 + 1 / 2 + 0) / 3,
            "macro_f1": (1 / 2 + 2 / 3 + 0) / 3,
        }
    )


@given(LABELS)
@pytest.mark.filterwarnings("ignore:y_pred contains classes", "ignore:A single label was found")
def test_scores_are_scikit_learns(pairs: list[tuple[int, int]]) -> None:
    y, y_hat = np.array(pairs).T
    precision, recall, f1, _ = metrics.precision_recall_fscore_support(y, y_hat, average="macro", zero_division=0)
    expected = {
        "accuracy": metrics.accuracy_score(y, y_hat),
        "balanced_accuracy": metrics.balanced_accuracy_score(y, y_hat),
        "macro_f1": f1,
        "macro_precision": precision,
        "macro_recall": recall,
    }
    assert classification(confusion(y, y_hat, 1)) == pytest.approx(expected)


def test_class_that_the_test_set_lacks() -> None:
    """It counts in the macro averages if it is predicted, never in the balanced accuracy."""
    scores = classification(confusion(np.array([0, 0, 2]), np.array([0, 4, 2]), 3))
    assert scores["balanced_accuracy"] == pytest.approx((1 / 2 + 1) / 2)
    assert scores["macro_recall"] == pytest.approx((1 / 2 + 1 + 0) / 3)


def test_whole_test_set_whatever_the_chunk() -> None:
    samples = samples_of([4])
    model = models.build("mtae-digits", 10, 0)
    whole, chunks = (evaluate(model, samples, OBJECTIVE, chunk) for chunk in (1000, 7))
    assert whole == pytest.approx(chunks)
    images = samples.images(samples.x_test)
    with torch.no_grad():
        output = model.eval()(images)
    ce = torch.nn.functional.cross_entropy(output.logits, samples.y_test).item()
    mse = (output.reconstruction - images).square().mean().item()
    assert whole["accuracy"] == (output.logits.argmax(1) == samples.y_test).sum().item() / 20
    assert whole["cross_entropy"] == pytest.approx(ce, rel=1e-5)
    assert whole["mse"] == pytest.approx(mse, rel=1e-5)
    assert whole["loss"] == pytest.approx(mse + 0.5 * ce, rel=1e-5)


def test_classifiers_have_no_mse() -> None:
    samples = samples_of([4], (28, 28, 1))
    scores = evaluate(models.build("cnn-small", 10, 0), samples, None, 1000)
    assert not {"mse", "psnr", "ssim"} & scores.keys()
    assert scores["loss"] == scores["cross_entropy"]


def test_is_in_evaluation_mode_and_changes_nothing() -> None:
    samples = samples_of([4], (32, 32, 3))
    model = models.build("mtae-cifar10", 10, 0).train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    first, second = (evaluate(model, samples, OBJECTIVE, 8) for _ in range(2))
    assert first == second
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e38])
def test_logits_that_are_not_finite_do_not_crash(value: float) -> None:
    """A model may be finite itself and overflow in the forward pass; the losses say so, the run goes on."""
    samples = samples_of([4])
    scores = evaluate(Fixed(torch.full((20, 10), value)), samples, None, 6)
    assert 0 <= scores["accuracy"] <= 1
    assert all(0 <= scores[key] <= 1 for key in scores if key not in {"loss", "cross_entropy", "class_recall"})
    assert value == 1e38 or not math.isfinite(scores["loss"])


def test_psnr_is_the_mean_of_the_images_own() -> None:
    """Known answers, scikit-image's, and 100 dB for an image that comes back exactly."""
    assert psnr(np.array([0.1, 0.001])) == pytest.approx((10 + 30) / 2)
    assert psnr(np.array([0.0])) == psnr(np.array([1e-12])) == 100
    assert math.isnan(psnr(np.array([math.nan, 0.1])))
    rng = np.random.default_rng(0)
    x, x_hat = rng.random((2, 5, 3, 8, 8))
    theirs = [peak_signal_noise_ratio(*pair, data_range=1) for pair in zip(x, x_hat, strict=True)]
    assert psnr(((x - x_hat) ** 2).mean((1, 2, 3))) == pytest.approx(np.mean(theirs))


def test_ssim_by_its_formula() -> None:
    """A slow twin: every 7x7 window inside the image, sample variances, mean over windows and channels."""
    rng = np.random.default_rng(1)
    x, x_hat = rng.random((2, 2, 3, 9, 8))
    c1, c2 = 0.01**2, 0.03**2
    expected = np.zeros((2, 3, 3, 2))
    for at in np.ndindex(*expected.shape):
        one, channel, row, column = at
        a, b = (images[one, channel, row : row + 7, column : column + 7].ravel() for images in (x, x_hat))
        covariance = np.cov(a, b)
        contrast = (2 * covariance[0, 1] + c2) / (covariance[0, 0] + covariance[1, 1] + c2)
        expected[at] = (2 * a.mean() * b.mean() + c1) / (a.mean() ** 2 + b.mean() ** 2 + c1) * contrast
    assert ssim(x, x_hat) == pytest.approx(expected.mean((1, 2, 3)))
    assert ssim(x, x).tolist() == [1, 1]


def test_reconstruction_figures_of_the_first_images_whatever_the_chunk() -> None:
    samples = samples_of([4])
    model = models.build("mtae-digits", 10, 0)
    images = samples.images(samples.x_test)
    with torch.no_grad():
        rebuilt = model.eval()(images).reconstruction
    every = ssim(images.numpy(), rebuilt.numpy())
    for chunk, count, used in ((1000, 9, 9), (7, 9, 9), (7, 500, 20), (9, 9, 9), (3, 1, 1)):
        scores = evaluate(model, samples, OBJECTIVE, chunk, count)
        assert scores["ssim"] == pytest.approx(every[:used].mean(), rel=1e-5)
    mse = (rebuilt - images).square().mean((1, 2, 3)).double().numpy()
    assert scores["psnr"] == pytest.approx(np.mean(10 * np.log10(1 / mse)), rel=1e-5)


def test_training_does_not_wait_for_scikit_image_before_it_evaluates() -> None:
    code = "import sys; import fedsift.training.run; print('skimage' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "False\n"


NOISY = [torch.tensor([True, False, False]), torch.tensor([True, True])]
KEEP = [np.array([False, False, True]), np.array([True, False])]
SUSPICION = [np.array([3.0, 1.0, 1.0]), np.array([1.0, 4.0])]


def test_detection_over_all_clients() -> None:
    """Dropped 3 of which 2 are noisy; 3 noisy of which 2 dropped; of 6 pairs 4 won and 2 tied."""
    assert detection(NOISY, KEEP, SUSPICION) == pytest.approx(
        {"detection_precision": 2 / 3, "detection_recall": 2 / 3, "detection_auc": 5 / 6}
    )


def test_detection_leaves_out_what_is_undefined() -> None:
    clean = [torch.zeros(3, dtype=torch.bool)]
    assert detection([], [], []) == {}
    assert detection(clean, [np.ones(3, bool)], [np.zeros(3)]) == {}
    assert detection(clean, [np.array([True, True, False])], []) == {"detection_precision": 0.0}
    assert detection(NOISY, [np.ones(3, bool), np.ones(2, bool)], []) == {"detection_recall": 0.0}


def test_detection_needs_the_suspicion_of_all() -> None:
    assert "detection_auc" not in detection(NOISY, KEEP, SUSPICION[:1])


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([-2.0, 0.0, 0.5, 1.0, math.inf])), min_size=2, max_size=40))
def test_auc_counts_pairs(pairs: list[tuple[bool, float]]) -> None:
    truth, score = np.array([t for t, _ in pairs]), np.array([s for _, s in pairs])
    true, false = score[truth], score[~truth]
    if len(true) and len(false):
        won = [1.0 if a > b else 0.5 if a == b else 0.0 for a in true for b in false]
        assert auc(truth, score) == pytest.approx(np.mean(won))


def test_auc_is_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    truth, score = rng.random(500) < 0.4, rng.normal(size=500).round(1)
    assert auc(truth, score) == pytest.approx(metrics.roc_auc_score(truth, score))


def test_auc_of_scores_that_are_not_numbers() -> None:
    assert auc(np.array([True, False, False]), np.array([math.nan, 1.0, 2.0])) == 1.0


def test_class_recall() -> None:
    """Class 2 has no label, class 3 no hit, class 4 neither label nor prediction."""
    table = confusion(np.array([0, 0, 0, 1, 3]), np.array([0, 0, 2, 1, 1]), 5)
    assert class_recall(table) == "0.666667 1 - 0 -"
