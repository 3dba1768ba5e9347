"""What each stage is asked to do: small files, frozen when the graph is built, enough to run a stage by hand.

A specification holds paths and every parameter that can change the stage's bytes. Its digest is a parameter of the
Snakemake rule, so a changed value re-runs exactly the stages that it reaches.
"""

import hashlib
from pathlib import Path
from typing import Any, Self

from pydantic import Field, ValidationError

from fedsift.config.model import AnyNoise, AnyPartition, Contributions, Data, Evaluation, Sampling, Training
from fedsift.errors import FedsiftError
from fedsift.section import Section


class Spec(Section):
    """Common to all stages."""

    def text(self) -> str:
        """Canonical JSON: equal specifications have equal bytes."""
        return self.model_dump_json(indent=1) + "\n"

    def digest(self) -> str:
        """Hex SHA-256 of the canonical JSON."""
        return hashlib.sha256(self.text().encode()).hexdigest()

    @classmethod
    def read(cls, path: Path | str) -> Self:
        """The specification in a file.

        Raises:
            FedsiftError: the file is missing or is not such a specification.
        """
        try:
            return cls.model_validate_json(Path(path).read_bytes())
        except FileNotFoundError:
            raise FedsiftError(f"{path}: no such specification; `fedsift plan --write` makes them.") from None
        except OSError as error:
            raise FedsiftError(f"{path}: {error.strerror}.") from None
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "the file"
            raise FedsiftError(f"{path}: not a {cls.__name__}: {where}: {first['msg']}.") from None


class Settings(Spec):
    """How stages are carried out. Nothing in it changes a result, so a changed value re-runs nothing."""

    data: Data = Data()
    device: str = "auto"
    checkpoint_seconds: float = 60.0
    checkpoint_rounds: int = 10


class PartitionSpec(Spec):
    """Share a data set's samples out to clients."""

    dataset: str
    arrays: str
    clients: int
    partition: AnyPartition
    seed: int
    output: str


class NoiseSpec(Spec):
    """Choose the noisy samples and what becomes of them."""

    dataset: str
    arrays: str
    partition: str
    clients: int
    noise: AnyNoise
    seed: int
    source_arrays: str | None
    output: str
    """Noisy samples (Parquet)."""
    rates: str
    """Requested and achieved rates per client and class (Parquet)."""


class MethodSpec(Section):
    """A method with its options filled in."""

    label: str
    name: str
    options: dict[str, Any]
    file: str | None
    """The file of a method that is not built in."""


class TrainSpec(Spec):
    """Train one phase: rounds ``start`` to ``stop - 1`` of a run of ``rounds`` rounds."""

    phase: str
    """Folder of the phase's outputs."""
    parent: str | None
    """Folder of the phase that it continues."""
    dataset: str
    arrays: str
    source_arrays: str | None
    partition: str
    noise: str
    rates: str
    model: str
    method: MethodSpec
    clients: int
    seed: int
    start: int
    stop: int
    rounds: int
    sampling: Sampling
    training: Training
    evaluation: Evaluation


class ContributionSpec(Spec):
    """Contributions of the participants of one round, by every scheme."""

    run: TrainSpec
    """The round as a phase: from the checkpoint of its ``parent``, or the fresh model, round ``start`` alone."""
    how: Contributions
    output: str
    """A row a participant (CSV)."""


class ContributionCell(Section):
    """The contributions of one round of a cell."""

    noise: str
    clients: int
    method: str
    seed: int
    round: int
    how: Contributions
    file: str


class CellSpec(Section):
    """One run of a grid: a method under one noise, client count and seed, and the phases that it consists of."""

    noise: str
    clients: int
    method: str
    seed: int
    phases: list[str]
    """Folders of the phases, first to last; together their histories cover all rounds."""
    rates: str | None = Field(None)
    """The rates table of its clients, where the tables tell of their behaviour."""


class MarketSpec(Section):
    """What tables must know of a method that hires clients."""

    budget: float
    """B, for all rounds."""
    judges: bool
    """Whether the hired are judged by the losses without them."""
    screens: bool
    """Whether those without whom the loss is lower are flagged."""


class GroupSpec(Section):
    """Methods that stand in tables of their own."""

    title: str
    methods: list[str]


class TableSpec(Spec):
    """Tables and figures of one experiment."""

    scale: str
    experiment: str
    paper: str
    title: str
    dataset: str
    sources: list[str] = Field([])
    """Data sets that open-set noises take foreign images from."""
    partition: AnyPartition | None = Field(None)
    """How samples are shared out; what a paper prints may be of one split only. None: it is not known."""
    model: str
    rounds: int
    margin: float
    noises: list[str]
    clients: list[int]
    methods: list[str]
    groups: dict[str, GroupSpec] = Field({})
    """Groups of methods by name; where there are any, accuracy and F1 have a table a group instead of one of all."""
    seeds: list[int]
    cells: list[CellSpec]
    contributions: list[ContributionCell] = Field([])
    """What the contributions of its participants are wanted of."""
    market: dict[str, MarketSpec] = Field({})
    """The methods that hire clients, by label; their last phases' checkpoints hold the journals of the bids."""
    free_riders: dict[str, float] = Field({})
    """Share of free riders by noise, where there are methods that hire and noises that differ in this share alone."""
    output: str
    """Folder that the tables and figures go to."""

    @property
    def journals(self) -> list[str]:
        """The checkpoints with the bids of the methods that hire."""
        hiring = {cell.phases[-1] for cell in self.cells if cell.method in self.market and cell.phases}
        return [f"{phase}/checkpoint.safetensors" for phase in sorted(hiring)]

    @property
    def rates(self) -> list[str]:
        """The rates tables of their cells."""
        return sorted({cell.rates for cell in self.cells if cell.method in self.market and cell.rates})


class ReportSpec(Spec):
    """The report of a scale."""

    scale: str
    tables: list[str]
    """Table folders, one an experiment."""
    output: str
    """Folder of the report; its front page is index.html."""
