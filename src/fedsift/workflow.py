"""What the Snakefile asks for: the plan of a configuration, frozen into specification files. Light to import."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

from fedsift.config import Config, load
from fedsift.config.check import known_sets
from fedsift.errors import FedsiftError
from fedsift.files import write_text_if_changed
from fedsift.grid import expand
from fedsift.provenance.code import code_of, code_of_reading
from fedsift.results.files import table_files
from fedsift.specs import ContributionSpec, ReportSpec, Settings, Spec, TableSpec, TrainSpec

SPECS = Path(".fedsift/specs")
LOCK = Path(".fedsift/workflow.lock")
BASE = "config.yaml"


def config_files(overlays: Sequence[str | Path]) -> list[Path]:
    """The base configuration and its overlays, relative to this folder where they lie in it, each once."""
    files = [Path(BASE)]
    for overlay in overlays:
        path = Path(os.path.relpath(overlay))
        path = Path(overlay) if path.parts[:1] == ("..",) else path
        if path not in files:
            files.append(path)
    return files


def scale_files(scale: str) -> list[Path]:
    """The configuration files of a scale by name: `quick` is the base itself."""
    overlay = Path("config") / f"{scale}.yaml"
    if scale == "quick":
        return [Path(BASE)]
    if not overlay.exists():
        known = sorted(["quick", *(path.stem for path in Path("config").glob("*.yaml"))])
        raise FedsiftError(f"no scale '{scale}': {overlay} does not exist; scales: {', '.join(known)}.")
    return [Path(BASE), overlay]


def named_inputs(spec: Spec, table: Callable[[str], TableSpec]) -> dict[str, str | list[str]]:
    """Every file that the stage of ``spec`` reads, by name; ``table`` gives the specification of a report's table."""
    if isinstance(spec, ContributionSpec):
        spec = spec.run
    inputs: dict[str, str | list[str]] = {}
    for name in ("arrays", "source_arrays", "partition"):
        if isinstance(value := getattr(spec, name, None), str):
            inputs[name] = value
    match spec:
        case TrainSpec():
            inputs |= {"noise": spec.noise, "rates": spec.rates}
            if spec.parent:
                inputs["parent"] = f"{spec.parent}/checkpoint.safetensors"
        case TableSpec():
            phases = {phase for cell in spec.cells for phase in cell.phases}
            inputs["histories"] = [f"{phase}/history.csv" for phase in sorted(phases)]
            if spec.contributions:
                inputs["contributions"] = [cell.file for cell in spec.contributions]
            if spec.market:
                inputs |= {"journals": spec.journals, "rates": spec.rates}
            inputs["reference"] = sorted(map(str, Path("reports/reference").glob("*.yaml")))
        case ReportSpec():
            inputs["tables"] = [file for made in spec.tables for file in table_files(table(made))]
    return inputs


