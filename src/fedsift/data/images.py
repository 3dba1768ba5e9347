"""Foreign images brought to the shape and value range of the target set, for open-set noise."""

import numpy as np
from numpy.typing import NDArray

from fedsift.errors import FedsiftError

# ITU-R BT.601-7, section 2.5.1: luma weights of red, green and blue, in thousandths.
LUMA = (299, 587, 114)
CHUNK = 2048


class ImageError(FedsiftError):
    """Images that cannot be brought to the target's shape."""


def fit(images: NDArray[np.uint8], shape: tuple[int, int, int], source_max: int, target_max: int) -> NDArray[np.uint8]:
    """Bring ``images`` uint8 [N, h, w, c] of 0..``source_max`` to uint8 [N, H, W, C] of 0..``target_max``.

    ``shape`` is (H, W, C). A pixel of the result is the mean of the source over its area (for whole ratios a
    box mean); colour becomes grey by ITU-R 601 luma, grey becomes colour by repetition. All in whole numbers
    and rounded once, half up, so the bytes are the same on every machine. Raises ImageError.
    """
    if images.ndim != 4 or images.dtype != np.uint8:
        raise ImageError(f"Foreign images are {images.dtype} {list(images.shape)}: give them as uint8 [N,H,W,C].")
    height, width, channels = shape
    source = images.shape[3]
    if source != channels and (source, channels) not in ((3, 1), (1, 3)):
        raise ImageError(
            f"Images of {source} channels cannot become images of {channels}: use a set with 1 or 3 channels."
        )
    if images.size and int(images.max()) > source_max:
        raise ImageError(f"Foreign images go up to {images.max()}, above the maximum {source_max} stated for them.")
    fitted = np.empty((len(images), *shape), np.uint8)
    # In chunks: the sums take eight bytes a value.
    for start in range(0, len(images), CHUNK):
        chunk = slice(start, start + CHUNK)
        fitted[chunk] = _fit(images[chunk].astype(np.int64), height, width, channels, source_max, target_max)
    return fitted


def _fit(
    x: NDArray[np.int64], height: int, width: int, channels: int, source_max: int, target_max: int
) -> NDArray[np.int64]:
    unit = x.shape[1] * x.shape[2] * source_max
    if x.shape[3] == 3 and channels == 1:
        x = (x @ np.array(LUMA))[..., None]
        unit *= sum(LUMA)
    x = _area_sum(_area_sum(x, 1, height), 2, width)
    # (2a + b) // 2b is a / b rounded half up.
    rounded: NDArray[np.int64] = (2 * target_max * x + unit) // (2 * unit)
    if rounded.shape[3] != channels:
        rounded = np.repeat(rounded, channels, axis=3)
    return rounded


def _area_sum(x: NDArray[np.int64], axis: int, count: int) -> NDArray[np.int64]:
    """Area-weighted means along one axis, times its old length, which keeps them whole numbers."""
    old = x.shape[axis]
    if old == count:
        scaled: NDArray[np.int64] = x * old
        return scaled
    x = np.moveaxis(x, axis, 0)
    sums = np.zeros((count, *x.shape[1:]), np.int64)
    for new in range(count):
        first, last = new * old, (new + 1) * old
        for at in range(first // count, -(-last // count)):
            sums[new] += (min(last, (at + 1) * count) - max(first, at * count)) * x[at]
    return np.moveaxis(sums, 0, axis)
