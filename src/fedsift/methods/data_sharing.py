"""Data sharing: every client also trains on a small common set G (Zhao et al. 2018; EMFedAvg paper, section 2.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from fedsift.methods.base import Client, Method, Task, WarmUp
from fedsift.section import Share
from fedsift.training.streams import stream


class DataSharingOptions(Method.Options):
    """Zhao et al.'s two shares, and their warm-up model."""

    beta: Share = Field(0.05, description="|G| as a share of all training samples.")
    alpha: Share = Field(1.0, description="Share of G that is sent to each client, drawn once for each.")
    warm_up: Annotated[int, Field(ge=0)] = Field(
        1, description="Epochs on G that the server trains before round 0; 0: it starts from random weights."
    )


class DataSharing(Method):
    """G has equally many samples of every class; client k trains on its own samples and on a share alpha of G.

    G is a copy of samples of the clients, since every training sample belongs to one: what is shared is no longer
    private, which is the paper's objection to it.
    """

    Options = DataSharingOptions
    options: DataSharingOptions

    def __init__(self, options: Any, task: Task) -> None:
        super().__init__(options, task)
        self.G = np.zeros(0, dtype=np.int64)
        self.ends = np.zeros(1, dtype=np.int64)
        """Row at which each client's own samples begin, and the end of the last."""

    def prepare(self, clients: Sequence[Client]) -> None:
        """Draw G."""
        labels = np.concatenate([client.labels.cpu().numpy() for client in clients])
        self.ends = np.cumsum([0, *(len(client.labels) for client in clients)])
        each = max(1, round(self.options.beta * len(labels) / self.task.classes))
        rng = stream(self.task.seed, "shared")
        rows = [np.flatnonzero(labels == label) for label in range(self.task.classes)]
        self.G = np.sort(np.concatenate([rng.choice(own, min(each, len(own)), replace=False) for own in rows]))

    def warm_up(self) -> WarmUp | None:
        """Train on G."""
        return WarmUp(self.G, self.options.warm_up) if self.options.warm_up else None

    def borrowed(self, client: int) -> np.ndarray | None:
        """A share alpha of G, without the client's own samples in it, which it has already."""
        rng = stream(self.task.seed, "shared", client)
        drawn = np.sort(rng.choice(self.G, round(self.options.alpha * len(self.G)), replace=False))
        own = (drawn >= self.ends[client]) & (drawn < self.ends[client + 1])
        return np.asarray(drawn[~own])


METHOD = DataSharing
