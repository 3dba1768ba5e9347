"""What an audit may find, each in one sentence."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum


class Outcome(IntEnum):
    """The result of an audit, which is its exit code too."""

    HOLDS = 0
    BROKEN = 1
    UNTOLD = 2
    """Nothing contradicts the numbers, but something that would be needed to tell is not here."""

    @property
    def words(self) -> str:
        """For people."""
        return ("holds", "broken", "cannot tell")[self]


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """What outcomes come to together: one contradiction outweighs any doubt."""
    found = set(outcomes)
    return next((one for one in (Outcome.BROKEN, Outcome.UNTOLD) if one in found), Outcome.HOLDS)


@dataclass(frozen=True)
class Finding:
    """A link that does not hold, or (``outcome`` UNTOLD) of which it cannot be told."""

    file: str
    expected: str
    found: str
    advice: str
    outcome: Outcome = Outcome.BROKEN

    @property
    def sentence(self) -> str:
        """File, expected, found and the next step, on one line whatever the files hold."""
        text = f"{self.file}: expected {self.expected}, found {self.found}; {self.advice}."
        return "".join(letter if letter.isprintable() else "?" for letter in text)
