"""From a configuration to everything that has to be made: cells, and the phases that they share.

A cell is one run (experiment x noise x clients x method x seed). Its method's lineage says which simpler methods it
equals first; the lineages of all cells that differ in the method alone form a trie of phases, and each phase is trained
once, whoever needs it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fedsift.config.model import BadClients, Config, Experiment, NoNoise, OpenSetNoise
from fedsift.methods import registry
from fedsift.methods.auction import Auction
from fedsift.methods.base import Step
from fedsift.specs import (
    CellSpec,
    ContributionCell,
    ContributionSpec,
    GroupSpec,
    MarketSpec,
    MethodSpec,
    NoiseSpec,
    PartitionSpec,
    ReportSpec,
    TableSpec,
    TrainSpec,
)


@dataclass
class Grid:
    """Specifications by the path that they make: a Parquet file, the folder of a phase, of a table or of the report."""

    report: ReportSpec
    datasets: set[str] = field(default_factory=set)
    partitions: dict[str, PartitionSpec] = field(default_factory=dict)
    noises: dict[str, NoiseSpec] = field(default_factory=dict)
    phases: dict[str, TrainSpec] = field(default_factory=dict)
    contributions: dict[str, ContributionSpec] = field(default_factory=dict)
    tables: dict[str, TableSpec] = field(default_factory=dict)

    def cells(self) -> Iterator[tuple[TableSpec, CellSpec]]:
        """Every cell, with the table that it belongs to."""
        for table in self.tables.values():
            for cell in table.cells:
                yield table, cell


@dataclass(frozen=True)
class Segment:
    """A stretch of one lineage: ``method`` until round ``stop``."""

    method: MethodSpec
    stop: int


@dataclass
class Phase:
    """A node of the trie: ``method`` from ``start`` to ``stop``, for all ``labels`` that pass through it."""

    method: MethodSpec
    start: int
    stop: int
    labels: list[str]
    children: list[Phase]


def expand(config: Config) -> Grid:
    """All specifications of ``config``, in a fixed order."""
    reports = f"{config.reports}/{config.scale}"
    tables = [f"{reports}/{name}" for name in config.experiments]
    grid = Grid(ReportSpec(scale=config.scale, tables=tables, output=reports))
    for name, experiment in config.experiments.items():
        _add_experiment(grid, config, name, experiment)
    return grid


def _add_experiment(grid: Grid, config: Config, name: str, experiment: Experiment) -> None:
    root = f"{config.results}/{config.scale}/{name}"
    known = variants(config)
    wanted = experiment.contributions
    lineages = {label: segments(config, known, label, experiment.rounds) for label in experiment.methods}
    trie = share(lineages, dict.fromkeys(wanted.methods, wanted.rounds) if wanted else {})
    market = _market(config, experiment)
    grid.datasets.add(experiment.dataset)
    cells: list[CellSpec] = []
    for noise_name, noise in experiment.noises.items():
        if isinstance(noise, OpenSetNoise):
            grid.datasets.add(noise.source)
        for clients in experiment.clients:
            for seed in experiment.seeds:
                partition = _partition(grid, config, root, experiment, clients, seed)
                noise_spec = _noise(grid, config, root, experiment, noise_name, partition, seed)
                run = f"{root}/runs/{noise_name}/K{clients}/seed{seed}"
                paths: dict[str, list[str]] = {label: [] for label in experiment.methods}
                _add_phases(grid, experiment, trie, noise_spec, run, None, seed, paths)
                cells += [
                    CellSpec(
                        noise=noise_name,
                        clients=clients,
                        method=label,
                        seed=seed,
                        phases=phases,
                        rates=noise_spec.rates if label in market else None,
                    )
                    for label, phases in paths.items()
                ]
    output = f"{config.reports}/{config.scale}/{name}"
    grid.tables[output] = TableSpec(
        scale=config.scale,
        experiment=name,
        paper=experiment.paper,
        title=experiment.title,
        dataset=experiment.dataset,
        sources=sorted({noise.source for noise in experiment.noises.values() if isinstance(noise, OpenSetNoise)}),
        partition=experiment.partition,
        model=experiment.model,
        rounds=experiment.rounds,
        margin=experiment.margin,
        noises=list(experiment.noises),
        clients=experiment.clients,
        methods=experiment.methods,
        groups={name: GroupSpec(title=one.title, methods=one.methods) for name, one in experiment.tables.items()},
        seeds=experiment.seeds,
        cells=cells,
        contributions=_contributions(grid, experiment, root, cells),
        market=market,
        free_riders=_free_riders(experiment) if market else {},
        output=output,
    )


def _market(config: Config, experiment: Experiment) -> dict[str, MarketSpec]:
    """The methods of an experiment that hire clients."""
    found = {}
    for label in experiment.methods:
        method = resolve(config, label)
        cls = registry.load(registry.find(method.name, config.method_folders))
        if issubclass(cls, Auction):
            options = cls.Options.model_validate(method.options)
            screens = cls.judges and options.quality.screen != "off"
            found[label] = MarketSpec(budget=options.budget, judges=cls.judges, screens=screens)
    return found


def _free_riders(experiment: Experiment) -> dict[str, float]:
    """Share of free riders by noise, of the most noises that differ in nothing else; none if it is the same in all."""
    series: dict[str, dict[str, float]] = {}
    clean = [name for name, noise in experiment.noises.items() if isinstance(noise, NoNoise)]
    for name, noise in experiment.noises.items():
        if isinstance(noise, BadClients):
            rest = noise.model_dump_json(exclude={"free_riders"})
            series.setdefault(rest, {})[name] = noise.free_riders
            if not noise.mislabelled:
                series[rest] |= dict.fromkeys(clean, 0.0)
    longest = max(series.values(), key=lambda shares: len(set(shares.values())), default={})
    return {name: longest[name] for name in experiment.noises if name in longest and len(set(longest.values())) > 1}


def _contributions(grid: Grid, experiment: Experiment, root: str, cells: list[CellSpec]) -> list[ContributionCell]:
    """The rounds whose participants' contributions are wanted, and what makes them."""
    if (wanted := experiment.contributions) is None:
        return []
    found = []
    for cell in cells:
        if cell.method not in wanted.methods:
            continue
        phases = [grid.phases[path] for path in cell.phases]
        for round_ in sorted(wanted.rounds):
            before = [phase for phase in phases if phase.stop <= round_]
            # The round after the last one is played by whoever played that.
            acting = next((phase for phase in phases if phase.start == round_), phases[-1])
            output = f"{root}/contributions/{cell.noise}/K{cell.clients}/seed{cell.seed}/{cell.method}@{round_}.csv"
            place = {"parent": before[-1].phase if before else None, "start": round_, "stop": round_ + 1}
            run = acting.model_copy(update=place | {"phase": output.removesuffix(".csv")})
            grid.contributions[output] = ContributionSpec(run=run, how=wanted, output=output)
            found.append(
                ContributionCell(**cell.model_dump(exclude={"phases", "rates"}), round=round_, how=wanted, file=output)
            )
    return found


