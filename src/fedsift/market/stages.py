"""Stages and their budgets: both double from stage to stage (incentive spec, 3)."""

from bisect import bisect_left
from dataclasses import dataclass


@dataclass(frozen=True)
class Stages:
    """L stages; all rounds of a stage share its budget, and what is left at its end is lost.

    Attributes:
        L: how many there are.
        e: [L], last round of each stage; rounds count from 1, so e_L = T.
        B: [L], budget of each stage; the sum is the total budget.
    """

    L: int
    e: tuple[int, ...]
    B: tuple[float, ...]

    @classmethod
    def of(cls, T: int, B: float) -> "Stages":
        """L = floor(log2 T) + 1, e_l = floor(T 2^(l-L)), B_1 = 2^(1-L) B, B_l = 2^(l-1-L) B."""
        L = T.bit_length()
        e = tuple(T >> (L - l) for l in range(1, L + 1))
        return cls(L, e, (B * 2.0 ** (1 - L), *(B * 2.0 ** (l - 1 - L) for l in range(2, L + 1))))

    def of_round(self, t: int) -> int:
        """l, the stage (1 to L) that round ``t`` (1 to T) is in."""
        if not 1 <= t <= self.e[-1]:
            raise ValueError(f"there is no round {t}: rounds go from 1 to {self.e[-1]}.")
        return bisect_left(self.e, t) + 1
