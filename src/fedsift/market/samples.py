"""The sample set: all bids so far, the losers' too (incentive spec, 3)."""

import numpy as np
from numpy.typing import NDArray


class Samples:
    """(client, bid) pairs in the order of their arrival; qualities are looked up when a threshold needs them."""

    def __init__(self) -> None:
        self._n = 0
        self._client = np.empty(256, dtype=np.int64)
        self._b = np.empty(256)

    def __len__(self) -> int:
        return self._n

    @property
    def client(self) -> NDArray[np.int64]:
        """[n]."""
        return self._client[: self._n]

    @property
    def b(self) -> NDArray[np.float64]:
        """[n]."""
        return self._b[: self._n]

    def add(self, client: NDArray[np.int64], b: NDArray[np.float64]) -> None:
        """Append the bids of a round."""
        n = self._n + len(client)
        if n > len(self._b):
            # Doubling keeps the cost of all appends together linear.
            self._client = np.resize(self._client, 2 * n)
            self._b = np.resize(self._b, 2 * n)
        self._client[self._n : n], self._b[self._n : n] = client, b
        self._n = n
