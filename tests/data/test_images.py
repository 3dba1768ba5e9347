"""Foreign images fitted to the target, against slow twins."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from fedsift.data.images import ImageError, fit


def twin(image: np.ndarray, height: int, width: int) -> np.ndarray:
    """Exact mean of a grey image over each target pixel's area."""
    h, w = image.shape
    out = np.empty((height, width), np.uint8)
    for i in range(height):
        for j in range(width):
            total = Fraction(0)
            for a in range(h):
                for b in range(w):
                    high = min(Fraction((i + 1) * h, height), a + 1) - max(Fraction(i * h, height), a)
                    wide = min(Fraction((j + 1) * w, width), b + 1) - max(Fraction(j * w, width), b)
                    total += max(high, 0) * max(wide, 0) * int(image[a, b])
            out[i, j] = int(total / (Fraction(h, height) * Fraction(w, width)) + Fraction(1, 2))
    return out


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_area_mean_equals_the_exact_one(h: int, w: int, height: int, width: int, seed: int) -> None:
    image = np.random.default_rng(seed).integers(0, 256, (1, h, w, 1), np.uint8)
    assert np.array_equal(fit(image, (height, width, 1), 255, 255)[0, ..., 0], twin(image[0, ..., 0], height, width))


def test_whole_ratio_is_a_box_mean() -> None:
    image = np.random.default_rng(1).integers(0, 256, (3, 32, 32, 3), np.uint8)
    means = image.reshape(3, 8, 4, 8, 4, 3).astype(float).mean(axis=(2, 4))
    assert np.array_equal(fit(image, (8, 8, 3), 255, 255), np.floor(means + 0.5))


def test_grey_follows_itu_r_601() -> None:
    image = np.random.default_rng(2).integers(0, 256, (1, 32, 32, 3), np.uint8)
    pillow = np.asarray(Image.fromarray(image[0]).convert("L"), int)
    assert np.abs(fit(image, (32, 32, 1), 255, 255)[0, ..., 0].astype(int) - pillow).max() <= 1


def test_grey_becomes_three_equal_channels_and_unchanged_stays() -> None:
    image = np.random.default_rng(3).integers(0, 256, (5, 28, 28, 1), np.uint8)
    assert np.array_equal(fit(image, (28, 28, 3), 255, 255), np.repeat(image, 3, axis=3))
    assert np.array_equal(fit(image, (28, 28, 1), 255, 255), image)


def test_range_is_rescaled_at_both_ends() -> None:
    ramp = np.arange(256, dtype=np.uint8).reshape(1, 16, 16, 1)
    assert np.array_equal(
        fit(ramp, (16, 16, 1), 255, 16).ravel(), [(2 * 16 * value + 255) // 510 for value in range(256)]
    )
    assert fit(np.full((1, 8, 8, 1), 16, np.uint8), (8, 8, 1), 16, 255).min() == 255


def test_result_does_not_depend_on_company() -> None:
    images = np.random.default_rng(4).integers(0, 256, (2100, 6, 6, 3), np.uint8)
    together = fit(images, (4, 4, 1), 255, 16)
    assert together.dtype == np.uint8 and together.flags.c_contiguous
    assert np.array_equal(together[2050:2060], fit(images[2050:2060], (4, 4, 1), 255, 16))
    assert fit(images[:0], (4, 4, 1), 255, 16).shape == (0, 4, 4, 1)


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (np.zeros((1, 4, 4, 1)), "uint8"),
        (np.zeros((4, 4, 1), np.uint8), "uint8"),
        (np.zeros((1, 4, 4, 2), np.uint8), "2 channels"),
        (np.full((1, 4, 4, 1), 17, np.uint8), "17, above"),
    ],
)
def test_wrong_images_are_refused(images: np.ndarray, message: str) -> None:
    with pytest.raises(ImageError, match=message):
        fit(images, (4, 4, 1), 16, 255)
