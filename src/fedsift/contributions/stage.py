"""The contributions stage: play one round and ask what each participant has contributed to it, by every scheme."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from fedsift.contributions.games import Game
from fedsift.contributions.rows import DIVERGED, Row, write
from fedsift.contributions.schemes import contributions
from fedsift.contributions.value import Diverged, Value
from fedsift.emd.labels import label_counts, label_emd
from fedsift.errors import FedsiftError
from fedsift.training.run import server_at_start
from fedsift.training.streams import stream

if TYPE_CHECKING:
    from fedsift.methods.base import Update
    from fedsift.specs import ContributionSpec
    from fedsift.training.loop import Federation


def write_contributions(
    spec: ContributionSpec, wanted_device: str = "auto", report: Callable[[str], None] = print
) -> None:
    """Play the round of ``spec`` and write its table, `rows.COLUMNS`; equal inputs give equal bytes.

    The round's participants, their streams and their local training are those of the loop; what a method removes
    afterwards is judged too.

    Raises:
        FedsiftError: an input is missing or broken, or there are fewer test images than are to validate.
    """
    federation, status = server_at_start(spec.run, wanted_device)
    held_out = len(federation.samples.y_val)
    if held_out < spec.how.validation:
        raise FedsiftError(
            f"{spec.output}: contributions.validation is {spec.how.validation}, but {spec.run.partition} holds out "
            f"{held_out} validation images; lower it."
        )
    rows = [DIVERGED] if status != "ok" else _rows(spec, federation, report)
    if rows == [DIVERGED]:
        report(f"{spec.output}: a model is not finite, so there is nothing to share out.")
    write(Path(spec.output), rows)


def _rows(spec: ContributionSpec, federation: Federation, report: Callable[[str], None]) -> list[Row]:
    round_, how = spec.run.start, spec.how
    updates = federation.updates(round_)
    if not all(bool(torch.isfinite(value).all()) for update in updates for value in update.state.values()):
        return [DIVERGED]
    began = time.monotonic()
    game = Game(len(updates), Value(federation, updates, how.value, how.validation))
    counts = _label_counts(federation)
    emd = label_emd(counts, counts.sum(axis=0) / counts.sum())[[update.client for update in updates]]
    try:
        found = contributions(game, emd, how, stream(spec.run.seed, "shapley", round_))
    except Diverged:
        return [DIVERGED]
    seconds = time.monotonic() - began
    report(f"{game.m} participants: {game.evaluations} coalitions valued in {seconds:.1f} s")
    about = {
        "v_nobody": game.v(0),
        "v_everybody": game.v(game.everybody),
        "evaluations": game.evaluations,
    }
    rows: list[Row] = []
    for place, update in enumerate(updates):
        row: dict[str, str | int | float] = {"status": "ok", **_client(update, counts), "emd": float(emd[place])}
        for scheme, one in found.items():
            row |= {f"{scheme}_u": float(one.u[place]), f"{scheme}_share": float(one.share[place])}
        rows.append(row | {"shapley_error": float(found["shapley"].error[place])} | about)
    return rows


def _client(update: Update, counts: np.ndarray) -> dict[str, int]:
    held = counts[update.client]
    return {
        "client": update.client,
        "samples": int(held.sum()),
        "used": update.used,
        "classes": int((held > 0).sum()),
    }


def _label_counts(federation: Federation) -> np.ndarray:
    """[K, classes] labels that each client holds, wrong ones included, as the server of EMFedAvg is told them."""
    labels, classes = federation.samples.y.cpu().numpy(), federation.method.task.classes
    rows = (federation.samples.rows(client) for client in range(federation.spec.clients))
    return label_counts((labels[own] for own in rows), classes)
