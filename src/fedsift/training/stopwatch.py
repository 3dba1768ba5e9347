"""How long a part of a run takes. For logs alone: times are never in a result, whose bytes do not depend on them."""

import time
from types import TracebackType

import torch


class Stopwatch:
    """Adds up the seconds inside ``with watch:``.

    A GPU works behind the program's back, so it is waited for at both ends.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.seconds = 0.0
        self._began = 0.0

    def __enter__(self) -> None:
        self._began = self._now()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.seconds += self._now() - self._began

    def _now(self) -> float:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return time.perf_counter()
