"""OSPM, a baseline: two random groups, each priced by the bids of the other (incentive spec, 8)."""

from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from fedsift.market.bids import Bids
from fedsift.market.mechanism import Mechanism
from fedsift.market.outcome import Outcome, Reason
from fedsift.market.running import RunningThreshold
from fedsift.market.selection import affordable
from fedsift.market.tender import Tender
from fedsift.market.threshold import ThresholdOptions, threshold


class OspmOptions(ThresholdOptions):
    """The mechanism itself could not be recovered; these are what a reconstruction must settle."""

    budget: Literal["round", "full", "pro-rata"] = Field(
        "round",
        description="`round`: every round has B / T, and its own bids alone set the prices; `full`, `pro-rata`: B is "
        "for the whole run, and all earlier bids set the prices, for B or for the share of B of the rounds so far.",
    )
    groups: Literal["round", "run"] = Field(
        "round",
        description="When a client is put into its group: in every `round` anew, or once for the `run`, so that with "
        "`full` and `pro-rata` none of its own earlier bids sets its price.",
    )


class Ospm(Mechanism):
    """A client's price depends on the other group and on its own quality alone."""

    Options = OspmOptions

    def __init__(self, options: OspmOptions, tender: Tender) -> None:
        super().__init__(tender)
        self.options = options
        self.group = np.full(tender.N, -1, dtype=np.int64)
        """[N], 0 or 1; -1 while a client has none."""
        self.q = np.full(tender.N, tender.q_init)
        """[N], latest qualities."""
        self.spent = [0.0, 0.0]
        """By each group: in this round, or in the run."""
        self.bids_of = (RunningThreshold(options), RunningThreshold(options))

    def _hire(self, t: int, bids: Bids, rng: np.random.Generator) -> Outcome:
        group = self._groups(bids.client, rng)
        per_round = self.options.budget == "round"
        budget = self.tender.B / (2 * self.tender.T if per_round else 2)
        if per_round:
            self.spent = [0.0, 0.0]
        rho = np.full(len(bids), np.inf)
        hired = np.zeros(len(bids), dtype=bool)
        accept = np.zeros(len(bids), dtype=bool)
        price = np.zeros(len(bids))
        for g in (0, 1):
            rho_g = self._threshold(t, bids, group, g, budget)
            own = group == g
            if rho_g is None or not own.any():
                continue
            rho[own] = rho_g
            price[own] = np.minimum(bids.q[own] / rho_g, 1.0)
            willing = np.flatnonzero(own & (bids.b <= price))
            kept, self.spent[g] = affordable(price[willing], self.spent[g], budget)
            accept[willing], hired[willing] = True, kept
        if not per_round:
            for g in (0, 1):
                self.bids_of[g].samples.add(bids.client[group == g], bids.b[group == g])
        left = 0.0 if per_round else self.tender.B - sum(self.spent)
        return Outcome(bids.client[hired], price[hired], rho, left, _reason(hired, accept, rho))

    def _close(self, t: int, q: NDArray[np.float64]) -> None:
        self.q = q.copy()
        if self.options.budget != "round":
            for bids in self.bids_of:
                bids.settle(q)

    def _groups(self, client: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """A fair coin for each bidder, whatever it bids."""
        coins = rng.integers(0, 2, len(client))
        if self.options.groups == "round":
            return coins
        new = self.group[client] < 0
        self.group[client[new]] = coins[new]
        return self.group[client]

    def _threshold(self, t: int, bids: Bids, group: NDArray[np.int64], g: int, budget: float) -> float | None:
        if self.options.budget == "round":
            others = group != g
            return threshold(bids.q[others], bids.b[others], budget, self.options)
        if self.options.budget == "pro-rata":
            budget *= (t - 1) / self.tender.T
        return self.bids_of[1 - g].threshold(budget)

    def state_dict(self) -> dict[str, np.ndarray]:
        """Groups, qualities, money, and the bids of either group."""
        state = {**super().state_dict(), "group": self.group.copy(), "q": self.q.copy(), "spent": np.array(self.spent)}
        for g, bids in enumerate(self.bids_of):
            state[f"client_{g}"] = bids.samples.client.copy()
            state[f"b_{g}"] = bids.samples.b.copy()
            state[f"settled_{g}"] = np.array(bids.settled)
        return state

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Continue."""
        super().load_state_dict(state)
        self.group = np.array(state["group"], dtype=np.int64)
        self.q = np.array(state["q"], dtype=np.float64)
        self.spent = [float(spent) for spent in state["spent"]]
        for g, bids in enumerate(self.bids_of):
            bids.resume(state[f"client_{g}"], state[f"b_{g}"], int(state[f"settled_{g}"]), self.q)


def _reason(hired: NDArray[np.bool_], accept: NDArray[np.bool_], rho: NDArray[np.float64]) -> Reason | None:
    if hired.any():
        return None
    if not len(rho):
        return "no bids"
    if not np.isfinite(rho).any():
        return "no threshold"
    return "budget" if accept.any() else "threshold"