def arrays_path(config: Config, dataset: str) -> str:
    """Prepared arrays of a data set."""
    return f"{config.data.folder}/arrays/{dataset}.safetensors"


def _partition(grid: Grid, config: Config, root: str, experiment: Experiment, clients: int, seed: int) -> PartitionSpec:
    own = experiment.partition.seed == "run"
    output = f"{root}/partitions/K{clients}{f'-seed{seed}' if own else ''}.parquet"
    if output not in grid.partitions:
        grid.partitions[output] = PartitionSpec(
            dataset=experiment.dataset,
            arrays=arrays_path(config, experiment.dataset),
            clients=clients,
            partition=experiment.partition,
            seed=seed if experiment.partition.seed == "run" else experiment.partition.seed,
            output=output,
        )
    return grid.partitions[output]


def _noise(
    grid: Grid, config: Config, root: str, experiment: Experiment, name: str, partition: PartitionSpec, seed: int
) -> NoiseSpec:
    noise = experiment.noises[name]
    noise_seed = 0 if isinstance(noise, NoNoise) else noise.seed
    own = noise_seed == "run" or experiment.partition.seed == "run"
    stem = f"{root}/noises/{name}/K{partition.clients}{f'-seed{seed}' if own else ''}"
    output = f"{stem}.parquet"
    if output not in grid.noises:
        grid.noises[output] = NoiseSpec(
            dataset=experiment.dataset,
            arrays=partition.arrays,
            partition=partition.output,
            clients=partition.clients,
            noise=noise,
            seed=seed if noise_seed == "run" else noise_seed,
            source_arrays=arrays_path(config, noise.source) if isinstance(noise, OpenSetNoise) else None,
            output=output,
            rates=f"{stem}.rates.parquet",
        )
    return grid.noises[output]


