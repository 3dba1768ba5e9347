"""What the configuration and the forecasts have to know of a model, without building it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ModelInfo:
    """Facts of a model.

    Attributes:
        shape: images that it takes, (H, W, C).
        multitask: it returns a reconstruction beside the logits.
        parameters: how many it has with 10 classes.
    """

    shape: tuple[int, int, int]
    multitask: bool
    parameters: int


MODELS = {
    "mtae-mnist": ModelInfo((28, 28, 1), True, 1_668_107),
    "mtae-cifar10": ModelInfo((32, 32, 3), True, 1_303_309),
    "mtae-digits": ModelInfo((8, 8, 1), True, 22_891),
    "cnn-mcmahan": ModelInfo((28, 28, 1), False, 1_663_370),
    "cnn-small": ModelInfo((28, 28, 1), False, 21_840),
    "cnn-three": ModelInfo((32, 32, 3), False, 1_312_842),
}
