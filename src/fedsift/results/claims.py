"""What a paper says in words about its curves, as far as runs can test it."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from fedsift.section import Round, Section

Text = Annotated[str, StringConstraints(min_length=1)]
At = Literal["best", "last"] | Round
"""The round that a figure is of; a number is "after so many rounds"."""


class Claim(Section):
    """One claim: a method's figure lies below or above that of another method, or above a number."""

    dataset: str
    noise: str
    clients: Annotated[int, Field(ge=1)]
    method: str
    metric: Literal["accuracy", "macro_f1"]
    at: At
    kind: Literal["below", "above", "above value"]
    against: str | None = None
    """The other method."""
    against_at: At | None = None
    """The other method's round; absent: the same."""
    value: Annotated[float, Field(ge=0, le=1)] | None = None
    """The number (share)."""
    source: Text
    """Passage that it was read from."""
    note: Text | None = None
    """What is uncertain about it, and what the passage leaves open that had to be decided for a test."""

    @property
    def fault(self) -> str:
        """What is wrong with it, as the end of a sentence; empty if nothing is."""
        if self.kind == "above value":
            if self.value is None or self.against or self.against_at:
                return "above value needs a value, and no other method."
        elif self.value is not None or self.against is None:
            return f"{self.kind} needs the method that it is against, and no value."
        elif self.method == self.against and (self.against_at or self.at) == self.at:
            return f"{self.method} is compared with itself."
        return ""

    def text(self, method: str) -> str:
        """The claim in words, of the ``method`` of ours that it is tested on."""
        metric = "" if self.metric == "accuracy" else "macro F1: "
        if self.kind == "above value":
            return f"{metric}{method} above {100 * (self.value or 0):g} % {_when(self.at)}"
        if self.against_at in (None, self.at):
            each = "" if isinstance(self.at, int) else ", each "
            return f"{metric}{method} {self.kind} {self.against}{each or ' '}{_when(self.at)}"
        return f"{metric}{method} {_when(self.at)} {self.kind} {self.against} {_when(self.against_at)}"


def _when(at: At | None) -> str:
    return f"after {at} rounds" if isinstance(at, int) else f"at its {at} round"
