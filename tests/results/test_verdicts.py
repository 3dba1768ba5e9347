"""Comparison with the printed number."""

import pytest

from fedsift.results.reference import Printed
from fedsift.results.statistics import estimate
from fedsift.results.verdicts import Verdict, compare

PRINTED = Printed(
    dataset="cifar10", noise="closed-set", clients=50, method="fedavg", metric="accuracy", at="best",
    quantity="value", value=0.40, source="table",
)  # fmt: skip


@pytest.mark.parametrize(
    ("mean", "scale", "verdict"),
    [
        (0.405, "paper", Verdict.AGREES),
        (0.41, "paper", Verdict.AGREES),
        (0.39, "code-parity", Verdict.AGREES),
        (0.4101, "paper", Verdict.DIFFERS),
        (0.3899, "code-parity", Verdict.DIFFERS),
        (0.405, "laptop", Verdict.OTHER_SCALE),
        (None, "paper", Verdict.NO_RESULT),
    ],
)
def test_verdicts(mean: float | None, scale: str, verdict: Verdict) -> None:
    ours = None if mean is None else estimate([mean])
    comparison = compare(ours, PRINTED, 0.01, scale)
    assert comparison.verdict == verdict
    assert comparison.difference == (None if mean is None else mean - 0.40)


def test_nothing_printed() -> None:
    comparison = compare(estimate([0.4]), None, 0.01, "paper")
    assert (comparison.difference, str(comparison.verdict)) == (None, "no value printed")
