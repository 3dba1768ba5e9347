"""What a paper prints, as the audit reads it: of every reference file in the repository."""

import pytest
from audit.made import REFERENCE

from fedsift.audit.figures import Key
from fedsift.audit.papers import Papers
from fedsift.specs import TableSpec

PAPERS = sorted(path.stem for path in REFERENCE.glob("*.yaml"))


def papers(paper: str, scale: str, dataset: str = "mnist") -> Papers:
    spec = {
        **{
            "scale": scale,
            "experiment": "one",
            "paper": paper,
            "title": "One",
            "dataset": dataset,
            "model": "cnn-small",
        },
        **{"rounds": 100, "margin": 0.01, "noises": ["clean"], "clients": [100], "methods": ["fedavg"], "seeds": [0]},
        **{"cells": [], "output": "reports/one"},
    }
    return Papers(TableSpec.model_validate(spec), REFERENCE)


@pytest.mark.parametrize("paper", [*PAPERS, "another"])
def test_every_reference_file_is_read(paper: str) -> None:
    """That of IAOFL prints gaps and no values."""
    known = papers(paper, "quick")
    question = (Key("clean", 100, "fedavg"), "accuracy", "best", "value")
    assert known.value(question) == (0.8681 if paper == "emfedavg" else None)


@pytest.mark.parametrize(
    ("paper", "scale", "own"), [("iaofl", "iaofl", True), ("iaofl", "quick", False), ("mtae", "code-parity", True)]
)
def test_verdicts_are_given_at_the_papers_own_scales(paper: str, scale: str, own: bool) -> None:
    verdict = papers(paper, scale).verdict(0.5, 0.0)
    assert verdict == ("within margin" if own else "scale is not the paper's")
