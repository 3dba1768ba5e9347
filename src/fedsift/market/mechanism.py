"""What every mechanism of the market does in a round."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from fedsift.errors import FedsiftError
from fedsift.market.bids import Bids
from fedsift.market.outcome import Outcome
from fedsift.market.tender import Tender


class Mechanism(ABC):
    """Hires in every round and learns at its end; rounds go from 1 to T, each is hired for once and then closed.

    All that it draws comes from the generator of the round, so a continued run goes on with the same bits.
    """

    def __init__(self, tender: Tender) -> None:
        self.tender = tender
        self.t = 0
        """The last round that was closed."""
        self._hired = 0

    def hire(self, t: int, bids: Bids, rng: np.random.Generator) -> Outcome:
        """Who trains in round ``t`` and at what price; the bids join the sample.

        Args:
            t: 1 to T.
            bids: of this round.
            rng: the stream of this round, for mechanisms that draw.

        Raises:
            FedsiftError: a round out of turn, or a client that the tender does not know.
        """
        if self._hired != self.t or t != self.t + 1 or t > self.tender.T:
            raise FedsiftError(
                f"round {t} is out of turn after round {self.t} of {self.tender.T}; hire and close once a round."
            )
        if len(bids) and bids.client.max() >= self.tender.N:
            raise FedsiftError(
                f"round {t}: client {bids.client.max()} bids, but the tender has clients 0 to {self.tender.N - 1}; "
                "raise its number of clients."
            )
        self._hired = t
        return self._hire(t, bids, rng)

    def close(self, t: int, q: NDArray[np.float64]) -> None:
        """End round ``t``.

        Args:
            t: the round that was hired for.
            q: [N] latest qualities after it, in (0, 1].

        Raises:
            FedsiftError: a round that was not hired for, or qualities that are none.
        """
        if self._hired != t or self.t == t:
            raise FedsiftError(f"round {t} cannot be closed after round {self.t}; hire for it first.")
        if q.shape != (self.tender.N,) or not ((q > 0) & (q <= 1)).all():
            raise FedsiftError(
                f"round {t} needs a quality above 0 and at most 1 for each of {self.tender.N} clients; give it those."
            )
        self.t = t
        self._close(t, q)

    def state_dict(self) -> dict[str, np.ndarray]:
        """Everything that later rounds depend on, as arrays, between two rounds."""
        return {"t": np.array(self.t)}

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Continue after the round at whose end ``state`` was taken."""
        self.t = self._hired = int(state["t"])

    @abstractmethod
    def _hire(self, t: int, bids: Bids, rng: np.random.Generator) -> Outcome: ...

    @abstractmethod
    def _close(self, t: int, q: NDArray[np.float64]) -> None: ...