def _add_phases(
    grid: Grid,
    experiment: Experiment,
    trie: list[Phase],
    noise: NoiseSpec,
    folder: str,
    parent: str | None,
    seed: int,
    paths: dict[str, list[str]],
) -> None:
    for phase in trie:
        path = f"{folder}/{phase.method.label}@{phase.stop}"
        grid.phases[path] = TrainSpec(
            phase=path,
            parent=parent,
            dataset=experiment.dataset,
            arrays=noise.arrays,
            source_arrays=noise.source_arrays,
            partition=noise.partition,
            noise=noise.output,
            rates=noise.rates,
            model=experiment.model,
            method=phase.method,
            clients=noise.clients,
            seed=seed,
            start=phase.start,
            stop=phase.stop,
            rounds=experiment.rounds,
            sampling=experiment.sampling,
            training=experiment.training,
            evaluation=experiment.evaluation,
        )
        for label in phase.labels:
            paths[label].append(path)
        _add_phases(grid, experiment, phase.children, noise, path, path, seed, paths)


def variants(config: Config) -> dict[str, MethodSpec]:
    """The methods in the section `methods`, by name and options; the first label of each."""
    found: dict[str, MethodSpec] = {}
    for label in sorted(config.methods):
        method = resolve(config, label)
        found.setdefault(_key(method), method)
    return found


def segments(config: Config, known: dict[str, MethodSpec], label: str, rounds: int) -> list[Segment]:
    """The lineage of the method with this label, ending with itself at the last round.

    Raises:
        ConfigError: no such method, or wrong options.
    """
    method = resolve(config, label)
    cls = registry.load(registry.find(method.name, config.method_folders))
    steps = cls.lineage(cls.Options.model_validate(method.options), rounds)
    lineage = [*steps, Step(method.name, method.options, rounds)]
    return [Segment(_labelled(config, known, step.method, dict(step.options)), step.until) for step in lineage]


def resolve(config: Config, label: str) -> MethodSpec:
    """The built-in or user's method behind a label, with all its options filled in."""
    options = dict(config.methods.get(label, {}))
    return _method_spec(label, options.pop("is", label), options, tuple(config.method_folders))


def _labelled(config: Config, known: dict[str, MethodSpec], name: str, options: dict[str, Any]) -> MethodSpec:
    """A method with these options, under the one label that stands for it in every lineage.

    That is its own name if these are the options that the name has in the configuration, else the first
    variant that has them, else the name and a part of the options' digest, so that no two methods ever share a folder.
    """
    wanted = _method_spec(name, name, options, tuple(config.method_folders))
    if resolve(config, name) == wanted:
        return wanted
    digest = hashlib.sha256(_key(wanted).encode()).hexdigest()
    return known.get(_key(wanted), wanted.model_copy(update={"label": f"{name}.{digest[:8]}"}))


def _key(method: MethodSpec) -> str:
    """What makes two methods the same: everything but the label."""
    return method.model_dump_json(exclude={"label"})


def _method_spec(label: str, name: str, options: dict[str, Any], folders: tuple[str, ...]) -> MethodSpec:
    file = registry.find(name, folders)
    cls = registry.load(file)
    filled = cls.Options.model_validate(options).model_dump(mode="json")
    built_in = file.parent == registry.HERE
    return MethodSpec(label=label, name=name, options=filled, file=None if built_in else str(file))


def share(lineages: dict[str, list[Segment]], cuts: Mapping[str, Sequence[int]] | None = None) -> list[Phase]:
    """The trie of ``lineages`` (label -> segments).

    Phases are cut only where labels part, where the method changes, and at the rounds in ``cuts`` (label -> rounds).
    """
    joined = {label: _cut(_joined(lineage), (cuts or {}).get(label, ())) for label, lineage in lineages.items()}
    return _share(joined, 0)


def _joined(lineage: list[Segment]) -> list[Segment]:
    """The same, without cuts between stretches of one method."""
    pairs = zip(lineage, [*lineage[1:], None], strict=True)
    return [segment for segment, after in pairs if after is None or segment.method != after.method]


def _cut(lineage: list[Segment], rounds: Sequence[int]) -> list[Segment]:
    """The same, with a cut at each of ``rounds`` that lies inside it."""
    parts = []
    for start, segment in zip([0, *(one.stop for one in lineage)], lineage, strict=False):
        inside = sorted(round_ for round_ in rounds if start < round_ < segment.stop)
        parts += [Segment(segment.method, stop) for stop in (*inside, segment.stop)]
    return parts


def _share(lineages: dict[str, list[Segment]], start: int) -> list[Phase]:
    groups: dict[str, list[str]] = {}
    for label, lineage in lineages.items():
        if lineage:
            groups.setdefault(_key(lineage[0].method), []).append(label)
    phases = []
    for labels in groups.values():
        stop = min(lineages[label][0].stop for label in labels)
        rest = {label: lineages[label][1:] if lineages[label][0].stop == stop else lineages[label] for label in labels}
        method = lineages[labels[0]][0].method
        phases.append(Phase(method, start, stop, labels, _share(rest, stop)))
    return phases
