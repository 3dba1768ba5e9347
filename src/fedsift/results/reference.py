"""The numbers that a paper prints: `reports/reference/<paper>.yaml`, typed and closed-world."""

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self

import yaml
from pydantic import Field, ValidationError

from fedsift.config.model import AnyPartition
from fedsift.errors import FedsiftError
from fedsift.results.claims import At, Claim, Text
from fedsift.section import Section

Quantity = Literal["value", "gain over fedavg"]
BASELINE = "fedavg"


class Where(NamedTuple):
    """A number's place in the paper."""

    dataset: str
    noise: str
    clients: int
    method: str
    metric: str
    at: str | int
    quantity: Quantity


class Unplaced(Section):
    """A printed number of which the client count is not known."""

    dataset: str
    noise: str
    method: str
    metric: Literal["accuracy", "macro_f1"]
    at: At
    quantity: Quantity
    value: Annotated[float, Field(ge=-1, le=1)]
    """Share, or difference of shares."""
    source: Text
    """Passage or table that it was read from."""
    note: Text | None = None
    """What is inconsistent or uncertain about it."""


class Printed(Unplaced):
    """One printed number."""

    clients: Annotated[int, Field(ge=1)]
    alternative: bool = False
    """A second number that the paper gives for the same cell: shown beside the first, never compared with."""

    @property
    def where(self) -> Where:
        """Its place; only alternatives share one."""
        return Where(self.dataset, self.noise, self.clients, self.method, self.metric, self.at, self.quantity)


class Gap(Section):
    """A printed difference between two methods that hire."""

    dataset: str
    noise: str | None = None
    """Absent: the mean over the noises that differ in their share of free riders alone."""
    clients: Annotated[int, Field(ge=1)]
    method: str
    against: str
    """The method that it is ahead of."""
    metric: Literal["accuracy"]
    at: Literal["best", "last"]
    value: Annotated[float, Field(ge=-1, le=1)]
    """Difference of shares."""
    source: Text
    """Passage or figure that it was read from."""
    note: Text | None = None
    """What is inconsistent or uncertain about it."""


class _File(Section):
    paper: Text
    title: Text
    citation: Text
    datasets: dict[str, Text]
    noises: dict[str, Text]
    methods: dict[str, Text]
    stands_for: dict[str, Text] = Field({})
    """Methods of ours that are compared with the numbers of another name, because the paper's may be either."""
    splits: dict[str, AnyPartition] = Field({})
    """By data set, the split that everything below is of, but for its seed; absent: any."""
    values: list[Printed] = Field([])
    unplaced: tuple[Unplaced, ...] = ()
    claims: tuple[Claim, ...] = ()
    gaps: tuple[Gap, ...] = ()


class Reference:
    """All that is known of a paper's numbers; empty for a paper without a file."""

    def __init__(
        self,
        values: Sequence[Printed] = (),
        unplaced: Sequence[Unplaced] = (),
        stands_for: Mapping[str, str] | None = None,
        claims: Sequence[Claim] = (),
        splits: Mapping[str, AnyPartition] | None = None,
        gaps: Sequence[Gap] = (),
        title: str = "",
        citation: str = "",
    ) -> None:
        self.values = values
        self.unplaced = unplaced
        self.stands_for = stands_for or {}
        self.claims = claims
        self.splits = splits or {}
        self.gaps = gaps
        self.title = title
        self.citation = citation
        self._main = {entry.where: entry for entry in values if not entry.alternative}

    def of_split(self, dataset: str, partition: AnyPartition | None) -> "Reference":
        """What is known for a split of a data set: no number if the paper's own is another one."""
        own = self.splits.get(dataset)
        if own is None or partition is None or own == partition.model_copy(update={"seed": own.seed}):
            return self
        return Reference(title=self.title, citation=self.citation)

    def find(self, where: Where) -> Printed | None:
        """The number to compare with at a place, None where the paper prints none that is known."""
        return self._main.get(self._printed_as(where))

    def alternatives(self, where: Where) -> list[Printed]:
        """Other numbers that the paper gives for the same place, in the file's order."""
        place = self._printed_as(where)
        return [entry for entry in self.values if entry.alternative and entry.where == place]

    def printed_name(self, method: str) -> str:
        """The name under which the paper prints a method of ours."""
        return self.stands_for.get(method, method)

    def _printed_as(self, where: Where) -> Where:
        return where._replace(method=self.printed_name(where.method))

    @classmethod
    def load(cls, folder: Path, paper: str) -> Self:
        """The numbers of a paper.

        Raises:
            FedsiftError: the folder is missing, or an entry is unknown, incomplete or there twice.
        """
        path = folder / f"{paper}.yaml"
        if not folder.is_dir():
            raise FedsiftError(
                f"{folder}: no such folder of reference values; give the repository's reports/reference."
            )
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return cls()
        try:
            file = _File.model_validate(yaml.safe_load(text))
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            line = f":{mark.line + 1}" if mark else ""
            raise FedsiftError(f"{path}{line}: not valid YAML: {getattr(error, 'problem', error)}.") from None
        except ValidationError as error:
            first = error.errors()[0]
            raise FedsiftError(f"{path}: {_entry(first['loc'])}: {first['msg']}.") from None
        _check(path, file, paper)
        _check_claims(path, file)
        _check_gaps(path, file)
        return cls(
            file.values,
            file.unplaced,
            stands_for=file.stands_for,
            claims=file.claims,
            splits=file.splits,
            gaps=file.gaps,
            title=file.title,
            citation=file.citation,
        )


