"""Does our number agree with the paper's, and does what it claims hold?

For now a number agrees when the means lie within the experiment's margin; a claim is about the sign of a difference. An
equivalence test belongs here too: the `Estimate` (every seed's value) and the margin are all that it needs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from fedsift.results.reference import Gap, Printed
from fedsift.results.statistics import Estimate

COMPARABLE: Mapping[str, tuple[str, ...]] = {
    "mtae": ("paper", "code-parity"),
    "emfedavg": ("emfedavg",),
    "iaofl": ("iaofl",),
}
"""By paper, the scales with its rounds, client counts and data; a paper without an entry is compared at none."""

FEWEST = 3
"""Seeds that a claim needs: the interval of two rests on one difference between them."""

_ROUNDING = 1e-9


class Verdict(StrEnum):
    """The outcome of a comparison with a number, or (the last three) with a claim."""

    AGREES = "within margin"
    DIFFERS = "differs"
    NOT_PRINTED = "no value printed"
    OTHER_SCALE = "scale is not the paper's"
    NO_RESULT = "no result of ours"
    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "cannot be told"


@dataclass(frozen=True)
class Comparison:
    """Our number beside the paper's."""

    ours: Estimate | None
    printed: Printed | Gap | None
    difference: float | None
    """Our mean minus the paper's value (shares); on other scales than the paper's no ground for a verdict."""
    verdict: Verdict


def comparable(paper: str, scale: str) -> bool:
    """Whether a scale is the paper's own."""
    return scale in COMPARABLE.get(paper, ())


def compare(ours: Estimate | None, printed: Printed | Gap | None, margin: float, same_scale: bool) -> Comparison:
    """Compare a mean over seeds with a printed number.

    Args:
        ours: None where there is no run.
        printed: None where the paper prints nothing that is known.
        margin: largest difference that still counts as agreement (share).
        same_scale: whether ours was run at the paper's scale, see `comparable`.
    """
    difference = None if ours is None or printed is None else ours.mean - printed.value
    if printed is None:
        verdict = Verdict.NOT_PRINTED
    elif difference is None:
        verdict = Verdict.NO_RESULT
    elif not same_scale:
        verdict = Verdict.OTHER_SCALE
    else:
        # 0.4494 and 0.4594 are exactly a margin of 0.01 apart, though not in binary.
        verdict = Verdict.AGREES if abs(difference) <= margin + _ROUNDING else Verdict.DIFFERS
    return Comparison(ours, printed, difference, verdict)


def judge(difference: Estimate | None, wanted: Literal["above", "below"], same_scale: bool) -> tuple[Verdict, str]:
    """Whether a claim about the sign of a difference holds, and why it cannot be told where it cannot.

    It can be told with ``FEWEST`` seeds or more and a 95 % interval that leaves out zero; two-sided, so that a claim
    that is false is found out with the same confidence.
    """
    if difference is None:
        return Verdict.NO_RESULT, ""
    if not same_scale:
        return Verdict.OTHER_SCALE, ""
    if difference.n < FEWEST or difference.low is None or difference.high is None:
        return Verdict.OPEN, f"fewer than {FEWEST} seeds"
    if difference.low <= 0 <= difference.high:
        return Verdict.OPEN, "the interval includes zero"
    return (Verdict.HOLDS if (difference.mean > 0) == (wanted == "above") else Verdict.FAILS), ""
