"""The federation's samples on the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from fedsift.methods.base import floor_share
from fedsift.training.streams import stream

if TYPE_CHECKING:
    from fedsift.data.clients import Federation, Truth


@dataclass(frozen=True)
class Samples:
    """All samples, resident as bytes; client k owns rows offsets[k] to offsets[k + 1] - 1.

    Attributes:
        x: [N, H, W, C] uint8.
        y: [N] int64, labels that the clients hold.
        offsets: K + 1 row numbers.
        free_rider: [K], clients that do not train.
        noisy: [N] bool, the truth.
        x_test, y_test: the test set, likewise.
        x_val, y_val: what the server judges clients by; the test set itself where nothing is set aside.
        scale: the value of a white pixel; images are x / scale.
    """

    x: Tensor
    y: Tensor
    offsets: list[int]
    free_rider: list[bool]
    noisy: Tensor
    x_test: Tensor
    y_test: Tensor
    x_val: Tensor
    y_val: Tensor
    scale: float

    @classmethod
    def of(cls, federation: Federation, truth: Truth, device: torch.device, validation: float | None = None) -> Samples:
        """Copy to ``device``, with a share ``validation`` of the test set, drawn the same in all runs, set aside."""
        count = len(federation.y_test)
        test = val = np.arange(count)
        if validation is not None:
            drawn = stream(0, "validation").permutation(count)
            aside = min(max(1, floor_share(validation, count)), count - 1)
            val, test = np.sort(drawn[:aside]), np.sort(drawn[aside:])
        return cls(
            x=torch.from_numpy(federation.x).to(device),
            y=torch.from_numpy(federation.y).to(device),
            offsets=federation.offsets.tolist(),
            free_rider=[behaviour == "free-rider" for behaviour in federation.behaviour],
            noisy=torch.from_numpy(truth.noisy).to(device),
            x_test=torch.from_numpy(federation.x_test[test]).to(device),
            y_test=torch.from_numpy(federation.y_test[test]).to(device),
            x_val=torch.from_numpy(federation.x_test[val]).to(device),
            y_val=torch.from_numpy(federation.y_test[val]).to(device),
            scale=float(federation.max_value),
        )

    def rows(self, client: int) -> slice:
        """The client's rows."""
        return slice(self.offsets[client], self.offsets[client + 1])

    def images(self, x: Tensor) -> Tensor:
        """Bytes [n, H, W, C] -> [n, C, H, W] float32 in [0, 1]; channels stay last in memory, as convolutions like."""
        return (x.to(torch.float32) / self.scale).permute(0, 3, 1, 2)
