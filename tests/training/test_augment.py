from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from fedsift.training import augment
from fedsift.training.augment import CHOICES, affine, crop, cutout, flip, jitter, one_of_six, rotate
from fedsift.training.streams import stream


def image(seed: int = 0) -> Tensor:
    return torch.rand(3, 32, 32, generator=torch.Generator().manual_seed(seed)) * 0.9 + 0.05


def rng(seed: int = 0) -> np.random.Generator:
    return stream(seed, "augment")


def test_six_choices() -> None:
    assert [choice.__name__ for choice in CHOICES] == ["crop", "flip", "cutout", "jitter", "rotate", "affine"]


def test_exactly_one_of_six_for_every_image(monkeypatch: pytest.MonkeyPatch) -> None:
    """Uniformly: of 6,000 images each choice gets 1,000, give or take five standard deviations."""

    def noting(number: int) -> object:
        return lambda im, rng: im + number + 1

    monkeypatch.setattr(augment, "CHOICES", tuple(noting(number) for number in range(6)))
    out = one_of_six(torch.zeros(6000, 1, 1, 1), rng())
    counts = Counter(out.flatten().int().tolist())
    assert sorted(counts) == [1, 2, 3, 4, 5, 6]
    assert all(abs(count - 1000) < 5 * (6000 * 5 / 36) ** 0.5 for count in counts.values())


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32))
def test_shape_range_and_repeatability(seed: int) -> None:
    x = torch.rand(7, 32, 32, 3, generator=torch.Generator().manual_seed(seed)).permute(0, 3, 1, 2)
    before, state = x.clone(), torch.random.get_rng_state()
    out = one_of_six(x, rng(seed))
    assert out.shape == x.shape
    assert out.dtype == torch.float32
    assert out.is_contiguous(memory_format=torch.channels_last)
    assert 0 <= out.min() <= out.max() <= 1
    assert torch.equal(out, one_of_six(x, rng(seed)))
    assert torch.equal(x, before)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_global_generators_do_not_matter() -> None:
    x = torch.rand(12, 3, 32, 32)
    outs = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        np.random.seed(seed)
        outs.append(one_of_six(x, rng()))
    assert torch.equal(*outs)


def test_crop_is_a_window_of_the_padded_image() -> None:
    im = image()
    padded = torch.nn.functional.pad(im, (4, 4, 4, 4))
    seen = set()
    for seed in range(200):
        out = crop(im, rng(seed))
        places = [
            (top, left)
            for top in range(9)
            for left in range(9)
            if torch.equal(out, padded[:, top : top + 32, left : left + 32])
        ]
        assert len(places) == 1
        seen.update(places)
    assert {top for top, _ in seen} == {left for _, left in seen} == set(range(9))


def test_flip_half_the_time() -> None:
    im = image()
    flipped = [torch.equal(flip(im, rng(seed)), im.flip(-1)) for seed in range(400)]
    assert all(torch.equal(flip(im, rng(seed)), im) for seed in range(400) if not flipped[seed])
    assert 150 < sum(flipped) < 250


def test_cutout_is_a_square_of_ten_anywhere() -> None:
    im, corners = image(), set()
    for seed in range(300):
        out = cutout(im, rng(seed))
        hole = (out == 0).all(0)
        rows, columns = hole.any(1).nonzero().flatten(), hole.any(0).nonzero().flatten()
        assert (len(rows), len(columns), int(hole.sum())) == (10, 10, 100)
        assert torch.equal(out[:, ~hole], im[:, ~hole])
        corners.add((int(rows[0]), int(columns[0])))
    assert {0, 22} <= {row for row, _ in corners}
    assert {0, 22} <= {column for _, column in corners}


def test_jitter_moves_colours_and_nothing_else() -> None:
    """A flat image stays flat, and a grey one grey (its hue and saturation are undefined)."""
    grey = torch.full((3, 32, 32), 0.4)
    values = [jitter(grey, rng(seed)) for seed in range(50)]
    assert all(torch.allclose(out, out[0, 0, 0].expand_as(out), atol=1e-5) for out in values)
    means = torch.stack([out.mean() for out in values])
    assert means.min() < 0.25
    assert means.max() > 0.55


@pytest.mark.parametrize("change", [rotate, affine])
def test_geometry_keeps_the_centre_and_brings_zeros_in(change: object) -> None:
    white = torch.ones(3, 32, 32)
    outs = [change(white, rng(seed)) for seed in range(60)]
    assert all(out[:, 15:17, 15:17].min() == 1 for out in outs)
    assert all(set(out.unique().tolist()) <= {0.0, 1.0} for out in outs)
    assert any(out.min() == 0 for out in outs)


def test_rotation_stays_within_45_degrees() -> None:
    """The angle of a bright point on the right, seen from the centre."""
    im = torch.zeros(1, 33, 33)
    im[:, 15:18, 27:30] = 1
    angles = []
    for seed in range(150):
        y, x = (rotate(im, rng(seed))[0] > 0).nonzero().float().mean(0).tolist()
        angles.append(np.degrees(np.arctan2(y - 16, x - 16)))
    assert -47 < min(angles) < -38
    assert 38 < max(angles) < 47


def test_scale_is_between_half_and_one_and_a_half() -> None:
    """Share of the frame that a white square of 16 x 16 fills, which no rotation changes."""
    im = torch.zeros(1, 32, 32)
    im[:, 8:24, 8:24] = 1
    scales = [float((affine(im, rng(seed)).sum() / 256).sqrt()) for seed in range(150)]
    assert 0.45 < min(scales) < 0.6
    assert 1.35 < max(scales) < 1.55
