"""v(S): how good the average of a coalition's updates is on validation images (EMFedAvg spec, 5)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from fedsift.methods.base import Update
from fedsift.training.average import Average
from fedsift.training.engine import load
from fedsift.training.evaluate import evaluate
from fedsift.training.loop import Federation

What = Literal["accuracy", "cross-entropy"]


class Diverged(Exception):
    """What a coalition's model computes is not finite."""


class Value:
    """The value function of one round. Call it with the places of a coalition's members in ``updates``.

    Updates are weighted by the samples that they were trained on, as in the loop's own average, and added in ascending
    order: a coalition's model has the same bits however it is reached, and only two models are in memory beside the
    updates. Nobody's model is the one that the round begins with.
    """

    def __init__(self, federation: Federation, updates: Sequence[Update], what: What, images: int) -> None:
        """``images``: how many of the validation images count, the first."""
        self.federation = federation
        self.updates = updates
        self.what = what
        held_out = federation.samples
        self.samples = replace(held_out, x_test=held_out.x_val[:images], y_test=held_out.y_val[:images])

    def __call__(self, members: tuple[int, ...]) -> float:
        """The share of the validation images that are recognised, or minus their mean cross-entropy in nats.

        Raises:
            Diverged: the losses of the coalition's model are not finite.
        """
        average = Average()
        for place in members:
            average.add(self.updates[place].state, self.updates[place].used)
        model, spec = self.federation.model, self.federation.spec
        load(model, average.of(self.federation.state))
        scores = evaluate(model, self.samples, spec.training.objective, spec.evaluation.batch_size, ssim_images=1)
        if not math.isfinite(float(scores["loss"])):
            raise Diverged
        return float(scores["accuracy"]) if self.what == "accuracy" else -float(scores["cross_entropy"])
