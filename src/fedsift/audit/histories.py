"""A run as its histories tell it, read anew: the standard library, no line of the code that makes tables."""

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

NUMBERS = (
    *("clients", "averaged"),
    *("accuracy", "balanced_accuracy", "macro_f1", "macro_precision", "macro_recall"),
    *("loss", "cross_entropy", "mse", "psnr", "ssim", "weight_divergence"),
    *("detection_precision", "detection_recall", "detection_auc"),
)
DETECTION = NUMBERS[-3:]
LAST = 10

Column = list[float | None]


@dataclass(frozen=True)
class History:
    """Columns by name, a value or None a round; ``recalls`` is the text of `class_recall`."""

    rounds: int
    columns: dict[str, Column]
    recalls: list[str]

    @cached_property
    def tested(self) -> list[int]:
        """Rounds with an accuracy."""
        return [at for at, value in enumerate(self.columns["accuracy"]) if value is not None]

    @cached_property
    def best(self) -> int:
        """The first of the rounds with the highest accuracy."""
        accuracy = self.columns["accuracy"]
        return max(self.tested, key=lambda at: (accuracy[at] or 0.0, -at))

    def final(self, metric: str, at: str) -> float | None:
        """A metric at `best`, `last`, `last-10`, or after so many rounds where ``at`` is a number."""
        column = self.columns[metric]
        if at == "last-10":
            values = [column[place] for place in self.tested[-LAST:]]
            return mean([value for value in values if value is not None]) if None not in values else None
        if at.isdigit():
            return column[int(at) - 1] if 0 < int(at) <= self.rounds else None
        return column[self.best if at == "best" else self.tested[-1]]

    def over_rounds(self, metric: str) -> float | None:
        """Mean over the rounds that have a value."""
        return mean([value for value in self.columns[metric] if value is not None])

    @cached_property
    def selecting(self) -> list[int]:
        """Rounds with any detection figure."""
        columns = (self.columns[name] for name in DETECTION)
        return sorted({at for column in columns for at, value in enumerate(column) if value is not None})

    @cached_property
    def classes(self) -> Column:
        """The recall of each class at the last round."""
        last = self.recalls[-1]
        return [None if text == "-" else float(text) for text in last.split(" ")] if last else []

    def participation(self, quantity: str) -> float | None:
        """Who trained and was averaged, see `participation.csv`."""
        clients = [value or 0.0 for value in self.columns["clients"]]
        averaged = [value or 0.0 for value in self.columns["averaged"]]
        match quantity:
            case "clients_per_round":
                return mean(clients)
            case "averaged_per_round":
                return mean(averaged)
            case "refused_share":
                return mean([1 - kept / of for of, kept in zip(clients, averaged, strict=True) if of])
            case "models_received" | "models_sent":
                return math.fsum(clients)
        return self.over_rounds(quantity)


def mean(values: Sequence[float]) -> float | None:
    """The mean; None of nothing."""
    return math.fsum(values) / len(values) if values else None


class Histories:
    """The histories of phases, each read once."""

    def __init__(self) -> None:
        self._phases: dict[Path, tuple[dict[str, list[str]], str]] = {}

    def run(self, files: Sequence[Path], rounds: int) -> History | str:
        """The history of a run from those of its phases, or why there is none."""
        texts: dict[str, list[str]] = {}
        for file in files:
            if file not in self._phases:
                self._phases[file] = _read(file)
            columns, why = self._phases[file]
            if why:
                return why
            for name, column in columns.items():
                texts.setdefault(name, []).extend(column)
        return _history(texts, rounds)


def _history(texts: dict[str, list[str]], rounds: int) -> History | str:
    if texts.get("round") != [str(at) for at in range(rounds)]:
        return f"its rounds are not 0 to {rounds - 1}"
    if set(texts.get("status", ())) != {"ok"}:
        return "diverged"
    try:
        numbers = {name: _numbers(texts[name]) for name in NUMBERS}
    except (KeyError, ValueError) as error:
        return f"a field is no number ({error})"
    # One sum instead of a look at each of some million numbers: what is not finite makes no finite sum.
    if not all(math.isfinite(sum(filter(None, column))) for column in numbers.values()):
        return "a number is not finite"
    if numbers["accuracy"][-1] is None:
        return "its last round was not tested"
    return History(rounds, numbers, texts.get("class_recall", [""] * rounds))


def _numbers(texts: list[str]) -> Column:
    """Numbers, None where blank; most columns of most methods are blank throughout."""
    return [float(text) if text else None for text in texts] if any(texts) else [None] * len(texts)


def _read(file: Path) -> tuple[dict[str, list[str]], str]:
    """The columns of a phase's history, and what is wrong with it."""
    try:
        with file.open(encoding="utf-8", newline="") as source:
            lines = list(csv.reader(source, strict=True))
        head, *rows = lines
        if any(len(row) != len(head) for row in rows):
            return {}, "a line is not as long as the first"
        return dict(zip(head, map(list, zip(*rows, strict=True)), strict=True)), "" if rows else "it has no round"
    except FileNotFoundError:
        return {}, "no history"
    except (OSError, ValueError, csv.Error) as error:
        return {}, f"not readable ({error})"
