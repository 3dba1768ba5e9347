"""EMFedAvg: FedAvg without the participants that are farthest from the whole (EMFedAvg spec, 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from fedsift.emd.labels import label_counts, label_emd
from fedsift.emd.removal import too_far
from fedsift.methods.base import Client, Losses, Method, Task, Update

if TYPE_CHECKING:
    from fedsift.config.model import Training


class EmfedavgOptions(Method.Options):
    """The paper leaves each of these open; A1 to A7 are the spec's names for it."""

    emd_on: Literal["labels", "weights"] = Field(
        "labels",
        description="A1. `labels`: sum_i |p_k(i) - p(i)|; `weights`: 1-D Wasserstein distance between a local model's "
        "weights and those of the average.",
    )
    p: Literal["population", "uniform"] = Field(
        "population",
        description="A2, for labels. What p is: the labels of all K participants together, or 1 / classes.",
    )
    remove: Literal["round", "once", "cumulative"] = Field(
        "round",
        description="A3. `round`: of every round's participants, for that round only; `once`: of all K participants, "
        "for good (by labels before round 0, by weights in round 0, in which all train); `cumulative`: of every "
        "round's participants, for good, until one is left.",
    )
    rule: Literal["quartile", "rank"] = Field(
        "quartile", description="A4. `quartile`: D_k > Q3 goes, ties stay; `rank`: exactly the last quarter goes."
    )
    average: Literal["survivors", "participants"] = Field(
        "survivors", description="A5. Whose models are averaged in the round in which some are removed."
    )
    participants: Literal["sampled", "all"] = Field(
        "sampled", description="A6. Who takes part: as many as the experiment samples, or all that are left."
    )
    shard_steps: Annotated[int, Field(ge=1)] | None = Field(
        None,
        description="A7. Samples of a shard: a local step takes a whole shard, in the partition's order. Absent: the "
        "experiment's batches.",
    )

    @model_validator(mode="after")
    def _removal_has_an_effect(self) -> Self:
        if self.average == "participants" and self.remove == "round":
            raise ValueError("average 'participants' with remove 'round' is FedAvg itself; use remove 'once'")
        return self


class Emfedavg(Method):
    """D_k per participant; those beyond the third quartile are removed; the survivors R are averaged.

    With label distances the server has to know every participant's label counts, which the paper does not discuss.
    """

    Options = EmfedavgOptions
    options: EmfedavgOptions

    def __init__(self, options: Any, task: Task) -> None:
        super().__init__(options, task)
        self.removed = np.zeros(task.clients, dtype=bool)
        self.D = np.zeros(task.clients)
        """Label distance of every participant."""

    def prepare(self, clients: Sequence[Client]) -> None:
        """Take in every participant's label counts."""
        if self.options.emd_on == "weights":
            return
        counts = label_counts((client.labels.cpu().numpy() for client in clients), self.task.classes)
        uniform = np.full(self.task.classes, 1 / self.task.classes)
        p = counts.sum(axis=0) / counts.sum() if self.options.p == "population" else uniform
        self.D = label_emd(counts, p)
        if self.options.remove == "once" and self.options.average == "survivors":
            self.removed = too_far(self.D, self.options.rule)

    def local_training(self, training: Training) -> Training:
        """A step a shard, where wanted."""
        if self.options.shard_steps is None:
            return training
        return training.model_copy(update={"batch_size": self.options.shard_steps, "reshuffle": "none"})

    def admit(self, round_: int, rng: np.random.Generator) -> Sequence[int] | None:
        """All that are left, or a draw of them; None, the experiment's own draw, while nobody is gone."""
        left = np.flatnonzero(~self.removed)
        if self.options.participants == "all" or self._judges_all(round_):
            return [int(k) for k in left]
        if not self.removed.any():
            return None
        return [int(k) for k in rng.choice(left, min(self.task.participants, len(left)), replace=False)]

    def keep(self, round_: int, updates: Sequence[Update], losses: Losses) -> Sequence[bool] | None:
        """R = {k: D_k <= Q3}."""
        if self.options.remove == "once" and not self._judges_all(round_):
            return None
        clients = [update.client for update in updates]
        gone = too_far(self._distances(updates), self.options.rule)
        if self.options.remove != "round":
            self.removed[clients] |= gone
        return None if self.options.average == "participants" else (~gone).tolist()

    def state_dict(self) -> dict[str, np.ndarray]:
        """Who is gone for good."""
        return {"removed": self.removed}

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Continue."""
        if "removed" in state:
            self.removed = np.asarray(state["removed"], dtype=bool)

    def _judges_all(self, round_: int) -> bool:
        """Whether this round decides once for all participants."""
        early = self.options.emd_on == "labels" and self.options.average == "survivors"
        return self.options.remove == "once" and round_ == 0 and not early

    def _distances(self, updates: Sequence[Update]) -> np.ndarray:
        if self.options.emd_on == "labels":
            return self.D[[update.client for update in updates]]
        from fedsift.emd.weights import weight_emd

        return weight_emd([update.state for update in updates], [update.used for update in updates])


METHOD = Emfedavg
