"""The papers' numbers beside ours: read from the reference values, and compared, a second time."""

from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from fedsift.audit.estimates import Estimate
from fedsift.audit.figures import Key
from fedsift.audit.sheet import Row, Tally
from fedsift.config.model import AnyPartition
from fedsift.results.verdicts import comparable
from fedsift.specs import TableSpec

Question = tuple[Key, str, str, str]
"""Cell, metric, round, and value or gain."""

FEWEST = 3
SLACK = 1e-9


class Papers:
    """What a paper prints, for the cells of an experiment."""

    def __init__(self, spec: TableSpec, folder: Path) -> None:
        self.spec = spec
        self.known = folder.is_dir()
        self.comparable = comparable(spec.paper, spec.scale)
        self._values: dict[tuple[Any, ...], float] = {}
        self._names: dict[str, str] = {}
        path = folder / f"{spec.paper}.yaml"
        if path.is_file():
            self._load(yaml.safe_load(path.read_text(encoding="utf-8")))

    def _load(self, file: dict[str, Any]) -> None:
        own = file.get("splits", {}).get(self.spec.dataset)
        if own is not None and self.spec.partition is not None and not self._same_split(own):
            return
        self._names = file.get("stands_for", {})
        for entry in file.get("values") or []:
            if not entry.get("alternative"):
                names = ("dataset", "noise", "clients", "method", "metric", "at", "quantity")
                self._values[tuple(str(entry[name]) for name in names)] = float(entry["value"])

    def _same_split(self, own: object) -> bool:
        try:
            printed = TypeAdapter(AnyPartition).validate_python(own).model_dump(exclude={"seed"})
        except ValidationError:
            return False
        return self.spec.partition is not None and printed == self.spec.partition.model_dump(exclude={"seed"})

    def value(self, question: Question) -> float | None:
        """The printed number; the last round is also the one after all rounds."""
        key, metric, at, quantity = question
        last = {"last": str(self.spec.rounds), str(self.spec.rounds): "last"}
        method = self._names.get(key.method, key.method)
        for one in (at, last.get(at)):
            place = (self.spec.dataset, key.noise, str(key.clients), method, metric, str(one), quantity)
            if place in self._values:
                return self._values[place]
        return None

    def compare(self, tally: Tally, where: str, row: Row, question: Question, ours: Estimate | None) -> None:
        """The columns with the paper's number, our difference and the verdict."""
        gain = question[3] != "value"
        names = ("paper_gain", "gain_difference", "gain_verdict") if gain else ("paper", "difference", "verdict")
        if not self.known:
            tally.skipped = "the papers' numbers: the reference values are not here"
            return
        value = self.value(question)
        difference = None if ours is None or value is None else ours.mean - value
        tally.number(f"{where} {names[0]}", row.get(names[0], ""), value)
        tally.number(f"{where} {names[1]}", row.get(names[1], ""), difference)
        tally.words(f"{where} {names[2]}", row.get(names[2], ""), self.verdict(value, difference))

    def verdict(self, value: float | None, difference: float | None) -> str:
        """What a difference says of our number."""
        if value is None:
            return "no value printed"
        if difference is None:
            return "no result of ours"
        if not self.comparable:
            return "scale is not the paper's"
        return "within margin" if abs(difference) <= self.spec.margin + SLACK else "differs"

    def judge(self, difference: Estimate | None, kind: str) -> str:
        """What a difference says of a claim."""
        if difference is None:
            return "no result of ours"
        if not self.comparable:
            return "scale is not the paper's"
        if difference.n < FEWEST or difference.low is None or difference.high is None:
            return "cannot be told"
        if difference.low <= 0 <= difference.high:
            return "cannot be told"
        return "holds" if (difference.mean > 0) == (kind != "below") else "does not hold"
