"""MTAE for the 8x8 digits that ship with scikit-learn: the shape of the MNIST one, scaled down (ours, for `quick`)."""

from torch import nn

from fedsift.models.mtae import Mtae


def build(classes: int) -> Mtae:
    """Embedding: 64 values after the ReLU."""
    encoder = nn.Sequential(
        nn.Conv2d(1, 16, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 2 * 2, 64),
        nn.ReLU(),
    )
    decoder = nn.Sequential(
        nn.Unflatten(1, (4, 4, 4)),
        nn.ConvTranspose2d(4, 16, 3),
        nn.ReLU(),
        nn.ConvTranspose2d(16, 1, 3),
        nn.Sigmoid(),
    )
    return Mtae(encoder, nn.Linear(64, classes), decoder)
