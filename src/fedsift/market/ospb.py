"""OSPB, a baseline: whoever accepts the posted price is hired as it arrives (incentive spec, 7)."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from fedsift.market.outcome import Reason
from fedsift.market.selection import affordable
from fedsift.market.staged import Choice, Staged, StagedOptions
from fedsift.market.tender import Tender


class OspbOptions(StagedOptions):
    """The baseline is said to be unmodified; what stands for its marginal valuations is not."""

    value: Literal["one", "quality"] = Field(
        "one", description="Value of a client: `one` (v = 1, price alone) or its latest `quality` (v = q)."
    )
    min_num: int = Field(2, ge=1, description="New clients that the first threshold makes room for; no limit later.")


class Ospb(Staged):
    """Online sequential procurement with a budget: no limits of the number, no screening."""

    Options = OspbOptions
    options: OspbOptions

    def __init__(self, options: OspbOptions, tender: Tender) -> None:
        super().__init__(options, tender, options.min_num)

    def values(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        """The value v = 1 or v = q."""
        return np.ones_like(q) if self.options.value == "one" else q

    def choose(
        self, v: NDArray[np.float64], b: NDArray[np.float64], rho: NDArray[np.float64], spent: float, budget: float
    ) -> Choice:
        """p_i = min(v_i / rho, 1) for all with b_i <= p_i, while the stage's budget pays for it."""
        p = np.minimum(v / rho, 1.0)
        accept = np.flatnonzero(b <= p)
        kept, after = affordable(p[accept], spent, budget)
        hired = accept[kept]
        reason: Reason | None = None if len(hired) else "budget" if len(accept) else "threshold"
        return Choice(hired, p[hired], after, reason)
