import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from fedsift.selection.svdd import centres, distances, has_centre, in_last_batch, radii, regulariser

MU = torch.tensor([[0.0, 0.0], [4.0, 0.0], [0.0, 9.0]])
R = torch.tensor([1.0, 2.0, 5.0])
Z = torch.tensor([[3.0, 0.0], [0.0, 1.0], [4.0, 3.0]])
Y = torch.tensor([0, 0, 1])
"""Excesses over R^2: 9 - 1 = 8 and none in class 0 (mean 4), 9 - 4 = 5 in class 1; class 2 is not in the batch."""


def slow(z: Tensor, y: Tensor, mu: Tensor, R: Tensor, factor: float, batch_classes: bool) -> float:
    """The slow twin: the formula as the fact sheet has it, in Python numbers."""
    terms = []
    for i in range(len(mu)):
        js = [j for j in range(len(y)) if y[j] == i and all(math.isfinite(c) for c in mu[i].tolist())]
        outside = 0.0
        for j in js:
            squared = sum((a - b) ** 2 for a, b in zip(z[j].tolist(), mu[i].tolist(), strict=True))
            outside += max(0.0, squared - R[i].item() ** 2) / len(js)
        if js or not batch_classes:
            terms.append(R[i].item() ** 2 + factor * outside)
    return sum(terms) / len(terms) if terms else 0.0


