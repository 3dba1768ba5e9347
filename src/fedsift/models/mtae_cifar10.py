"""MTAE for 32x32 colour images: 1,303,309 parameters with 10 classes (MTAE spec, 1.2).

Batch normalisation comes after the ReLU, as in the authors' code. Dropout is left out: every experiment sets it to 0.
"""

from torch import nn

from fedsift.models.mtae import Mtae


def _down(inside: int, outside: int) -> list[nn.Module]:
    return [nn.Conv2d(inside, outside, 3, stride=2, padding=1), nn.ReLU(), nn.BatchNorm2d(outside)]


def _up(inside: int, outside: int) -> nn.Module:
    return nn.ConvTranspose2d(inside, outside, 3, stride=2, padding=1, output_padding=1)


def build(classes: int) -> Mtae:
    """Embedding: 256 x 2 x 2 = 1024 values."""
    encoder = nn.Sequential(*_down(3, 64), *_down(64, 128), *_down(128, 128), *_down(128, 256), nn.Flatten())
    classifier = nn.Sequential(nn.Linear(1024, 256), nn.ReLU(), nn.Linear(256, classes))
    decoder = nn.Sequential(
        nn.Unflatten(1, (256, 2, 2)),
        _up(256, 128),
        nn.ReLU(),
        nn.BatchNorm2d(128),
        _up(128, 128),
        nn.ReLU(),
        nn.BatchNorm2d(128),
        _up(128, 64),
        nn.ReLU(),
        nn.BatchNorm2d(64),
        _up(64, 3),
        nn.Sigmoid(),
    )
    return Mtae(encoder, classifier, decoder)
