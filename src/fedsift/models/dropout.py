"""Dropout whose draws come from a stream of the run instead of PyTorch's global generator."""

import torch
from torch import Tensor, nn


class StreamDropout(nn.Module):
    """Dropout with probability ``p``; ``channels`` drops whole channels of [n, C, H, W].

    The engine seeds it once per client and round, so a result depends on neither order nor interruption.
    """

    def __init__(self, p: float, channels: bool = False) -> None:
        super().__init__()
        self.p = p
        self.channels = channels
        self.generator = torch.Generator()

    def forward(self, x: Tensor) -> Tensor:
        """``x`` with each value (or channel) zeroed with probability p and the rest scaled by 1 / (1 - p)."""
        if not self.training:
            return x
        shape = (*x.shape[:2], *(1 for _ in x.shape[2:])) if self.channels else x.shape
        keep = torch.rand(shape, generator=self.generator).to(x.device) >= self.p
        return x * keep / (1 - self.p)


def seed_dropout(model: nn.Module, seed: int) -> None:
    """Seed every dropout layer of ``model`` (each with a seed of its own)."""
    layers = [layer for layer in model.modules() if isinstance(layer, StreamDropout)]
    for index, layer in enumerate(layers):
        layer.generator.manual_seed(seed + index)
