"""The small CNN of the widely copied public FedAvg code (EMFedAvg spec, 6): 21,840 parameters with 10 classes."""

from torch import nn

from fedsift.models.cnn import Cnn
from fedsift.models.dropout import StreamDropout


def build(classes: int) -> Cnn:
    """Two 5x5 convolutions of 10 and 20 channels without padding, 50 hidden units, dropout of 0.5 twice."""
    body = nn.Sequential(
        nn.Conv2d(1, 10, 5),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Conv2d(10, 20, 5),
        StreamDropout(0.5, channels=True),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(320, 50),
        nn.ReLU(),
        StreamDropout(0.5),
    )
    return Cnn(body, nn.Linear(50, classes))