class Plan:
    """A configuration, its grid, and where the specification of each stage lies."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.grid = expand(config)
        self.sets = known_sets(config)
        grid = self.grid
        self.specs: dict[str, Spec] = {**grid.partitions, **grid.noises, **grid.phases}
        self.specs |= {**grid.contributions, **grid.tables}
        self.specs[grid.report.output] = grid.report
        self._codes: dict[tuple[Any, ...], str] = {}

    @classmethod
    def of_files(cls, overlays: Sequence[str | Path], settings: dict[str, Any] | None = None) -> Plan:
        """The plan of the base configuration, overlays and settings from the command line."""
        return cls(load(config_files(overlays), settings))

    @property
    def results(self) -> str:
        """Folder of this scale's results."""
        return f"{self.config.results}/{self.config.scale}"

    @property
    def reports(self) -> str:
        """Folder of this scale's report."""
        return f"{self.config.reports}/{self.config.scale}"

    def spec(self, made: str) -> Spec:
        """The specification of what makes ``made``.

        Raises:
            FedsiftError: nothing in this configuration makes it.
        """
        if made not in self.specs:
            raise FedsiftError(f"{made}: nothing in this configuration makes it; `fedsift plan` lists what is made.")
        return self.specs[made]

    def freeze(self) -> None:
        """Write the specification files, so that a configuration edited during a run cannot reach jobs under way."""
        for made, spec in self.specs.items():
            write_text_if_changed(self.spec_file(made), spec.text(), durable=False)
        write_text_if_changed(self.settings_file, self.settings().text(), durable=False)

    def is_frozen(self) -> bool:
        """Whether the specification files are those of this plan."""
        try:
            return all(
                Path(self.spec_file(made)).read_text("utf-8") == spec.text() for made, spec in self.specs.items()
            )
        except FileNotFoundError:
            return False

    @property
    def settings_file(self) -> str:
        """Where the settings of all stages lie."""
        return str(SPECS / f"{self.config.scale}.settings.json")

    def settings(self) -> Settings:
        """How stages are carried out."""
        config = self.config
        return Settings(
            data=config.data,
            device=config.device,
            checkpoint_seconds=config.checkpoint_seconds,
            checkpoint_rounds=config.checkpoint_rounds,
        )

    def spec_file(self, made: str) -> str:
        """Where the specification of what makes ``made`` lies."""
        return str(SPECS / f"{made}.json")

    def inputs(self, made: str) -> dict[str, str | list[str]]:
        """Every file that the stage that makes ``made`` reads, by name."""
        return named_inputs(self.spec(made), self.grid.tables.__getitem__)

    def code(self, made: str) -> str:
        """Fingerprint of the code that the stage that makes ``made`` runs."""
        spec = self.spec(made)
        kind: tuple[Any, ...] = (type(spec),)
        if isinstance(spec, TrainSpec | ContributionSpec):
            run = spec if isinstance(spec, TrainSpec) else spec.run
            kind = (type(spec), run.model, run.method.name, run.method.file)
        if kind not in self._codes:
            self._codes[kind] = code_of(spec)
        return self._codes[kind]

    def stamp(self, made: str) -> str:
        """Changes with everything that may change the bytes of ``made``, besides its inputs: parameters and code."""
        return f"{self.spec(made).digest()[:16]}-{self.code(made)[:16]}"

    def catalog_stamp(self, dataset: str) -> str:
        """Changes with a data set's entry in the catalog."""
        return hashlib.sha256(self.sets[dataset].model_dump_json().encode()).hexdigest()[:16]

    def reading_stamp(self, dataset: str) -> str:
        """The same, and with the code that reads it."""
        if ("read",) not in self._codes:
            self._codes[("read",)] = code_of_reading()
        return f"{self.catalog_stamp(dataset)}-{self._codes[('read',)][:16]}"


def claim(plan: Plan) -> IO[str] | None:
    """Hold the folder's lock and freeze the specifications of ``plan``.

    Beside another controller nothing is written: the result is None, and a dry run may go on with its specifications.

    Raises:
        FedsiftError: another controller is at work, with other specifications.
    """
    try:
        lock = hold_lock()
    except FedsiftError as error:
        if not plan.is_frozen():
            raise FedsiftError(
                f"{error} Since then the configuration has changed, so that even a dry run must wait."
            ) from None
        return None
    plan.freeze()
    return lock


def hold_lock() -> IO[str]:
    """Keep a second controller out of this folder for the life of the process.

    The kernel lets go of the lock however the process ends, so that the same command works again after a kill, which
    Snakemake's own lock files do not allow.

    Raises:
        FedsiftError: another controller is at work.
    """
    LOCK.parent.mkdir(exist_ok=True)
    lock = LOCK.open("a+", encoding="utf-8")  # held open until the process ends
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        raise FedsiftError(
            f"another run is at work in this folder (process {lock.read().strip() or 'unknown'}); "
            "wait for it, or stop it and run again."
        ) from None
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()
    return lock
