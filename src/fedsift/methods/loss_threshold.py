"""AT, the adaptive loss threshold (MTAE spec, 5.3), from FedBalancer without its deadlines."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from pydantic import Field

from fedsift.methods.base import Client, Evidence, Selection, Signal, Signals, Task, floor_share
from fedsift.methods.from_start import FromStart, StartOptions
from fedsift.section import Round, Share
from fedsift.selection.vectors import total_loss


class ThresholdOptions(StartOptions):
    """The symbols are the paper's."""

    p: Share = Field(0.75, description="Share of the samples over the threshold that is kept.")
    lss: Share = Field(0.1, description="Step by which the loss threshold ratio ltr moves.")
    tw: Round = Field(5, description="Window, in rounds, of the utilities that are compared.")
    trains_at_start: bool = Field(
        True,
        description="Whether clients train in round t_s, where the first losses are collected; the authors' code does "
        "not.",
    )


class LossThreshold(FromStart):
    """OT = {j : l_j >= l_t}, UT = {j : l_j < l_t}: keep UT and a random floor(p |OT|) of OT."""

    Options = ThresholdOptions

    def __init__(self, options: Any, task: Task) -> None:
        super().__init__(options, task)
        self.ltr = 0.0
        self.l_t = 0.0
        self.U: list[float] = []

    def trains(self, round_: int) -> bool:
        """Round t_s may be for collecting alone."""
        return round_ > self.t_s or bool(self.options.trains_at_start)

    def signals(self, round_: int) -> frozenset[Signal]:
        """The loss terms."""
        return frozenset({"losses"})

    def select(self, round_: int, client: Client, signals: Signals, rng: np.random.Generator) -> Selection | None:
        """L_low and L_high over all samples, S and n over the selected ones."""
        l = total_loss(signals)
        keep = np.ones(len(l), dtype=bool)
        if round_ > self.t_s:
            OT = self.over(l)
            keep[OT] = False
            keep[rng.choice(OT, floor_share(self.options.p, len(OT)), replace=False)] = True
        upload = {"L_low": l.min(), "L_high": l.max(), "S": l[keep].sum(), "n": np.float64(keep.sum())}
        upload = {name: np.asarray(value) for name, value in upload.items()}
        return Selection(keep=keep if round_ > self.t_s else None, suspicion=l, upload=upload)

    def over(self, l: np.ndarray) -> np.ndarray:
        """OT: numbers of the samples whose loss reaches the threshold."""
        OT: np.ndarray = np.flatnonzero(l >= self.l_t)
        return OT

    def observe(self, round_: int, evidence: Evidence) -> None:
        """The threshold moves every round, its ratio ltr at most every tw rounds."""
        if not evidence.uploads:
            return
        L_low, L_high, S, n = (
            np.array([float(upload[name]) for upload in evidence.uploads]) for name in ("L_low", "L_high", "S", "n")
        )
        if round_ > self.t_s and n.sum() > 0:
            self.U.append(float(S.sum() / n.sum()))  # u_R
            self.control_ltr(round_)
        self.l_t = float(L_low.min() + (L_high.mean() - L_low.min()) * self.ltr)

    def control_ltr(self, round_: int) -> None:
        """Raise ltr while the loss falls, lower it while it rises."""
        tw, lss = self.options.tw, self.options.lss
        if (round_ + 1) % tw or len(self.U) < 2 * tw:
            return
        past, recent = sum(self.U[-2 * tw : -tw]), sum(self.U[-tw:])
        self.ltr = min(self.ltr + lss, 1.0) if past > recent else max(self.ltr - lss, 0.0)

    def state_dict(self) -> dict[str, np.ndarray]:
        """ltr, l_t and the utilities that the next comparison can reach."""
        return {"ltr": np.array(self.ltr), "l_t": np.array(self.l_t), "U": np.array(self.U[-2 * self.options.tw :])}

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Continue."""
        if "ltr" in state:
            self.ltr, self.l_t = float(state["ltr"]), float(state["l_t"])
            self.U = [float(u) for u in state["U"]]


METHOD = LossThreshold
