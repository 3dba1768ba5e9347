"""What an experiment's runs come to, from the histories alone."""

from typing import NamedTuple

from fedsift.audit.estimates import Estimate, estimate, paired
from fedsift.audit.histories import Histories, History
from fedsift.audit.store import Store
from fedsift.specs import TableSpec

BASELINE = "fedavg"


class Key(NamedTuple):
    """A cell of the grid."""

    noise: str
    clients: int
    method: str


class Figures:
    """The runs of an experiment by cell and seed."""

    def __init__(self, spec: TableSpec, store: Store, histories: Histories) -> None:
        self.spec = spec
        self.store = store
        self.runs: dict[Key, dict[int, History]] = {}
        self.absent: dict[tuple[Key, int], str] = {}
        for cell in sorted(spec.cells, key=lambda cell: cell.seed):
            key = Key(cell.noise, cell.clients, cell.method)
            files = [store.place(f"{phase}/history.csv") for phase in cell.phases]
            found = histories.run(files, spec.rounds)
            if isinstance(found, History):
                self.runs.setdefault(key, {})[cell.seed] = found
            else:
                self.absent[key, cell.seed] = found

    def grid(self) -> list[Key]:
        """Every noise with every client count and method, whether it is planned or not."""
        spec = self.spec
        return [Key(noise, count, method) for noise in spec.noises for count in spec.clients for method in spec.methods]

    def of(self, key: Key) -> dict[int, History]:
        """The runs of a cell by seed."""
        return self.runs.get(key, {})

    def by_seed(self, key: Key, metric: str, at: str) -> dict[int, float]:
        """A metric of the runs that have it."""
        found = {seed: run.final(metric, at) for seed, run in self.of(key).items()}
        return {seed: value for seed, value in found.items() if value is not None}

    def value(self, key: Key, metric: str, at: str) -> Estimate | None:
        """Mean over seeds."""
        return estimate(self.by_seed(key, metric, at))

    def gain(self, key: Key, metric: str, at: str) -> Estimate | None:
        """Mean over seeds of the difference from the baseline's run of the same seed."""
        if key.method == BASELINE:
            return None
        return paired(self.by_seed(key, metric, at), self.by_seed(key._replace(method=BASELINE), metric, at))

    def detection(self, key: Key, metric: str) -> Estimate | None:
        """Mean over seeds of the mean over the rounds with selection."""
        found = {seed: run.over_rounds(metric) for seed, run in self.of(key).items()}
        return estimate({seed: value for seed, value in found.items() if value is not None})

    def recall(self, key: Key, label: int) -> Estimate | None:
        """Mean over seeds of a class's recall at the last round."""
        found = {seed: run.classes[label] for seed, run in self.of(key).items() if label < len(run.classes)}
        return estimate({seed: value for seed, value in found.items() if value is not None})

    def participation(self, key: Key, quantity: str) -> Estimate | None:
        """Mean over seeds of who takes part."""
        found = {seed: run.participation(quantity) for seed, run in self.of(key).items()}
        return estimate({seed: value for seed, value in found.items() if value is not None})

    def evaluations(self, noise: str, clients: int) -> list[int]:
        """After how many rounds any run of a client count was tested."""
        keys = [key for key in self.runs if (key.noise, key.clients) == (noise, clients)]
        return sorted({at + 1 for key in keys for run in self.of(key).values() for at in run.tested})
