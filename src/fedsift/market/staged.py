"""Multi-stage sampling and accepting: what IAOFL and OSPB share (incentive spec, 3 and 5)."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from fedsift.market.bids import Bids
from fedsift.market.mechanism import Mechanism
from fedsift.market.outcome import Outcome, Reason
from fedsift.market.own_bids import thresholds_without_own
from fedsift.market.samples import Samples
from fedsift.market.stages import Stages
from fedsift.market.tender import Tender
from fedsift.market.threshold import ThresholdOptions, threshold


class StagedOptions(ThresholdOptions):
    """What the paper leaves open of stages and thresholds."""

    rho_1: float | None = Field(
        None,
        gt=0,
        description="Density threshold of the first stage. Absent: min_num v / B_1 for the value v of a new client, so "
        "that min_num new clients fit into the first stage.",
    )
    leave_own_out: bool = Field(
        False,
        description="Compute a client's threshold from the bids of all others, so that it cannot move it by earlier "
        "bids of its own.",
    )


class Choice(NamedTuple):
    """Places of the hired among the bids, [h], their prices, [h], what is spent of the stage, and why nobody is."""

    places: NDArray[np.int64]
    price: NDArray[np.float64]
    spent: float
    reason: Reason | None


class Staged(Mechanism):
    """In a stage the threshold is fixed; at its end a new one is computed from all bids and the next stage's budget."""

    def __init__(self, options: StagedOptions, tender: Tender, first: int) -> None:
        super().__init__(tender)
        self.options = options
        self.stages = Stages.of(tender.T, tender.B)
        self.l = 1
        self.spent = 0.0
        """In this stage."""
        v_init = float(self.values(np.array([tender.q_init]))[0])
        rho_1 = first * v_init / self.stages.B[0] if options.rho_1 is None else options.rho_1
        self.rho = np.full(tender.N, rho_1)
        """[N], the threshold in force for each client; all the same unless own bids are left out."""
        self.samples = Samples()

    def values(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values v of clients with the qualities ``q``."""
        return q

    @abstractmethod
    def choose(
        self, v: NDArray[np.float64], b: NDArray[np.float64], rho: NDArray[np.float64], spent: float, budget: float
    ) -> Choice:
        """Whom to hire of n > 0 bidders, given their values, bids and thresholds, [n], and the stage's money."""

    def _hire(self, t: int, bids: Bids, rng: np.random.Generator) -> Outcome:
        rho = self.rho[bids.client]
        self.samples.add(bids.client, bids.b)
        B_l = self.stages.B[self.l - 1]
        nobody = Choice(np.empty(0, dtype=np.int64), np.empty(0), self.spent, "no bids")
        made = self.choose(self.values(bids.q), bids.b, rho, self.spent, B_l) if len(bids) else nobody
        self.spent = made.spent
        return Outcome(bids.client[made.places], made.price, rho, B_l - self.spent, made.reason)

    def _close(self, t: int, q: NDArray[np.float64]) -> None:
        if t < self.stages.e[self.l - 1] or self.l == self.stages.L:
            return
        self.l += 1
        self.spent = 0.0
        B_l = self.stages.B[self.l - 1]
        client, b = self.samples.client, self.samples.b
        v = self.values(q[client])
        rho = threshold(v, b, B_l, self.options)
        without_own = thresholds_without_own(client, v, b, B_l, self.options) if self.options.leave_own_out else {}
        # A client without bids leaves nothing out; where J is empty, the threshold stays what it was.
        kept = {i: self.rho[i] if own is None else own for i, own in without_own.items()}
        if rho is not None:
            self.rho[:] = rho
        for i, own in kept.items():
            self.rho[i] = own

    def state_dict(self) -> dict[str, np.ndarray]:
        """The stage, its money, the thresholds and the sample set."""
        return {
            **super().state_dict(),
            "l": np.array(self.l),
            "spent": np.array(self.spent),
            "rho": self.rho.copy(),
            "client": self.samples.client.copy(),
            "b": self.samples.b.copy(),
        }

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Continue."""
        super().load_state_dict(state)
        self.l, self.spent = int(state["l"]), float(state["spent"])
        self.rho = np.array(state["rho"], dtype=np.float64)
        self.samples = Samples()
        self.samples.add(state["client"], state["b"])
