"""What the task publisher offers (incentive spec, 2)."""

import math
from dataclasses import dataclass

from fedsift.errors import FedsiftError


@dataclass(frozen=True)
class Tender:
    """A run as a mechanism sees it.

    Attributes:
        T: global rounds, at least 1.
        B: total budget in units of the highest bid, above 0.
        N: clients, numbered from 0.
        q_init: quality of a client that has never trained, in (0, 1].

    Raises:
        FedsiftError: a value outside its range.
    """

    T: int
    B: float
    N: int
    q_init: float = 1.0

    def __post_init__(self) -> None:
        if self.T < 1:
            raise FedsiftError(f"the tender has T = {self.T} rounds; give it at least 1.")
        if not (math.isfinite(self.B) and self.B > 0):
            raise FedsiftError(f"the tender has the budget B = {self.B}; give it a number above 0.")
        if self.N < 1:
            raise FedsiftError(f"the tender has N = {self.N} clients; give it at least 1.")
        if not 0 < self.q_init <= 1:
            raise FedsiftError(f"the tender has the initial quality {self.q_init}; give it one above 0 and at most 1.")
