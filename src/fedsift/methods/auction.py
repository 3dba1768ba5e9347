"""What the market's methods share: bids before a round, quality and screening after it (IAOFL spec, 2 to 8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from fedsift.market.arrivals import ArrivalOptions, draw_bids
from fedsift.market.bids import Bids
from fedsift.market.history import QualityHistory
from fedsift.market.mechanism import Mechanism
from fedsift.market.outcome import Outcome
from fedsift.market.quality import QualityOptions, judge
from fedsift.market.tender import Tender
from fedsift.methods.base import Evidence, Losses, Method, Task, Update
from fedsift.training.streams import stream

JOURNAL = ("round", "client", "b", "q", "rho", "price", "loss", "flagged", "quality")
"""One entry a bid: the round from 0, the client, its bid, the quality that was known then, the threshold in force, the
price (NaN: not hired), and where it was judged: the loss without it, whether it was flagged (1 or 0), and q_i^t."""


class AuctionOptions(Method.Options):
    """The market, apart from its mechanism."""

    budget: Annotated[float, Field(gt=0)] = Field(256.0, description="B, for all rounds; bids lie in [0, 1].")
    arrivals: ArrivalOptions = Field(ArrivalOptions(), description="Who bids in a round.")
    quality: QualityOptions = Field(QualityOptions(screen="off"), description="What the hired are worth.")


class Auction(Method):
    """A mechanism hires a round's clients from those that bid; the method carries qualities to it.

    Bids are drawn from the run's stream of the round, so that all mechanisms see the same ones.
    """

    Options = AuctionOptions
    options: AuctionOptions
    judges: ClassVar[bool] = True
    """Whether the hired are judged: one aggregation and one evaluation for each of them."""

    def __init__(self, options: Any, task: Task) -> None:
        super().__init__(options, task)
        self.qualities = QualityHistory(task.clients, self.options.quality)
        self.mechanism = self.made(Tender(task.rounds, self.options.budget, task.clients, self.qualities.initial))
        self.journal: dict[str, list[np.ndarray]] = {name: [] for name in JOURNAL}

    def made(self, tender: Tender) -> Mechanism:
        """The mechanism."""
        raise NotImplementedError

    def admit(self, round_: int, rng: np.random.Generator) -> Sequence[int] | None:
        """Draw the bids and hire."""
        bids = draw_bids(self.qualities.latest(), self.options.arrivals, rng)
        outcome = self.mechanism.hire(round_ + 1, bids, stream(self.task.seed, "mechanism", round_))
        self._note(round_, bids, outcome)
        return [int(client) for client in outcome.client]

    def keep(self, round_: int, updates: Sequence[Update], losses: Losses) -> Sequence[bool] | None:
        """Judge the hired by the losses without them; screen."""
        if not self.judges or not updates:
            return None
        clients = np.array([update.client for update in updates])
        alone = len(updates) == 1
        loss = np.array([losses.before() if alone else losses.without(place) for place in range(len(updates))])
        verdict = judge(loss, losses.of_all(), self.options.quality)
        if verdict.q is not None:
            self.qualities.record(clients, verdict.q)
        at = _places(clients, self.journal["client"][-1])
        self.journal["loss"][-1][at] = loss
        self.journal["flagged"][-1][at] = verdict.M
        if verdict.q is not None:
            self.journal["quality"][-1][at] = verdict.q
        return [bool(one) for one in verdict.keep]

    def observe(self, round_: int, evidence: Evidence) -> None:
        """Close the round, also one that nobody was hired for."""
        self.mechanism.close(round_ + 1, self.qualities.latest())

    def _note(self, round_: int, bids: Bids, outcome: Outcome) -> None:
        n = len(bids)
        price = np.full(n, np.nan)
        price[_places(outcome.client, bids.client)] = outcome.price
        entry = {"round": np.full(n, round_), "client": bids.client, "b": bids.b, "q": bids.q, "rho": outcome.rho}
        for name in JOURNAL:
            self.journal[name].append(price if name == "price" else entry.get(name, np.full(n, np.nan)).copy())

    def state_dict(self) -> dict[str, np.ndarray]:
        """The mechanism's, the qualities', and the journal."""
        parts = {"mechanism": self.mechanism.state_dict(), "qualities": self.qualities.state_dict()}
        parts["journal"] = {
            name: np.concatenate([*entries, np.zeros(0)]) if entries else np.zeros(0)
            for name, entries in self.journal.items()
        }
        return {f"{part}.{name}": value for part, state in parts.items() for name, value in state.items()}

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Continue."""
        if not any(name.startswith("mechanism.") for name in state):
            return
        parts: dict[str, dict[str, np.ndarray]] = {"mechanism": {}, "qualities": {}, "journal": {}}
        for name, value in state.items():
            part, _, rest = name.partition(".")
            parts[part][rest] = value
        self.mechanism.load_state_dict(parts["mechanism"])
        self.qualities.load_state_dict(parts["qualities"])
        self.journal = {name: [np.array(parts["journal"][name])] for name in JOURNAL}


def _places(wanted: np.ndarray, clients: np.ndarray) -> np.ndarray:
    """Where each of the ``wanted`` stands among ``clients``, which has each once."""
    place = {int(client): at for at, client in enumerate(clients)}
    return np.array([place[int(client)] for client in wanted], dtype=np.int64)
