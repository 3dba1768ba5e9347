"""The CIFAR-10 augmentation of the MTAE paper: exactly one of six per image, chosen uniformly (MTAE spec, 2.1)."""

import numpy as np
import torch
from torch import Tensor
from torchvision.transforms.v2 import functional as tv

PAD = 4
CUT = 10
JITTER = 0.8
HUE = 0.2
DEGREES = 45.0
SCALE = (0.5, 1.5)


def one_of_six(x: Tensor, rng: np.random.Generator) -> Tensor:
    """Crop, flip, cutout, colour jitter, rotation or affine map for every image of ``x`` [n, C, H, W] in [0, 1].

    Every number is drawn from ``rng``, since torchvision's own draws come from PyTorch's global generator.
    """
    out = torch.empty_like(x)
    for index, choice in enumerate(rng.integers(len(CHOICES), size=len(x))):
        out[index] = CHOICES[choice](x[index], rng)
    return out


def crop(image: Tensor, rng: np.random.Generator) -> Tensor:
    """A random window of the image with a border of four zeros."""
    top, left = (int(v) for v in rng.integers(2 * PAD + 1, size=2))
    window: Tensor = tv.crop(tv.pad(image, [PAD]), top, left, *image.shape[-2:])
    return window


def flip(image: Tensor, rng: np.random.Generator) -> Tensor:
    """Left to right, every other time."""
    return tv.horizontal_flip(image) if rng.random() < 0.5 else image


def cutout(image: Tensor, rng: np.random.Generator) -> Tensor:
    """A 10 x 10 square set to zero, wholly inside the image."""
    height, width = image.shape[-2:]
    top, left = int(rng.integers(height - CUT + 1)), int(rng.integers(width - CUT + 1))
    erased: Tensor = tv.erase(image, top, left, CUT, CUT, torch.zeros((), device=image.device))
    return erased


def jitter(image: Tensor, rng: np.random.Generator) -> Tensor:
    """Brightness, contrast, saturation and hue in random order."""
    factor = {name: float(rng.uniform(1 - JITTER, 1 + JITTER)) for name in ("brightness", "contrast", "saturation")}
    hue = float(rng.uniform(-HUE, HUE))
    steps = [
        lambda im: tv.adjust_brightness(im, factor["brightness"]),
        lambda im: tv.adjust_contrast(im, factor["contrast"]),
        lambda im: tv.adjust_saturation(im, factor["saturation"]),
        lambda im: tv.adjust_hue(im, hue),
    ]
    for step in rng.permutation(len(steps)):
        image = steps[step](image)
    return image


def rotate(image: Tensor, rng: np.random.Generator) -> Tensor:
    """Up to 45 degrees either way; what comes in from outside is zero."""
    turned: Tensor = tv.rotate(image, float(rng.uniform(-DEGREES, DEGREES)))
    return turned


def affine(image: Tensor, rng: np.random.Generator) -> Tensor:
    """Rotation up to 45 degrees and scale 0.5 to 1.5."""
    angle, scale = float(rng.uniform(-DEGREES, DEGREES)), float(rng.uniform(*SCALE))
    mapped: Tensor = tv.affine(image, angle, translate=[0, 0], scale=scale, shear=[0.0, 0.0])
    return mapped


CHOICES = (crop, flip, cutout, jitter, rotate, affine)
