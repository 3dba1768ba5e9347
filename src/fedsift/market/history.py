"""The quality that the server knows of every client (incentive spec, 4)."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from fedsift.market.quality import QualityOptions


class QualityHistory:
    """q^latest of N clients: the mean of all qualities that a client ever got."""

    def __init__(self, N: int, how: QualityOptions) -> None:
        self._how = how
        self._sum = np.zeros(N)
        self._rounds = np.zeros(N, dtype=np.int64)

    @property
    def initial(self) -> float:
        """Quality of a client without a history."""
        if self._how.initial != "mean":
            return self._how.initial
        known = self._rounds > 0
        return float((self._sum[known] / self._rounds[known]).mean()) if known.any() else 1.0

    def latest(self) -> NDArray[np.float64]:
        """[N], in (0, 1]."""
        return np.where(self._rounds > 0, self._sum / np.maximum(self._rounds, 1), self.initial)

    def record(self, client: NDArray[np.int64], q: NDArray[np.float64]) -> None:
        """Add q_i^t, [m], of the clients of a round, [m], each at most once."""
        self._sum[client] += q
        self._rounds[client] += 1

    def state_dict(self) -> dict[str, np.ndarray]:
        """Everything that later rounds depend on."""
        return {"sum": self._sum.copy(), "rounds": self._rounds.copy()}

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Continue."""
        self._sum = np.array(state["sum"], dtype=np.float64)
        self._rounds = np.array(state["rounds"], dtype=np.int64)
