"""Federated multi-class SVDD, and a one-class SVM on the embedding that it shapes (MTAE spec, 5.5 and 5.6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from fedsift.methods.base import Client, Evidence, Method, Selection, Signal, Signals, Step, Task, start_round
from fedsift.methods.feature_ocsvm import FeatureOcsvm, FeatureOptions
from fedsift.methods.svdd import Svdd, SvddOptions

if TYPE_CHECKING:
    from torch import Tensor, nn

    from fedsift.models.output import Output


class CombinedOptions(FeatureOptions):
    """The detector's own, and those of the other part."""

    svdd: SvddOptions = Field(SvddOptions(), description="Options of the method `svdd`, which see.")


class SvddFeatureOcsvm(Method):
    """Both methods as they are, each from its own start; they share nothing but the model."""

    Options = CombinedOptions

    names: ClassVar[tuple[str, str]] = ("svdd", "feature-ocsvm")
    detector: ClassVar[type[FeatureOcsvm]] = FeatureOcsvm

    def __init__(self, options: Any, task: Task) -> None:
        super().__init__(options, task)
        self.svdd = Svdd(options.svdd, task)
        self.selection = self.detector(options, task)
        self.parts: tuple[Method, Method] = (self.svdd, self.selection)

    @classmethod
    def lineage(cls, options: Any, rounds: int) -> list[Step]:
        """FedAvg, then the part that starts first: SVDD, unless the starts are set otherwise."""
        given = (options.svdd.model_dump(), options.model_dump(exclude={"svdd"}))
        starts = [start_round(part.start, rounds) for part in (options.svdd, options)]
        steps = [Step("fedavg", {}, min(starts))]
        if starts[0] != starts[1]:
            first = starts.index(min(starts))
            steps.append(Step(cls.names[first], given[first], max(starts)))
        return steps

    def acts(self, round_: int) -> bool:
        """From the first start on."""
        return any(part.acts(round_) for part in self.parts)

    def trains(self, round_: int) -> bool:
        """As the detector says, whose round t_s may be for collecting alone."""
        return not self.selection.acts(round_) or self.selection.trains(round_)

    def signals(self, round_: int) -> frozenset[Signal]:
        """The detector's."""
        return self.selection.signals(round_) if self.selection.acts(round_) else frozenset()

    def select(self, round_: int, client: Client, signals: Signals, rng: np.random.Generator) -> Selection | None:
        """The detector's choice."""
        return self.selection.select(round_, client, signals, rng) if self.selection.acts(round_) else None

    def loss(
        self, round_: int, output: Output, labels: Tensor, model: nn.Module, start: Mapping[str, Tensor]
    ) -> Tensor | None:
        """The term of SVDD."""
        return self.svdd.loss(round_, output, labels, model, start) if self.svdd.acts(round_) else None

    def reply_signals(self, round_: int) -> frozenset[Signal]:
        """What SVDD needs."""
        return self.svdd.reply_signals(round_)

    def reply(self, round_: int, client: Client, signals: Signals) -> Mapping[str, np.ndarray]:
        """The distances, of dropped samples too."""
        return self.svdd.reply(round_, client, signals)

    def observe(self, round_: int, evidence: Evidence) -> None:
        """Each part learns from its own uploads."""
        for part in self.parts:
            if part.acts(round_):
                part.observe(round_, evidence)

    def state_dict(self) -> dict[str, np.ndarray]:
        """Of both; their names differ, so the state of either alone can be continued."""
        return self.svdd.state_dict() | self.selection.state_dict()

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Continue."""
        for part in self.parts:
            part.load_state_dict(state)


METHOD = SvddFeatureOcsvm
