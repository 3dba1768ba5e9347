"""Quality of the clients of a round from losses without each of them, and who is screened out (incentive spec, 4)."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from fedsift.section import Section, Share

Screen = Literal["all", "worst", "off"]


class QualityOptions(Section):
    """The paper prints eq. (3) and the comparison of the losses; what follows from the comparison is lost."""

    epsilon: Annotated[float, Field(gt=0, lt=1)] = Field(
        1e-3, description="Quality of the worst client of a round, eq. (3): a very small positive number."
    )
    initial: Share | Literal["mean"] = Field(
        1.0,
        description="Quality of a client that has never trained: a number (1: everybody is tried once), or `mean`: "
        "that of the clients which have (1 while there are none).",
    )
    screen: Screen = Field(
        "all",
        description="Who of those without whom the loss is lower is left out of the average and gets epsilon: `all`, "
        "only the `worst`, or nobody (`off`). They are paid all the same.",
    )


@dataclass(frozen=True, eq=False)
class Verdict:
    """What a round says of its m participants.

    Attributes:
        M: [m] bool, flagged: the model is better without them.
        keep: [m] bool, averaged; never nobody.
        q: [m], in [epsilon, 1]; None where the round says nothing of quality.
    """

    M: NDArray[np.bool_]
    keep: NDArray[np.bool_]
    q: NDArray[np.float64] | None


def judge(loss: NDArray[np.float64], loss_of_all: float, how: QualityOptions) -> Verdict:
    """Screening and quality of one round.

    A loss that is not finite counts as larger than all others: a client whose upload broke the model is the one without
    whom the loss is finite.

    Args:
        loss: [m], loss_i^t = L(omega^t_{-i}), eq. (2): validation loss of the average of all participants but i; with
            one participant, that of the last global model.
        loss_of_all: L(omega^t), of the average of all participants.
        how: the section of the configuration.
    """
    M = flagged(loss, loss_of_all, how.screen)
    q = quality(loss, how.epsilon)
    if q is not None:
        q[M] = how.epsilon
    return Verdict(M, np.ones_like(M) if M.all() else ~M, q)


def quality(loss: NDArray[np.float64], epsilon: float) -> NDArray[np.float64] | None:
    """q_i^t = max((loss_i^t - min loss^t) / (max loss^t - min loss^t), epsilon), eq. (3), [m].

    None for fewer than two participants and for equal losses: there is nothing to compare.
    """
    loss = _comparable(loss)
    if len(loss) < 2 or loss.max() == loss.min():
        return None
    if np.isinf(loss.max()):
        return np.where(np.isinf(loss), 1.0, epsilon)
    # The difference of the extremes may be too large to write down.
    half = loss / 2
    return np.asarray(np.maximum((half - half.min()) / (half.max() - half.min()), epsilon))


def flagged(loss: NDArray[np.float64], loss_of_all: float, screen: Screen) -> NDArray[np.bool_]:
    """M_t = {i: L(omega^t_{-i}) < L(omega^t)}, [m] bool; with ``worst``, only the one with the lowest loss."""
    loss = _comparable(loss)
    M = np.asarray(loss < _comparable(np.array([loss_of_all])))
    if screen == "all":
        return M
    worst = np.zeros_like(M)
    if screen == "worst" and M.any():
        worst[np.argmin(loss)] = True
    return worst


def _comparable(loss: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isfinite(loss), loss, np.inf)
