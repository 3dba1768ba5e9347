"""IAOFL's three-layer CNN for 32x32 colour images; widths are ours, the paper names only the layers (IAOFL spec, 9)."""

from torch import nn

from fedsift.models.cnn import Cnn, conv_block


def build(classes: int) -> Cnn:
    """5x5 convolutions of 32, 64 and 128 channels, 512 hidden units."""
    body = nn.Sequential(
        *conv_block(3, 32, 2),
        *conv_block(32, 64, 2),
        *conv_block(64, 128, 2),
        nn.Flatten(),
        nn.Linear(128 * 4 * 4, 512),
        nn.ReLU(),
    )
    return Cnn(body, nn.Linear(512, classes))
