"""All runs of an experiment, by cell of its tables."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from fedsift.errors import FedsiftError
from fedsift.results.histories import Missing, read_cell
from fedsift.results.reference import BASELINE, Printed, Quantity, Reference, Where
from fedsift.results.runs import DETECTION, RECONSTRUCTION, At, Run
from fedsift.results.statistics import Estimate, estimate, paired
from fedsift.results.verdicts import Comparison, comparable, compare
from fedsift.specs import CellSpec, TableSpec


class Key(NamedTuple):
    """A table's cell: all seeds of a method under one noise and client count."""

    noise: str
    clients: int
    method: str


@dataclass
class Group:
    """The runs of a cell by seed, and why others are missing."""

    runs: dict[int, Run] = field(default_factory=dict)
    missing: dict[int, Missing] = field(default_factory=dict)

    def by_seed(self, metric: str, at: At) -> dict[int, float]:
        """A figure of every run that has it."""
        values = {seed: run.final(metric, at) for seed, run in self.runs.items()}
        return {seed: value for seed, value in values.items() if value is not None}

    def detection(self, metric: str) -> Estimate | None:
        """Mean over seeds of a detection figure."""
        values = (run.detection(metric) for run in self.runs.values())
        return estimate([value for value in values if value is not None])


class Results:
    """An experiment's runs beside what its paper prints."""

    def __init__(self, spec: TableSpec, groups: dict[Key, Group], reference: Reference) -> None:
        self.spec = spec
        self.reference = reference
        self._groups = groups

    def grid(self, noise: str | None = None) -> Iterator[Key]:
        """Every cell of the grid, in the specification's order; those of one noise where it is given."""
        for name in self.spec.noises if noise is None else [noise]:
            for clients in self.spec.clients:
                for method in self.spec.methods:
                    yield Key(name, clients, method)

    def methods(self, noise: str) -> list[str]:
        """The methods that the experiment runs under a noise, in the specification's order."""
        planned = {key.method for key in self._groups if key.noise == noise}
        return [method for method in self.spec.methods if method in planned]

    def group(self, key: Key) -> Group:
        """The runs of a cell; empty where the experiment has no such cell."""
        return self._groups.get(key, Group())

    def value(self, key: Key, metric: str, at: At) -> Comparison:
        """Mean over seeds of a figure, and the paper's value."""
        ours = estimate(list(self.group(key).by_seed(metric, at).values()))
        return self._compare(key, metric, at, "value", ours)

    def gain(self, key: Key, metric: str, at: At) -> Comparison | None:
        """Mean over seeds of the gain over `fedavg`, paired by seed, and the paper's; None for `fedavg`."""
        if key.method == BASELINE:
            return None
        baseline = self.group(key._replace(method=BASELINE)).by_seed(metric, at)
        ours = paired(self.group(key).by_seed(metric, at), baseline)
        return self._compare(key, metric, at, "gain over fedavg", ours)

    def notes(self, key: Key, metric: str, at: At, quantity: Quantity) -> list[str]:
        """What is inconsistent or uncertain in the paper's number for a cell, each remark once."""
        entries: list[Printed | None] = []
        for place in self._where(key, metric, at, quantity):
            entries += [self.reference.find(place), *self.reference.alternatives(place)]
        return list(dict.fromkeys(entry.note for entry in entries if entry is not None and entry.note))

    @property
    def comparable(self) -> bool:
        """Whether the experiment's scale is the paper's."""
        return comparable(self.spec.paper, self.spec.scale)

    def _where(self, key: Key, metric: str, at: At, quantity: Quantity) -> list[Where]:
        """Where the paper may print it: the last round is also the one after T rounds."""
        same: dict[At, At] = {self.spec.rounds: "last", "last": self.spec.rounds}
        ats = [at, same[at]] if at in same else [at]
        return [Where(self.spec.dataset, *key, metric, one, quantity) for one in ats]

    def _compare(self, key: Key, metric: str, at: At, quantity: Quantity, ours: Estimate | None) -> Comparison:
        places = self._where(key, metric, at, quantity)
        found = (entry for place in places if (entry := self.reference.find(place)))
        return compare(ours, next(found, None), self.spec.margin, self.comparable)


def collect(spec: TableSpec, state: Path, reference: Reference) -> Results:
    """Read every run of an experiment.

    Raises:
        FedsiftError: two cells are the same, or one lies outside the specification's own grid.
    """
    groups: dict[Key, Group] = {}
    for cell, outcome in _outcomes(spec, state):
        group = groups.setdefault(Key(cell.noise, cell.clients, cell.method), Group())
        if isinstance(outcome, Run):
            group.runs[cell.seed] = outcome
        else:
            group.missing[cell.seed] = outcome
    # Sums of floats depend on the order of the seeds, which must not depend on the order of the cells.
    for group in groups.values():
        group.runs = dict(sorted(group.runs.items()))
        group.missing = dict(sorted(group.missing.items()))
    return Results(spec, groups, reference.of_split(spec.dataset, spec.partition))


def summary(spec: TableSpec, state: Path = Path(".fedsift/runs")) -> tuple[int, list[tuple[CellSpec, str]]]:
    """How many cells are done, and the others with one sentence each that says why not."""
    missing = [(cell, outcome.reason) for cell, outcome in _outcomes(spec, state) if isinstance(outcome, Missing)]
    return len(spec.cells) - len(missing), missing


def detects(results: Results, noise: str) -> bool:
    """Whether any run under a noise has selected samples."""
    return any(results.group(key).detection(name) for key in results.grid(noise) for name in DETECTION)


def reconstructs(results: Results, noise: str) -> bool:
    """Whether any run under a noise has figures of its reconstructions."""
    return any(results.group(key).by_seed(name, "last") for key in results.grid(noise) for name in RECONSTRUCTION)


def _outcomes(spec: TableSpec, state: Path) -> Iterator[tuple[CellSpec, Run | Missing]]:
    seen = set()
    for cell in spec.cells:
        place = (cell.noise, cell.clients, cell.method, cell.seed)
        if place in seen:
            raise FedsiftError(f"experiment {spec.experiment}: the cell {place} is there twice; plan it again.")
        seen.add(place)
        if not (
            cell.noise in spec.noises
            and cell.clients in spec.clients
            and cell.method in spec.methods
            and cell.seed in spec.seeds
        ):
            raise FedsiftError(f"experiment {spec.experiment}: the cell {place} is outside its grid; plan it again.")
        yield cell, read_cell(cell, spec.rounds, state)
