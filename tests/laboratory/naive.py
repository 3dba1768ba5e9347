"""The naive reading of IAOFL, which is not truthful: the densest win and are all paid q / rho."""

import numpy as np
from numpy.typing import NDArray

from fedsift.market.iaofl import Iaofl
from fedsift.market.selection import affordable
from fedsift.market.staged import Choice


class Naive(Iaofl):
    def choose(
        self, v: NDArray[np.float64], b: NDArray[np.float64], rho: NDArray[np.float64], spent: float, budget: float
    ) -> Choice:
        with np.errstate(divide="ignore"):
            d = v / b
        ranked = [k for k in np.argsort(-d, kind="stable") if d[k] >= rho[k]][: self.options.max_num]
        won = np.sort(np.array(ranked, dtype=np.int64))
        price = np.minimum(v[won] / rho[won], 1.0)
        kept, after = affordable(price, spent, budget)
        if np.count_nonzero(kept) < self.options.min_num:
            return Choice(won[:0], price[:0], spent, "threshold")
        return Choice(won[kept], price[kept], after, None)


MECHANISM = Naive
