"""What a method may do in a round. The default of every hook together is FedAvg.

Method files stay light to import: torch and scikit-learn are imported inside the hooks or in the modules that those
use, because the planner imports every method of a grid to read its options and its lineage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np
from pydantic import Field

from fedsift.section import Section

if TYPE_CHECKING:
    from torch import Tensor, nn

    from fedsift.config.model import Training
    from fedsift.models.output import Output

Start = Annotated[int, Field(ge=1, strict=True)] | Annotated[float, Field(gt=0, lt=1)]
"""A round, or a share of all rounds: 0.4 is round 400 of 1000. (1.0 is neither: all rounds leave nothing to do.)"""

Signal = Literal["losses", "embedding", "logits", "trained"]
"""``trained`` is only there for replies."""


class Step(NamedTuple):
    """A stretch of a lineage: up to round ``until`` the run equals ``method`` with ``options``."""

    method: str
    options: Mapping[str, Any]
    until: int


@dataclass(frozen=True)
class Task:
    """What a method knows of the run.

    Attributes:
        rounds: T.
        clients: K.
        classes: number of labels.
        seed: the run's seed, for streams of its own (fedsift.training.streams).
        participants: m, the clients that the experiment's sampling draws for a round.
    """

    rounds: int
    clients: int
    classes: int
    seed: int
    participants: int


@dataclass(frozen=True)
class Client:
    """A client as a method sees it.

    Attributes:
        number: 0 to K-1.
        labels: [n] int64, the labels that the client holds (wrong ones included).
        noisy: [n] bool, the truth; None unless the method says ``sees_truth`` (controls only).
    """

    number: int
    labels: Tensor
    noisy: Tensor | None


@dataclass(frozen=True)
class Trained:
    """What a client's last pass over its m kept samples gave in training mode, before the step of each batch.

    Attributes:
        embedding: [m, d].
        labels: [m].
        batch: [m], number of the batch that a sample was in, from 0 and ascending.
    """

    embedding: Tensor
    labels: Tensor
    batch: Tensor


@dataclass(frozen=True)
class Signals:
    """What the fresh global model (eval mode) says of a client's n samples, in the order of ``Client.labels``.

    Attributes:
        losses: [n, m] weighted loss terms, (lambda_cls CE, lambda_rec MSE) for the autoencoders, (CE) for classifiers.
        embedding: [n, d].
        logits: [n, classes].
        trained: of its local training, see ``Trained``; also None for a client that has trained on nothing.
        Each is None unless the method asked for it.
    """

    losses: Tensor | None = None
    embedding: Tensor | None = None
    logits: Tensor | None = None
    trained: Trained | None = None


@dataclass(frozen=True)
class Selection:
    """A client's answer to ``select``.

    Attributes:
        keep: [n] bool, the samples that it trains on; None for all.
        suspicion: [n] float, high for samples that look noisy; scores the detection (AUC), otherwise unused.
        upload: what the client sends to the server for ``observe``.
    """

    keep: np.ndarray | None = None
    suspicion: np.ndarray | None = None
    upload: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class Update:
    """What comes back from a client after local training.

    Attributes:
        client: its number.
        state: its model, name -> tensor.
        used: samples trained on in the round; the weight in the average.
        upload: what else it has sent in the round.
    """

    client: int
    state: Mapping[str, Tensor]
    used: int
    upload: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class Evidence:
    """What the server knows at the end of a round.

    Attributes:
        clients: numbers of the clients that took part, ascending.
        uploads: their uploads, in the same order.
        used: samples that each trained on.
        public: embedding [n, d] and labels [n] of the server's own data (the test set) under the new global model,
            computed when called.
    """

    clients: Sequence[int]
    uploads: Sequence[Mapping[str, np.ndarray]]
    used: Sequence[int]
    public: Callable[[], tuple[Tensor, Tensor]] | None = None


@dataclass(frozen=True)
class WarmUp:
    """Training on the server before round 0.

    Attributes:
        rows: numbers of samples, counted through all clients in the order of their numbers.
        epochs: passes over them.
    """

    rows: np.ndarray
    epochs: int


class Losses(Protocol):
    """Mean losses on the validation images (`evaluation.validation`; the test set where none are set aside)."""

    def before(self) -> float:
        """Of the model that the round began with."""

    def of_all(self) -> float:
        """Of the average of all updates."""

    def without(self, place: int) -> float:
        """Of the average of all updates but the one at ``place``, of two at least."""


class Method:
    """FedAvg, and the base of every other method."""

    class Options(Section):
        """Options in the configuration; unknown ones are errors."""

    sees_truth: ClassVar[bool] = False
    """Controls alone may look at which samples are noisy."""

    def __init__(self, options: Any, task: Task) -> None:
        self.options = options
        self.task = task

    @classmethod
    def lineage(cls, options: Any, rounds: int) -> list[Step]:
        """The methods that this one equals before it does anything of its own, oldest first; empty if from the start.

        Phases are shared by it: see fedsift.grid.
        """
        return []

    def prepare(self, clients: Sequence[Client]) -> None:
        """Before this process's first round: all K clients, in order, as far as they tell the server of themselves.

        A continued run calls it again, so it may depend on nothing but its argument, the options and the task.
        """

    def warm_up(self) -> WarmUp | None:
        """Training that gives the model of round 0; None: it stays as it was initialised."""
        return None

    def acts(self, round_: int) -> bool:
        """Whether the method differs from FedAvg in this round; where not, none of the hooks below is called."""
        return True

    def admit(self, round_: int, rng: np.random.Generator) -> Sequence[int] | None:
        """The clients that take part; None leaves it to the experiment's sampling rule."""
        return None

    def local_training(self, training: Training) -> Training:
        """The experiment's local training, changed where the method's own differs."""
        return training

    def borrowed(self, client: int) -> np.ndarray | None:
        """Samples of others that ``client`` trains on beside its own, as ``WarmUp.rows``; None for none."""
        return None

    def trains(self, round_: int) -> bool:
        """Whether clients train in this round; if not, they only send their uploads and the model stays."""
        return True

    def signals(self, round_: int) -> frozenset[Signal]:
        """What has to be computed of every sample of a client before it trains."""
        return frozenset()

    def select(self, round_: int, client: Client, signals: Signals, rng: np.random.Generator) -> Selection | None:
        """Which samples the client trains on, and what it uploads. None: all, nothing."""
        return None

    def loss(
        self, round_: int, output: Output, labels: Tensor, model: nn.Module, start: Mapping[str, Tensor]
    ) -> Tensor | None:
        """A term added to the local loss of one batch; a scalar tensor. ``start`` is the round's global model."""
        return None

    def goes_on(self, round_: int, client: int, epoch: int, epochs: int, loss: Callable[[], float]) -> bool:
        """Whether ``client`` begins another pass after ``epoch`` passes; ``epochs`` is the experiment's E.

        ``loss()``: mean local loss of its kept samples under its model as it is now (eval mode).
        """
        return epoch < epochs

    def reply_signals(self, round_: int) -> frozenset[Signal]:
        """What has to be computed of every sample of a client after it has trained, with the client's own model."""
        return frozenset()

    def reply(self, round_: int, client: Client, signals: Signals) -> Mapping[str, np.ndarray]:
        """What the client uploads after training, beside what ``select`` uploaded."""
        return {}

    def keep(self, round_: int, updates: Sequence[Update], losses: Losses) -> Sequence[bool] | None:
        """Which updates are averaged; None for all. ``losses`` answers what the average would come to."""
        return None

    def observe(self, round_: int, evidence: Evidence) -> None:
        """Learn from the round, on the server, after the average."""

    def state_dict(self) -> dict[str, np.ndarray]:
        """Everything that later rounds depend on, as arrays."""
        return {}

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Continue from ``state``: this method's own, or that of the method before it in the lineage."""


def floor_share(share: float, count: int) -> int:
    """floor(share count), for ``share`` as it is written: 0.29 of 100 is 29, though 0.29 * 100 < 29 in doubles."""
    return int(share * count + 1e-9)


def start_round(start: int | float, rounds: int) -> int:
    """A round, or a share of ``rounds`` turned into one (at least 1)."""
    return start if isinstance(start, int) else max(1, round(start * rounds))
