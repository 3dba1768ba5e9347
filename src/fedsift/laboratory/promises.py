"""Audit of all hires: nobody is paid less than it asks, and no budget is exceeded."""

from dataclasses import dataclass

import numpy as np

from fedsift.laboratory.figures import by_stage
from fedsift.laboratory.play import Played
from fedsift.market.log import BidLog
from fedsift.market.ospm import OspmOptions
from fedsift.market.staged import StagedOptions
from fedsift.market.stages import Stages
from fedsift.market.tender import Tender

SLACK = 1e-9
"""Relative; sums in another order than the mechanism's differ in the last bits."""


@dataclass(frozen=True)
class Promises:
    """What was checked and how often it is broken.

    Attributes:
        hires: all of them, each checked.
        underpaid: hires with p < b.
        worst_loss: largest b - p; 0 if there is none.
        spans: what each limit of the spending is for: `run`, `stage`, `round`.
        limits: number of limits that were checked.
        exceeded: number of limits that are exceeded.
        worst_excess: largest spend beyond a limit; 0 if there is none.
    """

    hires: int
    underpaid: int
    worst_loss: float
    spans: tuple[str, ...]
    limits: int
    exceeded: int
    worst_excess: float


def promises(played: Played, log: BidLog, tender: Tender) -> Promises:
    """Check every hire, the whole budget, and the budgets of stages or rounds where the mechanism has such."""
    loss = log.b[played.row] - played.price
    # A price that is no number keeps no promise.
    kept = played.price >= log.b[played.row]
    stages, options = Stages.of(tender.T, tender.B), played.contender.options
    limits = {"run": (np.array([played.spent.sum()]), np.array([tender.B]))}
    if isinstance(options, StagedOptions):
        limits["stage"] = (by_stage(stages, played.spent), np.array(stages.B))
    if isinstance(options, OspmOptions) and options.budget == "round":
        limits["round"] = (played.spent, np.full(tender.T, tender.B / tender.T))
    spent, limit = (np.concatenate([pair[side] for pair in limits.values()]) for side in (0, 1))
    within = spent <= limit * (1 + SLACK)
    return Promises(
        len(loss),
        int(np.count_nonzero(~kept)),
        float(np.max(loss[~kept], initial=0.0)),
        tuple(limits),
        len(limit),
        int(np.count_nonzero(~within)),
        float(np.max((spent - limit)[~within], initial=0.0)),
    )
