"""IAOFL: the densest bidders of a round, within limits of their number, at critical prices (incentive spec, 6)."""

from typing import Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from fedsift.market.selection import Rule, affordable, select
from fedsift.market.staged import Choice, Staged, StagedOptions
from fedsift.market.tender import Tender


class IaoflOptions(StagedOptions):
    """The paper names min_num and max_num and gives no values."""

    min_num: int = Field(2, ge=1, description="Fewest clients of a round; with fewer the round is not trained.")
    max_num: int = Field(8, ge=1, description="Most clients of a round.")
    rule: Rule = Field(
        "skip",
        description="Where fewer than min_num reach the threshold: `skip` the round (rule K), or `fill` it with the "
        "next best at their higher critical prices (rule F).",
    )

    @model_validator(mode="after")
    def _limits_fit(self) -> Self:
        if self.min_num > self.max_num:
            raise ValueError(f"min_num {self.min_num} is above max_num {self.max_num}; lower it or raise max_num")
        return self


class Iaofl(Staged):
    """Truthful, individually rational and within the budget of every stage, each round taken by itself."""

    Options = IaoflOptions
    options: IaoflOptions

    def __init__(self, options: IaoflOptions, tender: Tender) -> None:
        super().__init__(options, tender, options.min_num)

    def choose(
        self, v: NDArray[np.float64], b: NDArray[np.float64], rho: NDArray[np.float64], spent: float, budget: float
    ) -> Choice:
        """The budget is checked in the order of arrival, which no bid can change."""
        won, price = select(v, b, rho, self.options.min_num, self.options.max_num, self.options.rule)
        kept, after = affordable(price, spent, budget)
        if np.count_nonzero(kept) < self.options.min_num:
            return Choice(won[:0], price[:0], spent, "budget" if len(won) else "threshold")
        return Choice(won[kept], price[kept], after, None)
