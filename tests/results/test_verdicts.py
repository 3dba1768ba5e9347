"""Comparison with the printed number."""

from typing import Any

import pytest

from fedsift.results.reference import Printed
from fedsift.results.statistics import estimate
from fedsift.results.verdicts import Verdict, comparable, compare, judge

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
    comparison = compare(ours, PRINTED, 0.01, comparable("mtae", scale))
    assert comparison.verdict == verdict
    assert comparison.difference == (None if mean is None else mean - 0.40)


def test_each_paper_has_scales_of_its_own() -> None:
    assert comparable("emfedavg", "emfedavg")
    assert not comparable("emfedavg", "paper")
    assert not comparable("mtae", "emfedavg")
    assert not comparable("iaofl", "paper")


@pytest.mark.parametrize(
    ("values", "wanted", "verdict"),
    [
        ([0.01, 0.02, 0.03, 0.02], "above", Verdict.HOLDS),
        ([0.01, 0.02, 0.03, 0.02], "below", Verdict.FAILS),
        ([-0.01, -0.011, -0.012], "below", Verdict.HOLDS),
        ([-0.01, 0.02, 0.03], "above", Verdict.OPEN),
        ([0.01, 0.011], "above", Verdict.OPEN),
        ([0.01], "above", Verdict.OPEN),
        ([], "above", Verdict.NO_RESULT),
    ],
)
def test_claims(values: list[float], wanted: Any, verdict: Verdict) -> None:
    assert judge(estimate(values), wanted, True)[0] == verdict


def test_nothing_printed() -> None:
    comparison = compare(estimate([0.4]), None, 0.01, True)
    assert (comparison.difference, str(comparison.verdict)) == (None, "no value printed")
