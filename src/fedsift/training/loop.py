"""The federated round, the only one: methods plug into it, engines do its local training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from fedsift.methods.base import Evidence, Method, Update, floor_share
from fedsift.training.average import Average
from fedsift.training.engine import ReferenceEngine, load
from fedsift.training.evaluate import detection, evaluate
from fedsift.training.history import Row
from fedsift.training.stopwatch import Stopwatch
from fedsift.training.streams import clients_by_round, stream
from fedsift.training.tensors import Samples

if TYPE_CHECKING:
    from fedsift.specs import TrainSpec


class Federation:
    """The server's side of a run: the global model, the method, and what a round does to them."""

    def __init__(self, spec: TrainSpec, model: nn.Module, method: Method, samples: Samples) -> None:
        self.spec = spec
        self.model = model
        self.method = method
        self.plain = Method(Method.Options(), method.task)
        self.samples = samples
        self.state: dict[str, Tensor] = {name: value.clone() for name, value in model.state_dict().items()}
        self.engine = ReferenceEngine(model, samples, spec.training, spec.seed, spec.evaluation.batch_size)
        self.fitting = Stopwatch(samples.y.device)

    def round(self, round_: int) -> Row:
        """Run round ``round_`` and describe it: admit, select, train, keep, average, observe, evaluate."""
        method = self.method if self.method.acts(round_) else self.plain
        clients = self._admit(round_, method)
        updates: list[Update] = []
        average = Average()
        noisy, keep, suspicion, uploads, used = [], [], [], [], []
        chooses = type(method).keep is not Method.keep
        for result in self.engine.local(round_, clients, self.state, method):
            update, selection = result.update, result.selection
            if chooses:
                updates.append(
                    Update(update.client, {name: value.clone() for name, value in update.state.items()}, update.used)
                )
            else:
                average.add(update.state, update.used)
            if selection.keep is not None:
                noisy.append(result.noisy)
                keep.append(selection.keep)
                if selection.suspicion is not None:
                    suspicion.append(selection.suspicion)
            uploads.append(selection.upload)
            used.append(update.used)
        if chooses:
            kept = method.keep(round_, updates)
            for update, is_kept in zip(updates, [True] * len(updates) if kept is None else kept, strict=True):
                average.add(update.state, update.used if is_kept else 0)
        average.into(self.state)
        row: dict[str, Any] = {
            "round": round_,
            "status": "ok",
            "clients": sum(n > 0 for n in used),
            "samples": sum(self.samples.rows(client).stop - self.samples.rows(client).start for client in clients),
            "used": sum(used),
        }
        if not all(bool(torch.isfinite(value).all()) for value in self.state.values()):
            return row | {"status": "diverged"}
        with self.fitting:
            method.observe(round_, Evidence(clients, uploads, used, self._public))
        row |= detection(noisy, keep, suspicion)
        if round_ % self.spec.evaluation.every == 0 or round_ == self.spec.rounds - 1:
            load(self.model, self.state)
            how = self.spec.evaluation
            scores = evaluate(self.model, self.samples, self.spec.training.objective, how.batch_size, how.ssim_images)
            if not math.isfinite(scores["loss"]):
                # Finite weights can be large enough that what they compute is not.
                return row | {"status": "diverged"}
            row |= scores
        return row

    def _public(self) -> tuple[Tensor, Tensor]:
        load(self.model, self.state)
        x, y = self.samples.images(self.samples.x_test), self.samples.y_test
        embedding = self.engine.signals(x, y, frozenset({"embedding"})).embedding
        assert embedding is not None
        return embedding, y

    def _admit(self, round_: int, method: Method) -> Sequence[int]:
        """Ascending numbers of the clients that take part, so that their order can change nothing."""
        spec = self.spec
        chosen = method.admit(round_, stream(spec.seed, "admit", round_))
        if chosen is None:
            count = max(1, floor_share(spec.sampling.share, spec.clients))
            if spec.sampling.rule == "by-round":
                chosen = clients_by_round(round_, spec.clients, count).tolist()
            else:
                rng = stream(spec.seed, "sample", round_)
                chosen = rng.choice(spec.clients, count, replace=False).tolist()
        return sorted(int(client) for client in np.asarray(chosen))
