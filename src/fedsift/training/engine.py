"""Local training. The reference engine is a plain loop over clients: slow, obvious, and the twin of any faster one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from fedsift.methods.base import Client, Method, Selection, Signal, Signals, Trained, Update
from fedsift.models.dropout import seed_dropout
from fedsift.training.objective import batch_loss, sample_errors, weigh
from fedsift.training.sgd import Sgd
from fedsift.training.stopwatch import Stopwatch
from fedsift.training.streams import seed_of, stream
from fedsift.training.tensors import Samples

if TYPE_CHECKING:
    from fedsift.config.model import Training


@dataclass(frozen=True)
class LocalResult:
    """What one client did in a round. ``update.state`` is only valid until the next result is asked for."""

    update: Update
    selection: Selection
    noisy: Tensor
    """[n] bool, the truth in the order of ``selection``; for scoring the detection, never shown to the method."""


@dataclass(frozen=True)
class Pass:
    """Where local training stands: its place in the random streams."""

    round: int
    client: int
    """K stands for the server."""
    epoch: int


class ReferenceEngine:
    """One working model that every client of a round trains in turn."""

    def __init__(self, model: nn.Module, samples: Samples, training: Training, seed: int, chunk: int) -> None:
        """``chunk``: images in one forward pass where no gradient is needed."""
        self.model = model
        self.samples = samples
        self.training = training
        self.seed = seed
        self.chunk = chunk
        self.scoring = Stopwatch(samples.y.device)

    def local(
        self, round_: int, clients: Sequence[int], state: dict[str, Tensor], method: Method
    ) -> Iterator[LocalResult]:
        """Let ``clients`` train in turn, each from the global model ``state``."""
        for client in clients:
            yield self._client(round_, client, state, method)

    def server(
        self, round_: int, rows: np.ndarray, epochs: int, state: dict[str, Tensor], method: Method
    ) -> dict[str, Tensor]:
        """A copy of the model ``state`` after training on ``rows`` of all clients' samples, all in one place."""
        plain = self.training.model_copy(update={"epochs": epochs})
        index = torch.from_numpy(np.asarray(rows)).to(self.samples.y.device)
        server = Pass(round_, len(self.samples.free_rider), 0)
        order = self._order(server, len(index), plain)
        x, y = self._draw(server, index[order], plain)
        load(self.model, state)
        keep = torch.ones_like(y, dtype=torch.bool)
        self._train(server, method, plain, state, index=index, order=order, x=x, y=y, keep=keep)
        return {name: value.clone() for name, value in self.model.state_dict().items()}

    def _client(self, round_: int, number: int, state: dict[str, Tensor], method: Method) -> LocalResult:
        training = method.local_training(self.training)
        first = Pass(round_, number, 0)
        index = self._index(number, method)
        order = self._order(first, len(index), training)
        x, y = self._draw(first, index[order], training)
        noisy = self.samples.noisy[index[order]]
        load(self.model, state)
        client = Client(number, y, noisy if method.sees_truth else None)
        rng = stream(self.seed, "select", round_, number)
        with self.scoring:
            signals = self.signals(x, y, method.signals(round_))
            selection = method.select(round_, client, signals, rng) or Selection()
        keep = np.ones(len(y), dtype=bool) if selection.keep is None else selection.keep
        wanted = method.reply_signals(round_)
        seen: list[tuple[Tensor, Tensor]] | None = [] if "trained" in wanted else None
        if not method.trains(round_):
            used = 0
        elif self.samples.free_rider[number]:
            used = int(keep.sum())
            self._disguise(round_, number, training.free_rider_noise)
        else:
            kept = torch.from_numpy(keep).to(y.device)
            used = self._train(first, method, training, state, seen, index=index, order=order, x=x, y=y, keep=kept)
        if wanted:
            with self.scoring:
                reply = method.reply(round_, client, replace(self.signals(x, y, wanted), trained=_trained(seen)))
            selection = replace(selection, upload={**selection.upload, **reply})
        return LocalResult(Update(number, self.model.state_dict(), used, selection.upload), selection, noisy)

    def _disguise(self, round_: int, client: int, sigma: float) -> None:
        """What a free rider does to the model that it sends back: noise on every weight, with deviation ``sigma``."""
        if sigma:
            rng = stream(self.seed, "free-rider", round_, client)
            with torch.no_grad():
                for w in self.model.parameters():
                    w.add_(torch.from_numpy(rng.normal(0.0, sigma, tuple(w.shape))).to(w))

    def _train(
        self,
        first: Pass,
        method: Method,
        training: Training,
        start: dict[str, Tensor],
        seen: list[tuple[Tensor, Tensor]] | None = None,
        *,
        index: Tensor,
        order: Tensor,
        x: Tensor,
        y: Tensor,
        keep: Tensor,
    ) -> int:
        """SGD of the working model on the kept samples; the number of them.

        Args:
            seen: is filled with embedding and labels of each batch of the last pass.
            index: [n] rows of the samples.
            order: [n] the order of the first pass, in which ``x``, ``y`` and ``keep`` are.
        """
        model, kept_rows = self.model, torch.zeros_like(keep)
        kept_rows[order] = keep
        x, y = x[keep], y[keep]
        if len(y) == 0:
            return 0
        seed_dropout(model, seed_of(self.seed, "dropout", first.round, first.client))
        sgd = Sgd(model, training)
        epoch = 0
        while method.goes_on(first.round, first.client, epoch, training.epochs, partial(self._loss, x, y)):
            model.train()
            if seen is not None:
                seen.clear()
            if epoch and training.reshuffle == "epoch":
                now = replace(first, epoch=epoch)
                order = self._order(now, len(index), training)
                x, y = self._draw(now, index[order[kept_rows[order]]], training)
            for xb, yb in zip(torch.split(x, training.batch_size), torch.split(y, training.batch_size), strict=True):
                output = model(xb)
                if seen is not None:
                    seen.append((output.embedding.detach(), yb))
                loss = batch_loss(output, xb, yb, training.objective)
                extra = method.loss(first.round, output, yb, model, start)
                sgd.step(loss if extra is None else loss + extra)
            epoch += 1
        return len(y)

    def _index(self, client: int, method: Method) -> Tensor:
        """[n] rows of the samples that a client trains on: its own, then those that the method lends it."""
        rows = self.samples.rows(client)
        index = torch.arange(rows.start, rows.stop, device=self.samples.y.device)
        borrowed = method.borrowed(client)
        return index if borrowed is None else torch.cat([index, torch.from_numpy(borrowed).to(index)])

    def _stream(self, purpose: str, at: Pass, training: Training) -> np.random.Generator:
        """A stream that starts anew as often as `reshuffle` says."""
        places = {"never": (at.client,), "round": (at.client, at.round), "epoch": (at.client, at.round, at.epoch)}
        return stream(self.seed, purpose, *places.get(training.reshuffle, places["round"]))

    def _order(self, at: Pass, count: int, training: Training) -> Tensor:
        """A permutation of a client's samples."""
        order = np.arange(count)
        if training.reshuffle != "none":
            order = self._stream("order", at, training).permutation(count)
        return torch.from_numpy(order).to(self.samples.y.device)

    def _draw(self, at: Pass, rows: Tensor, training: Training) -> tuple[Tensor, Tensor]:
        """The samples of ``rows``, augmented."""
        x = self.samples.images(self.samples.x[rows])
        if training.augment == "one-of-six":
            from fedsift.training.augment import one_of_six  # torchvision takes two seconds to import

            x = one_of_six(x, self._stream("augment", at, training))
        return x, self.samples.y[rows]

    def _loss(self, x: Tensor, y: Tensor) -> float:
        losses = self.signals(x, y, frozenset({"losses"})).losses
        assert losses is not None
        return float(losses.double().sum(1).mean())

    @torch.no_grad()
    def signals(self, x: Tensor, y: Tensor, wanted: frozenset[Signal]) -> Signals:
        """What is ``wanted`` of images [n, C, H, W] and their labels, from the working model in eval mode."""
        if not wanted - {"trained"}:
            return Signals()
        self.model.eval()
        losses, embeddings, logits = [], [], []
        for xb, yb in zip(torch.split(x, self.chunk), torch.split(y, self.chunk), strict=True):
            output = self.model(xb)
            losses.append(weigh(sample_errors(output, xb, yb), self.training.objective))
            embeddings.append(output.embedding)
            logits.append(output.logits)
        return Signals(
            losses=torch.cat(losses) if "losses" in wanted else None,
            embedding=torch.cat(embeddings) if "embedding" in wanted else None,
            logits=torch.cat(logits) if "logits" in wanted else None,
        )


def _trained(seen: list[tuple[Tensor, Tensor]] | None) -> Trained | None:
    if not seen:
        return None
    batch = torch.cat([torch.full_like(labels, number) for number, (_, labels) in enumerate(seen)])
    return Trained(torch.cat([z for z, _ in seen]), torch.cat([labels for _, labels in seen]), batch)


@torch.no_grad()
def load(model: nn.Module, state: Mapping[str, Tensor]) -> None:
    """Copy ``state`` into the model's own tensors."""
    for name, value in model.state_dict().items():
        value.copy_(state[name])
