"""MTAE for 28x28 grey images: 1,668,107 parameters with 10 classes (MTAE spec, 1.1)."""

from torch import nn

from fedsift.models.mtae import Mtae


def build(classes: int) -> Mtae:
    """Embedding: 512 values after the ReLU."""
    encoder = nn.Sequential(
        nn.Conv2d(1, 32, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64 * 7 * 7, 512),
        nn.ReLU(),
    )
    decoder = nn.Sequential(
        nn.Unflatten(1, (2, 16, 16)),
        nn.ConvTranspose2d(2, 32, 7),
        nn.ReLU(),
        nn.ConvTranspose2d(32, 1, 7),
        nn.Sigmoid(),
    )
    return Mtae(encoder, nn.Linear(512, classes), decoder)
