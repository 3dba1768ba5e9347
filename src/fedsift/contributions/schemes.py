"""All schemes side by side: contributions of a round's participants, and their shares of its budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from fedsift.contributions import shapley
from fedsift.contributions.from_emd import contribution
from fedsift.contributions.games import Game, equal, fair_value, union
from fedsift.contributions.shares import shares

if TYPE_CHECKING:
    from fedsift.config.model import Contributions

Scheme = Literal["emd", "union", "shapley", "fair-value", "equal"]
SCHEMES: tuple[Scheme, ...] = get_args(Scheme)


@dataclass(frozen=True, eq=False)
class Contribution:
    """What one scheme says of the m participants.

    Attributes:
        u: [m], negative ones included.
        share: [m], of the budget.
        error: [m], standard errors of ``u`` where it was sampled; zeros where it is exact.
    """

    u: np.ndarray
    share: np.ndarray
    error: np.ndarray


def contributions(
    game: Game, emd: np.ndarray, how: Contributions, rng: np.random.Generator
) -> dict[Scheme, Contribution]:
    """Every scheme's answer.

    Args:
        game: v of the round.
        emd: label distance of each participant, [m].
        how: the section of the configuration.
        rng: draws permutations where there are too many participants for the exact Shapley value.
    """
    if game.m <= how.exact_up_to:
        values = shapley.Estimate(shapley.exact(game), np.zeros(game.m))
    else:
        values = shapley.sampled(game, how.permutations, rng)
    u: dict[Scheme, np.ndarray] = {
        "emd": contribution(emd, how.alpha, how.b, how.form, how.nearest),
        "union": union(game),
        "shapley": values.u,
        "fair-value": fair_value(game),
        "equal": equal(game),
    }
    none = np.zeros(game.m)
    return {
        scheme: Contribution(u[scheme], shares(u[scheme], how.budget), values.error if scheme == "shapley" else none)
        for scheme in SCHEMES
    }
