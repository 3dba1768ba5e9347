"""Local training. The reference engine is a plain loop over clients: slow, obvious, and the twin of any faster one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from fedsift.methods.base import Client, Method, Selection, Signal, Signals, Update
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

    def _client(self, round_: int, number: int, state: dict[str, Tensor], method: Method) -> LocalResult:
        rows = self.samples.rows(number)
        order = self._order(round_, number, 0)
        x, y = self._draw(rows, order, round_, number, 0)
        noisy = self.samples.noisy[rows][order]
        load(self.model, state)
        client = Client(number, y, noisy if method.sees_truth else None)
        rng = stream(self.seed, "select", round_, number)
        with self.scoring:
            signals = self.signals(x, y, method.signals(round_))
            selection = method.select(round_, client, signals, rng) or Selection()
        keep = np.ones(len(y), dtype=bool) if selection.keep is None else selection.keep
        if not method.trains(round_):
            used = 0
        elif self.samples.free_rider[number]:
            used = int(keep.sum())
        else:
            keep_rows = torch.from_numpy(keep).to(y.device)
            used = self._train(round_, client, method, state, x=x, order=order, keep=keep_rows)
        if wanted := method.reply_signals(round_):
            with self.scoring:
                reply = method.reply(round_, client, self.signals(x, y, wanted))
            selection = replace(selection, upload={**selection.upload, **reply})
        return LocalResult(Update(number, self.model.state_dict(), used), selection, noisy)

    def _train(
        self,
        round_: int,
        client: Client,
        method: Method,
        start: dict[str, Tensor],
        *,
        x: Tensor,
        order: Tensor,
        keep: Tensor,
    ) -> int:
        """SGD on the kept samples; the number of them. ``x``, the client's labels and ``keep`` are in ``order``."""
        training, model, number, y = self.training, self.model, client.number, client.labels
        kept_rows = torch.zeros_like(keep)
        kept_rows[order] = keep
        x, y = x[keep], y[keep]
        if len(y) == 0:
            return 0
        model.train()
        seed_dropout(model, seed_of(self.seed, "dropout", round_, number))
        sgd = Sgd(model, training)
        for epoch in range(training.epochs):
            if epoch and training.reshuffle == "epoch":
                order = self._order(round_, number, epoch)
                order = order[kept_rows[order]]
                x, y = self._draw(self.samples.rows(number), order, round_, number, epoch)
            for xb, yb in zip(torch.split(x, training.batch_size), torch.split(y, training.batch_size), strict=True):
                output = model(xb)
                loss = batch_loss(output, xb, yb, training.objective)
                extra = method.loss(round_, output, yb, model, start)
                sgd.step(loss if extra is None else loss + extra)
        return len(y)

    def _stream(self, purpose: str, round_: int, client: int, epoch: int) -> np.random.Generator:
        """A stream that starts anew as often as `reshuffle` says."""
        index = {"never": (client,), "round": (client, round_), "epoch": (client, round_, epoch)}
        return stream(self.seed, purpose, *index[self.training.reshuffle])

    def _order(self, round_: int, client: int, epoch: int) -> Tensor:
        """A permutation of the client's samples."""
        rows = self.samples.rows(client)
        rng = self._stream("order", round_, client, epoch)
        return torch.from_numpy(rng.permutation(rows.stop - rows.start)).to(self.samples.y.device)

    def _draw(self, rows: slice, order: Tensor, round_: int, client: int, epoch: int) -> tuple[Tensor, Tensor]:
        """The client's samples in ``order``, augmented."""
        x = self.samples.images(self.samples.x[rows][order])
        if self.training.augment == "one-of-six":
            from fedsift.training.augment import one_of_six  # torchvision takes two seconds to import

            x = one_of_six(x, self._stream("augment", round_, client, epoch))
        return x, self.samples.y[rows][order]

    @torch.no_grad()
    def signals(self, x: Tensor, y: Tensor, wanted: frozenset[Signal]) -> Signals:
        """What is ``wanted`` of images [n, C, H, W] and their labels, from the working model in eval mode."""
        if not wanted:
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


@torch.no_grad()
def load(model: nn.Module, state: dict[str, Tensor]) -> None:
    """Copy ``state`` into the model's own tensors."""
    for name, value in model.state_dict().items():
        value.copy_(state[name])