def _entry(loc: tuple[int | str, ...]) -> str:
    """`values, entry 3, metric`: entries count from 1, as people do."""
    return ", ".join(f"entry {part + 1}" if isinstance(part, int) else part for part in loc) or "the file"


def _check(path: Path, file: _File, paper: str) -> None:
    if file.paper != paper:
        raise FedsiftError(f"{path}: paper: it is {file.paper!r}, but the file's name says {paper!r}.")
    for name, entries in (("values", file.values), ("unplaced", file.unplaced)):
        for number, entry in enumerate(entries, start=1):
            _check_names(f"{path}: {name}, entry {number}", file, entry)
            if entry.quantity != "value" and entry.method == BASELINE:
                raise FedsiftError(f"{path}: {name}, entry {number}: {BASELINE} has no gain over itself.")
    if unlisted := sorted(file.splits.keys() - file.datasets.keys()):
        raise FedsiftError(f"{path}: splits, {unlisted[0]}: it is not listed in datasets; add it there or correct it.")
    for method, printed in file.stands_for.items():
        if method in file.methods or printed not in file.methods:
            raise FedsiftError(
                f"{path}: stands_for, {method}: it stands for {printed!r}; the first may not be listed in methods, the "
                "second has to be."
            )
    main = Counter(entry.where for entry in file.values if not entry.alternative)
    for number, entry in enumerate(file.values, start=1):
        if main[entry.where] > 1 and not entry.alternative:
            raise FedsiftError(
                f"{path}: values, entry {number}: this cell has several entries; mark all but one as alternative."
            )
        if main[entry.where] == 0:
            raise FedsiftError(
                f"{path}: values, entry {number}: an alternative needs an entry that it is an alternative to."
            )


def _check_claims(path: Path, file: _File) -> None:
    for number, claim in enumerate(file.claims, start=1):
        _check_names(f"{path}: claims, entry {number}", file, claim)
        if claim.fault:
            raise FedsiftError(f"{path}: claims, entry {number}: {claim.fault}")


def _check_gaps(path: Path, file: _File) -> None:
    seen: dict[tuple[object, ...], int] = {}
    for number, gap in enumerate(file.gaps, start=1):
        place = f"{path}: gaps, entry {number}"
        _check_names(place, file, gap)
        if gap.method == gap.against:
            raise FedsiftError(f"{place}: {gap.method} is compared with itself.")
        where = (gap.dataset, gap.noise, gap.clients, gap.method, gap.against, gap.metric, gap.at)
        if where in seen:
            raise FedsiftError(f"{place}: entry {seen[where]} is the same gap; keep one of them.")
        seen[where] = number


def _check_names(place: str, file: _File, entry: Unplaced | Claim | Gap) -> None:
    lists = {"dataset": file.datasets, "noise": file.noises, "method": file.methods, "against": file.methods}
    for key, words in lists.items():
        word = getattr(entry, key, None)
        if word is not None and word not in words:
            near = difflib.get_close_matches(word, words, n=1)
            group = "methods" if key == "against" else f"{key}s"
            hint = f"did you mean {near[0]!r}?" if near else f"add it to {group} or correct it."
            raise FedsiftError(f"{place}, {key}: {word!r} is not listed in {group}; {hint}")
