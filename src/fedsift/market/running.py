"""The threshold of a sample that grows by a few bids before every question."""

from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

from fedsift.market.samples import Samples
from fedsift.market.threshold import TIE, ThresholdOptions, density, rho, room

FRESH = 512
"""Bids that wait unsorted; more make every question dearer, fewer make them be merged more often."""


class RunningThreshold:
    """``threshold`` of all bids so far, without sorting them again.

    The first ``settled`` bids are kept sorted, with their prefix sums; the few fresh ones are sorted for each question,
    and J's part of either is searched for. A change of any quality sorts everything again. Ask after ``settle``.
    """

    def __init__(self, how: ThresholdOptions) -> None:
        self._how = how
        self.samples = Samples()
        self.settled = 0
        self._q = np.empty(0)
        self._v, self._V = np.empty(0), np.zeros(1)
        self._minus_d = np.empty(0)
        """Ascending, as searching wants it."""

    def threshold(self, budget: float) -> float | None:
        """``rho`` of all bids for the budget B'; None where J is empty, as it is without bids."""
        v, minus_d = self._fresh()
        V, price = _sums(v), budget * TIE
        fresh, sums = minus_d.tolist(), V.tolist()

        def beyond(k: int) -> bool:
            here = float(self._minus_d[k])
            return bool(self._V[k + 1] + sums[bisect_left(fresh, here)] > -price * here)

        old = bisect_left(range(len(self._minus_d)), True, key=beyond)
        before = self._V[np.searchsorted(self._minus_d, minus_d, side="right")]
        new = int(np.count_nonzero(V[1:] + before <= room(-minus_d, budget)))
        if old + new == 0:
            return None
        outside = min([0.0, *self._minus_d[old : old + 1].tolist(), *fresh[new : new + 1]])
        return rho(float(self._V[old] + V[new]), -outside, budget, self._how)

    def settle(self, q: NDArray[np.float64]) -> None:
        """After bids were added, or qualities have changed: ``q`` is the latest quality of every client, [N]."""
        if not np.array_equal(q, self._q):
            self._rebuild(q, len(self.samples))
        elif len(self.samples) - self.settled > FRESH:
            v, minus_d = self._fresh()
            places = np.searchsorted(self._minus_d, minus_d, side="right")
            self._v, self._minus_d = np.insert(self._v, places, v), np.insert(self._minus_d, places, minus_d)
            self._V = _sums(self._v)
            self.settled = len(self.samples)

    def resume(self, client: NDArray[np.int64], b: NDArray[np.float64], settled: int, q: NDArray[np.float64]) -> None:
        """Continue with these bids, the first ``settled`` of them sorted, to the same bits as without a break."""
        self.samples = Samples()
        self.samples.add(client, b)
        self._rebuild(q, settled)

    def _rebuild(self, q: NDArray[np.float64], settled: int) -> None:
        self._q, self.settled = q.copy(), settled
        self._v, self._minus_d = self._by_density(slice(0, settled))
        self._V = _sums(self._v)

    def _fresh(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self._by_density(slice(self.settled, None))

    def _by_density(self, rows: slice) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        v = self._q[self.samples.client[rows]]
        minus_d = -density(v, self.samples.b[rows])
        order = np.argsort(minus_d, kind="stable")
        return v[order], minus_d[order]


def _sums(v: NDArray[np.float64]) -> NDArray[np.float64]:
    V = np.zeros(len(v) + 1)
    np.cumsum(v, out=V[1:])
    return V
