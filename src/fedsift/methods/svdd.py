"""Federated multi-class SVDD (MTAE spec, 5.6): the embedding of a class is pulled into a ball around its centre."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field

from fedsift.methods.base import Client, Evidence, Signal, Signals, Start, Task
from fedsift.methods.from_start import FromStart, StartOptions

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from fedsift.models.output import Output


class SvddOptions(StartOptions):
    """Paper and authors' code differ; the defaults are what the fact sheet settles on (D9 to D11)."""

    start: Start = Field(
        0.5,
        description="t_s: round at whose end the centres are set, or share of the rounds (0.5 is 500 of 1000); the "
        "term is added from the next round on.",
    )
    nu: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.1, description="Share of a class's distances over its radius. Not the nu of the one-class SVM."
    )
    lambda_reg: float = Field(1e-5, ge=0, description="Weight of the term in the local loss.")
    factor: Literal["inverse-nu", "one"] = Field(
        "inverse-nu", description="What multiplies the excess over the radii: 1/nu (authors' code) or 1 (paper)."
    )
    average: Literal["batch-classes", "all-classes"] = Field(
        "batch-classes", description="Mean over the classes in the batch (authors' code) or over all k (paper)."
    )
    radii_at_start: Literal["test-quantile", "zero"] = Field(
        "test-quantile",
        description="R_i in round t_s + 1: the quantile of the test set's distances (paper) or 0 (authors' code).",
    )
    reported: Literal["all", "last-batches"] = Field(
        "all",
        description="Distances that a client reports: of all its samples after training, in evaluation mode (paper), "
        "or from the last pass in training mode, of each class those of the last batch that held it (authors' code).",
    )


class Svdd(FromStart):
    """r = t_s: centres mu from the server's test set; r > t_s: L + lambda_reg L_reg, then R from clients' distances."""

    Options = SvddOptions

    def __init__(self, options: Any, task: Task) -> None:
        super().__init__(options, task)
        self.mu: Tensor | None = None
        self.R: Tensor | None = None

    def loss(
        self, round_: int, output: Output, labels: Tensor, model: nn.Module, start: Mapping[str, Tensor]
    ) -> Tensor | None:
        """lambda_reg L_reg of the batch; R is constant inside a round."""
        from fedsift.selection.svdd import regulariser

        if round_ == self.t_s:
            return None
        z, options = output.embedding, self.options
        mu, R = self._on(z.device)
        factor = 1 / options.nu if options.factor == "inverse-nu" else 1.0
        L_reg = regulariser(z, labels, mu, R, factor=factor, batch_classes=options.average == "batch-classes")
        lambda_reg: float = options.lambda_reg
        return lambda_reg * L_reg

    def reply_signals(self, round_: int) -> frozenset[Signal]:
        """The embedding under the client's own model, once there are centres."""
        wanted: Signal = "embedding" if self.options.reported == "all" else "trained"
        return frozenset({wanted}) if round_ > self.t_s else frozenset()

    def reply(self, round_: int, client: Client, signals: Signals) -> Mapping[str, np.ndarray]:
        """How far each sample is from the centre of its class, and the class: the embedding itself stays."""
        from fedsift.selection.svdd import distances, has_centre, in_last_batch

        if self.options.reported == "all":
            if signals.embedding is None:
                raise AssertionError("the round loop gives the signals that reply_signals asks for")
            z, y = signals.embedding, client.labels
        elif signals.trained is None:
            return {"distances": np.zeros(0), "classes": np.zeros(0, dtype=np.int64)}
        else:
            last = in_last_batch(signals.trained.labels, signals.trained.batch, self.task.classes)
            z, y = signals.trained.embedding[last], signals.trained.labels[last]
        mu, _ = self._on(z.device)
        known = has_centre(mu)[y]
        y = y[known]
        d = distances(z[known], y, mu)
        return {"distances": d.double().cpu().numpy(), "classes": y.cpu().numpy()}

    def observe(self, round_: int, evidence: Evidence) -> None:
        """Set the centres at t_s; move the radii after every later round."""
        if round_ == self.t_s:
            self._begin(evidence)
        elif evidence.uploads:
            d, y = (np.concatenate([upload[name] for upload in evidence.uploads]) for name in ("distances", "classes"))
            self._move_radii(d, y)

    def _begin(self, evidence: Evidence) -> None:
        import torch

        from fedsift.selection.svdd import centres, distances, has_centre

        if evidence.public is None:
            raise AssertionError("the round loop gives the server's own data")
        z, y = evidence.public()
        self.mu = centres(z, y, self.task.classes)
        self.R = torch.zeros_like(self.mu[:, 0])
        if self.options.radii_at_start == "test-quantile":
            known = has_centre(self.mu)[y]
            d = distances(z[known], y[known], self.mu)
            self._move_radii(d.double().cpu().numpy(), y[known].cpu().numpy())

    def _move_radii(self, d: np.ndarray, y: np.ndarray) -> None:
        import torch

        from fedsift.selection.svdd import radii

        if self.R is None:
            raise AssertionError("radii without centres")
        R = radii(d, y, self.R.cpu().numpy(), self.options.nu)
        self.R = torch.from_numpy(R).to(self.R)

    def _on(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """Centres and radii where the client computes; after a restart they are on the CPU."""
        if self.mu is None or self.R is None:
            raise AssertionError(f"there are centres after round {self.t_s}")
        self.mu, self.R = self.mu.to(device), self.R.to(device)
        return self.mu, self.R

    def state_dict(self) -> dict[str, np.ndarray]:
        """Centres and radii."""
        if self.mu is None or self.R is None:
            return {}
        return {"mu": self.mu.cpu().numpy(), "R": self.R.cpu().numpy()}

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Continue."""
        import torch

        if "mu" in state:
            self.mu, self.R = (torch.from_numpy(np.array(state[name])) for name in ("mu", "R"))


METHOD = Svdd
