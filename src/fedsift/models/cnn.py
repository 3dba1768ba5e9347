"""Plain classifiers: a body that yields the embedding, and one linear layer on it."""

from torch import Tensor, nn

from fedsift.models.output import Output


class Cnn(nn.Module):
    """Classifier with the same output type as the autoencoders, so that the round loop need not tell them apart."""

    def __init__(self, body: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.body = body
        self.head = head

    def forward(self, x: Tensor) -> Output:
        """Images [n, C, H, W] in [0, 1] -> logits [n, classes], no reconstruction, embedding [n, d]."""
        z = self.body(x)
        return Output(self.head(z), None, z)


def conv_block(inside: int, outside: int, padding: int) -> list[nn.Module]:
    """5x5 convolution, ReLU, 2x2 maximum."""
    return [nn.Conv2d(inside, outside, 5, padding=padding), nn.ReLU(), nn.MaxPool2d(2)]
