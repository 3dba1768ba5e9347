"""The federated round, the only one: methods plug into it, engines do its local training."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from fedsift.methods.base import Client, Evidence, Method, Update
from fedsift.training.average import Average
from fedsift.training.engine import ReferenceEngine, load
from fedsift.training.evaluate import detection, evaluate
from fedsift.training.history import Row
from fedsift.training.stopwatch import Stopwatch
from fedsift.training.streams import clients_by_round, stream
from fedsift.training.tensors import Samples
from fedsift.training.validation import ValidationLosses

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
        method.prepare([self._client(number) for number in range(spec.clients)])

    def warm_up(self) -> None:
        """Train the model of round 0 on the server, where the method does."""
        if warm_up := self.method.warm_up():
            self.state = self.engine.server(0, warm_up.rows, warm_up.epochs, self.state, self.plain)

    def round(self, round_: int) -> Row:
        """Run round ``round_`` and describe it: admit, select, train, keep, average, observe, evaluate."""
        method = self.method if self.method.acts(round_) else self.plain
        clients = self._admit(round_, method)
        begins = dict(self.state)
        updates: list[Update] = []
        average = Average()
        noisy, keep, suspicion, uploads, used = [], [], [], [], []
        chooses = type(method).keep is not Method.keep
        for result in self.engine.local(round_, clients, self.state, method):
            update, selection = result.update, result.selection
            if chooses:
                state = {name: value.clone() for name, value in update.state.items()}
                updates.append(replace(update, state=state))
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
            losses = ValidationLosses(begins, updates, self._validation_loss)
            with self.fitting:
                kept = method.keep(round_, updates, losses)
            for update, is_kept in zip(updates, [True] * len(updates) if kept is None else kept, strict=True):
                average.add(update.state, update.used if is_kept else 0)
        self.state = average.of(self.state)
        row: dict[str, Any] = {
            "round": round_,
            "status": "ok",
            "clients": sum(n > 0 for n in used),
            "samples": sum(self.samples.rows(client).stop - self.samples.rows(client).start for client in clients),
            "used": sum(used),
            "averaged": average.count,
        }
        if not all(bool(torch.isfinite(value).all()) for value in self.state.values()):
            return row | {"status": "diverged"}
        with self.fitting:
            method.observe(round_, Evidence(clients, uploads, used, self._public))
        row |= detection(noisy, keep, suspicion)
        how = self.spec.evaluation
        if (round_ + how.count_from) % how.every == 0 or round_ == self.spec.rounds - 1:
            load(self.model, self.state)
            scores = evaluate(self.model, self.samples, self.spec.training.objective, how.batch_size, how.ssim_images)
            if not math.isfinite(float(scores["loss"])):
                # Finite weights can be large enough that what they compute is not.
                return row | {"status": "diverged"}
            row |= scores
            if (
                clients
                and how.weight_divergence
                and math.isfinite(w_d := self._weight_divergence(round_, clients, begins))
            ):
                row["weight_divergence"] = w_d
        return row

    def updates(self, round_: int) -> list[Update]:
        """What the clients of round ``round_`` send back, ascending, before any is removed; the model stays as it is.

        For looking at a round from outside: it takes all of a round's models into memory, which ``round`` avoids.
        """
        method = self.method if self.method.acts(round_) else self.plain
        clients = self._admit(round_, method)
        results = (result.update for result in self.engine.local(round_, clients, self.state, method))
        return [
            replace(update, state={name: value.clone() for name, value in update.state.items()}) for update in results
        ]

    def _weight_divergence(self, round_: int, clients: Sequence[int], begins: dict[str, Tensor]) -> float:
        """w_d = |w - w_SGD| / |w_SGD| after one round from the same model (Zhao et al. 2018; EMFedAvg spec, 3).

        w_SGD takes as many local steps as one client of the mean size, on samples drawn from all clients of the round.
        """
        owned = [self.samples.rows(client) for client in clients]
        pool = np.concatenate([np.arange(rows.start, rows.stop) for rows in owned])
        count = max(1, round(len(pool) / len(clients)))
        drawn = stream(self.spec.seed, "pooled", round_).choice(pool, count, replace=False)
        central = self.engine.server(round_, drawn, self.spec.training.epochs, begins, self.plain)
        w, w_sgd = (
            torch.cat([state[name].flatten().double() for name, _ in self.model.named_parameters()])
            for state in (self.state, central)
        )
        return float((w - w_sgd).norm() / w_sgd.norm())

    @torch.no_grad()
    def _validation_loss(self, state: Mapping[str, Tensor]) -> float:
        """Mean loss of a model on the validation images; not finite where the model overflows."""
        load(self.model, state)
        losses = self.engine.signals(
            self.samples.images(self.samples.x_val), self.samples.y_val, frozenset({"losses"})
        ).losses
        assert losses is not None
        return float(losses.double().sum(1).mean())

    def _client(self, number: int) -> Client:
        rows = self.samples.rows(number)
        return Client(number, self.samples.y[rows], self.samples.noisy[rows] if self.method.sees_truth else None)

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
            count = method.task.participants
            if spec.sampling.rule == "by-round":
                chosen = clients_by_round(round_, spec.clients, count).tolist()
            else:
                rng = stream(spec.seed, "sample", round_)
                chosen = rng.choice(spec.clients, count, replace=False).tolist()
        return sorted(int(client) for client in np.asarray(chosen))