def batch(seed: int, n: int, k: int, d: int, without: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Random z, y, mu, R in doubles; ``without`` classes have no centre."""
    rng = np.random.default_rng(seed)
    mu = torch.from_numpy(rng.normal(size=(k, d)))
    R = torch.from_numpy(rng.uniform(0, 3, size=k))
    mu[:without], R[:without] = torch.inf, 0.0
    return torch.from_numpy(rng.normal(size=(n, d))), torch.from_numpy(rng.integers(k, size=n)), mu, R


BATCHES = {
    "seed": st.integers(0, 2**32),
    "n": st.integers(1, 12),
    "k": st.integers(1, 5),
    "d": st.integers(1, 4),
    "without": st.integers(0, 2),
}


def test_released_form_by_hand() -> None:
    """1/2 ((1 + 2 * 4) + (4 + 2 * 5))."""
    assert regulariser(Z, Y, MU, R, factor=1 / 0.5, batch_classes=True).item() == 11.5


def test_paper_form_by_hand() -> None:
    """(1 + 4 + 25) / 3 + (4 + 5) / 3: the radius of an absent class counts."""
    assert regulariser(Z, Y, MU, R, factor=1.0, batch_classes=False).item() == 13.0


def test_mixed_forms_by_hand() -> None:
    assert regulariser(Z, Y, MU, R, factor=1.0, batch_classes=True).item() == 7.0  # ((1 + 4) + (4 + 5)) / 2
    assert regulariser(Z, Y, MU, R, factor=2.0, batch_classes=False).item() == 16.0  # 30 / 3 + 2 (4 + 5) / 3


def test_gradient_by_hand() -> None:
    """d/dz_j = factor / (|C_B| n_i) 2 (z_j - mu_i) outside the ball, 0 inside; neither mu nor R learn."""
    z = Z.clone().requires_grad_()
    regulariser(z, Y, MU, R, factor=2.0, batch_classes=True).backward()
    assert z.grad is not None
    assert z.grad.tolist() == [[3.0, 0.0], [0.0, 0.0], [0.0, 6.0]]


@settings(max_examples=80, deadline=None)
@given(**BATCHES, factor=st.sampled_from([1.0, 10.0]), batch_classes=st.booleans())
def test_loss_against_the_slow_twin(
    seed: int, n: int, k: int, d: int, without: int, factor: float, batch_classes: bool
) -> None:
    z, y, mu, R = batch(seed, n, k, d, without)
    fast = regulariser(z, y, mu, R, factor=factor, batch_classes=batch_classes).item()
    assert fast == pytest.approx(slow(z, y, mu, R, factor, batch_classes), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("without", [0, 2])
@pytest.mark.parametrize("batch_classes", [True, False])
def test_loss_is_differentiable(without: int, batch_classes: bool) -> None:
    z, y, mu, R = batch(1, 7, 3, 4, without)

    def loss(z: Tensor) -> Tensor:
        return regulariser(z, y, mu, R, factor=10.0, batch_classes=batch_classes)

    assert torch.autograd.gradcheck(loss, z.requires_grad_())
    loss(z).backward()
    assert z.grad is not None
    assert (z.grad[y < without] == 0).all(), "samples without a centre are left alone"


def test_order_of_the_batch_changes_nothing() -> None:
    z, y, mu, R = batch(2, 12, 4, 3, 0)
    back = torch.arange(11, -1, -1)
    values = [regulariser(z[rows], y[rows], mu, R, factor=1.0, batch_classes=True) for rows in (slice(None), back)]
    assert values[0].item() == pytest.approx(values[1].item(), rel=1e-14)


def test_batch_without_any_centre_adds_nothing() -> None:
    mu, R = torch.full((3, 2), torch.inf), torch.zeros(3)
    assert regulariser(Z, Y, mu, R, factor=1.0, batch_classes=True).item() == 0.0
    assert regulariser(Z, Y, mu, R, factor=1.0, batch_classes=False).item() == 0.0


def test_centres_by_hand() -> None:
    """Means of the classes; class 1 has no sample. Zeros stay, what is nearly zero is moved to +-1e-10."""
    z = torch.tensor([[1.0, 0.0, 2e-11], [3.0, 0.0, 2e-11], [7.0, -1e-12, 2e-10]])
    mu = centres(z, torch.tensor([0, 0, 2]), 3)
    assert mu.dtype == torch.float32
    assert has_centre(mu).tolist() == [True, False, True]
    expected = torch.tensor([[2.0, 0.0, 1e-10], [torch.inf] * 3, [7.0, -1e-10, 2e-10]])
    assert torch.equal(mu, expected)


@settings(max_examples=50, deadline=None)
@given(**BATCHES)
def test_centres_against_plain_means(seed: int, n: int, k: int, d: int, without: int) -> None:
    z, y, _, _ = batch(seed, n, k, d, 0)
    mu = centres(z, y, k)
    for i in range(k):
        rows = [z[j].tolist() for j in range(n) if y[j] == i]
        if rows:
            assert mu[i].tolist() == pytest.approx([sum(column) / len(rows) for column in zip(*rows, strict=True)])
        else:
            assert not has_centre(mu)[i]


def test_distances_are_not_squared() -> None:
    assert distances(Z, Y, MU).tolist() == [3.0, 1.0, 3.0]


def test_radii_by_hand() -> None:
    """The 0.9 quantile of 0, 1, ..., 10 is 9; of one distance it is that one; class 1 keeps its radius."""
    d = np.array([*range(11), 3.0])
    y = np.array([0] * 11 + [2])
    before = np.array([1.0, 2.0, 5.0])
    assert radii(d, y, before, 0.1).tolist() == pytest.approx([9.0, 2.0, 3.0])
    assert before.tolist() == [1.0, 2.0, 5.0]


def test_radii_lie_between_the_neighbours() -> None:
    """0.75 of the way from the first to the last of 5 is the fourth; 0.9 lies 0.6 of the step behind it."""
    d = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    assert radii(d, np.zeros(5, int), np.zeros(1), 0.25).tolist() == [8.0]
    assert radii(d, np.zeros(5, int), np.zeros(1), 0.1).tolist() == pytest.approx([8 + 0.6 * 8])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 100), min_size=1, max_size=40), st.integers(1, 99))
def test_about_the_share_nu_lies_over_the_radius(d: list[float], percent: int) -> None:
    (r,) = radii(np.array(d), np.zeros(len(d), int), np.zeros(1), percent / 100)
    over, from_it = sum(one > r * (1 + 1e-12) for one in d), sum(one >= r * (1 - 1e-12) for one in d)
    assert over <= percent / 100 * (len(d) - 1) + 1
    assert from_it >= percent / 100 * (len(d) - 1)


def test_no_reports_keep_all_radii() -> None:
    assert radii(np.empty(0), np.empty(0, int), np.array([1.0, 2.0]), 0.1).tolist() == [1.0, 2.0]


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=30))
def test_in_the_last_batch_against_the_slow_twin(samples: list[tuple[int, bool]]) -> None:
    y = [label for label, _ in samples]
    batch = np.cumsum([new for _, new in samples]).tolist()
    wanted = [all(batch[i] <= batch[j] for i in range(len(y)) if y[i] == y[j]) for j in range(len(y))]
    assert in_last_batch(torch.tensor(y), torch.tensor(batch), 4).tolist() == wanted
