"""McMahan et al. 2017's MNIST CNN: 1,663,370 parameters with 10 classes (EMFedAvg spec, 6; IAOFL spec, 9)."""

from torch import nn

from fedsift.models.cnn import Cnn, conv_block


def build(classes: int) -> Cnn:
    """Two 5x5 convolutions of 32 and 64 channels, 512 hidden units."""
    body = nn.Sequential(
        *conv_block(1, 32, 2), *conv_block(32, 64, 2), nn.Flatten(), nn.Linear(64 * 7 * 7, 512), nn.ReLU()
    )
    return Cnn(body, nn.Linear(512, classes))
