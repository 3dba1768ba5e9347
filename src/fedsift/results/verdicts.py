"""Does our number agree with the paper's? For now: the means lie within the experiment's margin.

An equivalence test belongs here too: the `Estimate` (every seed's value) and the margin are all that it needs.
"""

from dataclasses import dataclass
from enum import StrEnum

from fedsift.results.reference import Printed
from fedsift.results.statistics import Estimate

COMPARABLE = ("paper", "code-parity")
"""Scales with the paper's rounds, client counts and data."""

_ROUNDING = 1e-9


class Verdict(StrEnum):
    """The outcome of a comparison."""

    AGREES = "within margin"
    DIFFERS = "differs"
    NOT_PRINTED = "no value printed"
    OTHER_SCALE = "scale is not the paper's"
    NO_RESULT = "no result of ours"


@dataclass(frozen=True)
class Comparison:
    """Our number beside the paper's."""

    ours: Estimate | None
    printed: Printed | None
    difference: float | None
    """Our mean minus the paper's value (shares); on other scales than the paper's no ground for a verdict."""
    verdict: Verdict


def compare(ours: Estimate | None, printed: Printed | None, margin: float, scale: str) -> Comparison:
    """Compare a mean over seeds with a printed number.

    Args:
        ours: None where there is no run.
        printed: None where the paper prints nothing that is known.
        margin: largest difference that still counts as agreement (share).
        scale: name of the scale that ours was run at.
    """
    difference = None if ours is None or printed is None else ours.mean - printed.value
    if printed is None:
        verdict = Verdict.NOT_PRINTED
    elif difference is None:
        verdict = Verdict.NO_RESULT
    elif scale not in COMPARABLE:
        verdict = Verdict.OTHER_SCALE
    else:
        # 0.4494 and 0.4594 are exactly a margin of 0.01 apart, though not in binary.
        verdict = Verdict.AGREES if abs(difference) <= margin + _ROUNDING else Verdict.DIFFERS
    return Comparison(ours, printed, difference, verdict)
