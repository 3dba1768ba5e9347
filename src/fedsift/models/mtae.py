"""The multi-task autoencoder: encoder, classifier and decoder on one embedding (MTAE paper, spec section 1)."""

from torch import Tensor, nn

from fedsift.models.output import Output


class Mtae(nn.Module):
    """L = lambda_rec MSE(decoder(z), x) + lambda_cls CE(classifier(z), y) with z = encoder(x)."""

    def __init__(self, encoder: nn.Module, classifier: nn.Module, decoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        self.classifier = classifier
        self.decoder = decoder

    def forward(self, x: Tensor) -> Output:
        """Images [n, C, H, W] in [0, 1] -> logits [n, classes], reconstruction like x, embedding [n, d]."""
        z = self.encoder(x)
        return Output(self.classifier(z), self.decoder(z), z)
