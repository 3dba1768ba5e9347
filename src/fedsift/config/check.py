"""What no single key can tell: whether the parts of a configuration fit together. Before the graph is built."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NoReturn

from pydantic import ValidationError

from fedsift.config.model import (
    BadClients,
    ClosedSetNoise,
    Config,
    DirichletPartition,
    Experiment,
    OpenSetNoise,
    PowerLawPartition,
    ShardPartition,
    TargetedNoise,
)
from fedsift.config.shape import close, explain, shown
from fedsift.data.catalog import DataSet, own_set
from fedsift.data.catalog import load as load_catalog
from fedsift.errors import ConfigError, FedsiftError
from fedsift.methods import registry
from fedsift.methods.base import Method
from fedsift.models.info import MODELS
from fedsift.section import NAME

Place = Callable[..., str]
"""Path of keys -> `file:line`."""


def check(config: Config, place: Place) -> None:
    """Refuse what cannot work.

    Raises:
        ConfigError: one sentence with file and line.
    """
    sets = known_sets(config, place)
    for index, folder in enumerate(config.method_folders):
        if not Path(folder).is_dir():
            raise ConfigError(f"{place('method_folders', index)}: there is no folder '{folder}'; make it or remove it.")
    own_names = set(registry.names(config.method_folders)) if config.methods else set()
    for label, options in config.methods.items():
        if "is" in options and label in own_names:
            raise ConfigError(f"{place('methods', label)}: '{label}' is a method itself; name the variant otherwise.")
        _method(config, label, place("methods", label), place)
    for name, experiment in config.experiments.items():
        Checker(config, sets, place, name, experiment).run()


def known_sets(config: Config, place: Place = lambda *loc: "configuration") -> dict[str, DataSet]:
    """The catalog and the user's own sets, by name."""
    sets = dict(load_catalog())
    for name, own in config.data.own.items():
        files = [file for part in ("train", "test") if (file := Path(own.npz, f"{part}.npz")).is_file()]
        try:
            sets[name] = _own_set(name, own.npz, tuple(file.stat().st_mtime_ns for file in files))
        except FedsiftError as error:
            raise ConfigError(f"{place('data', 'own', name)}: {error}") from error
    return sets


@cache
def _own_set(name: str, folder: str, _times: tuple[int, ...]) -> DataSet:
    """Hashing gigabytes once a process is enough."""
    return own_set(name, folder)


class Checker:
    """The checks of one experiment."""

    def __init__(
        self, config: Config, sets: dict[str, DataSet], place: Place, name: str, experiment: Experiment
    ) -> None:
        self.config = config
        self.sets = sets
        self.place = place
        self.name = name
        self.experiment = experiment

    def run(self) -> None:
        """All checks, the most basic first."""
        data = self._set(self.experiment.dataset, "dataset")
        self._model(data)
        for key in ("clients", "methods", "seeds"):
            self._no_doubles(key, getattr(self.experiment, key))
        self._tables()
        samples = self._partition(data)
        for noise in self.experiment.noises:
            self._noise(noise, data, samples)
        for index, label in enumerate(self.experiment.methods):
            self._method(index, label)
        self._contributions(data)

    def _fail(self, message: str, *keys: str | int) -> NoReturn:
        where = self.place("experiments", self.name, *keys)
        raise ConfigError(f"{where}: experiment '{self.name}': {message}")

    def _set(self, name: str, *keys: str | int) -> DataSet:
        if name not in self.sets:
            self._fail(f"no data set '{name}'; {close(name, self.sets, 'known')}", *keys)
        return self.sets[name]

    def _no_doubles(self, key: str, values: list[int] | list[str], *keys: str) -> None:
        seen: set[object] = set()
        for index, value in enumerate(values):
            if value in seen:
                self._fail(f"{key} holds {value} twice; keep one.", *(keys or (key,)), index)
            seen.add(value)

    def _tables(self) -> None:
        for name, group in self.experiment.tables.items():
            self._no_doubles(f"tables.{name}.methods", group.methods, "tables", name, "methods")
            for index, label in enumerate(group.methods):
                if label not in self.experiment.methods:
                    message = f"table '{name}' has the method '{label}', which the experiment does not run; "
                    message += close(label, self.experiment.methods, "run")
                    self._fail(message, "tables", name, "methods", index)

    def _contributions(self, data: DataSet) -> None:
        wanted, last = self.experiment.contributions, self.experiment.rounds
        if wanted is None:
            return
        self._no_doubles("contributions.methods", wanted.methods, "contributions", "methods")
        self._no_doubles("contributions.rounds", wanted.rounds, "contributions", "rounds")
        for index, label in enumerate(wanted.methods):
            if label not in self.experiment.methods:
                message = f"contributions are asked of the method '{label}', which the experiment does not run; "
                message += close(label, self.experiment.methods, "run")
                self._fail(message, "contributions", "methods", index)
        if outside := [round_ for round_ in wanted.rounds if round_ > last]:
            message = f"contributions.rounds holds {outside[0]}; possible are 0 to {last}, after the last round."
            self._fail(message, "contributions", "rounds")
        # What a power-law split holds out is known when it is drawn.
        if wanted.validation > data.test and not isinstance(self.experiment.partition, PowerLawPartition):
            message = f"contributions.validation is {wanted.validation}, but '{data.name}' has {data.test} test images."
            self._fail(message, "contributions", "validation")

    def _model(self, data: DataSet) -> None:
        name, training = self.experiment.model, self.experiment.training
        if name not in MODELS:
            self._fail(f"no model '{name}'; {close(name, MODELS, 'known')}", "model")
        model = MODELS[name]
        if model.shape != data.shape:
            fitting = [other for other, info in MODELS.items() if info.shape == data.shape]
            self._fail(
                f"model '{name}' takes images of {model.shape}, but '{data.name}' has {data.shape}; "
                f"{'use ' + ' or '.join(fitting) if fitting else 'no model takes these'}.",
                "model",
            )
        if training.objective and not model.multitask:
            self._fail(f"model '{name}' has no decoder; remove training.objective.", "training", "objective")
        if training.augment != "none" and data.shape[2] != 3:
            self._fail(f"the augmentation needs colour images, '{data.name}' is grey.", "training", "augment")

    def _partition(self, data: DataSet) -> int:
        """Check the split; the number of training samples that it hands out."""
        split = self.experiment.partition
        pool = data.train + (data.test if isinstance(split, PowerLawPartition) else 0)
        samples = split.samples or pool
        if samples > pool:
            self._fail(f"partition.samples is {samples}, but '{data.name}' has {pool}.", "partition", "samples")
        for index, clients in enumerate(self.experiment.clients):
            least = split.min_samples if isinstance(split, DirichletPartition) else 1
            if clients * least > samples:
                self._fail(
                    f"{clients} clients of at least {least} samples each need {clients * least}, "
                    f"but there are {samples}; use fewer clients.",
                    "clients",
                    index,
                )
            if isinstance(split, PowerLawPartition) and clients > split.users:
                self._fail(f"{clients} clients cannot be merged from {split.users} users.", "clients", index)
            if isinstance(split, ShardPartition):
                self._shards(split, clients, index)
        if isinstance(split, PowerLawPartition) and split.labels_per_user > data.classes:
            self._fail(f"users cannot own more than the {data.classes} labels.", "partition", "labels_per_user")
        if isinstance(split, ShardPartition) and (needed := split.shards * split.shard_size) != samples:
            self._fail(
                f"{split.shards} shards of {split.shard_size} are {needed} samples, but there are {samples}; change "
                f"shards or shard_size{f', or set samples: {needed}' if needed < samples else ''}.",
                "partition",
                "shards",
            )
        return int(samples * split.train_share) if isinstance(split, PowerLawPartition) else samples

    def _shards(self, split: ShardPartition, clients: int, index: int) -> None:
        if split.per_client is None:
            if split.shards % clients:
                self._fail(f"{split.shards} shards cannot be dealt evenly to {clients} clients.", "clients", index)
            return
        least, most = split.per_client
        if not clients * least <= split.shards <= clients * most:
            message = f"{split.shards} shards cannot be dealt to {clients} clients with {least} to {most} each."
            self._fail(message, "partition", "per_client")

    def _noise(self, name: str, data: DataSet, samples: int) -> None:
        noise, keys = self.experiment.noises[name], ("noises", name)
        if isinstance(noise, BadClients):
            if noise.free_riders + noise.mislabelled > 1:
                self._fail("free_riders and mislabelled are more than all clients; lower one of them.", *keys)
            for key in ("free_riders", "mislabelled"):
                share, clients = getattr(noise, key), min(self.experiment.clients)
                if share > 0 and round(share * clients) < 1:
                    message = f"{key}: {share:g} of {clients} clients rounds to none; raise it or set it to 0."
                    self._fail(message, *keys, key)
            return
        if isinstance(noise, TargetedNoise):
            self._targeted(noise, data, samples, *keys)
        if isinstance(noise, ClosedSetNoise | OpenSetNoise):
            users = max(self.experiment.clients)
            if isinstance(self.experiment.partition, PowerLawPartition):
                users = self.experiment.partition.users
            groups = users if noise.scope.startswith("user-") else 1
            if round(noise.rate * (samples / groups)) < 1:
                self._fail(
                    f"{noise.rate:.0%} noise in each of {groups} users with {samples / groups:.1f} samples on average "
                    "rounds to no noise at all; use a whole-set scope, fewer clients or a higher rate.",
                    *keys,
                    "rate",
                )
        if isinstance(noise, OpenSetNoise):
            source = self._set(noise.source, *keys, "source")
            if noise.source == self.experiment.dataset:
                self._fail(f"the noise comes from '{noise.source}', the data set itself.", *keys, "source")
            if round(noise.rate * samples) > source.train:
                self._fail(
                    f"{noise.rate:.0%} of {samples} samples need {round(noise.rate * samples)} foreign images, "
                    f"but '{noise.source}' has {source.train}; lower the rate or use another source.",
                    *keys,
                    "source",
                )
            if outside := [label for label in noise.exclude_classes if not 0 <= label < source.classes]:
                self._fail(f"'{noise.source}' has no class {outside[0]}.", *keys, "exclude_classes")

    def _targeted(self, noise: TargetedNoise, data: DataSet, samples: int, *keys: str) -> None:
        """That no user of a class would be hit shows in the data only."""
        seen: set[int] = set()
        for index, (old, new) in enumerate(noise.pairs):
            where: tuple[str | int, ...] = (*keys, "pairs", index)
            if outside := [label for label in (old, new) if label >= data.classes]:
                self._fail(f"'{data.name}' has no class {outside[0]}.", *where)
            if old == new:
                self._fail(f"the pair [{old}, {new}] changes nothing; give it another new label.", *where)
            if old in seen:
                self._fail(f"two pairs begin with the label {old}; a sample can get one new label only.", *where)
            seen.add(old)
        if round(noise.rate * (samples / data.classes)) < 1:
            self._fail(
                f"{noise.rate:.1%} of a class with {samples / data.classes:.1f} samples on average rounds to no noise "
                "at all; raise the rate.",
                *keys,
                "rate",
            )

    def _method(self, index: int, label: str) -> None:
        where = self.place("experiments", self.name, "methods", index)
        options, cls = _method(self.config, label, where, self.place)
        try:
            lineage = cls.lineage(options, self.experiment.rounds)
            for step in lineage:
                ancestor = registry.load(registry.find(step.method, self.config.method_folders))
                try:
                    ancestor.Options.model_validate(dict(step.options))
                except ValidationError as error:
                    raise ConfigError(explain(error, ancestor.Options, (step.method,))[1]) from error
        except Exception as error:
            words = " ".join(str(error).split()).rstrip(".")
            self._fail(f"the lineage of method '{label}' cannot be worked out: {words}.", "methods", index)
        for before, step in zip([0, *(step.until for step in lineage)], lineage, strict=False):
            if not before < step.until < self.experiment.rounds:
                self._fail(
                    f"method '{label}' begins at round {step.until}, but the experiment has rounds 0 to "
                    f"{self.experiment.rounds - 1}; lower its start or add rounds.",
                    "methods",
                    index,
                )


def _method(config: Config, label: str, where: str, place: Place) -> tuple[object, type[Method]]:
    given = dict(config.methods.get(label, {}))
    name = given.pop("is", label)
    if not (isinstance(name, str) and re.fullmatch(NAME, name)):
        raise ConfigError(f"{place('methods', label, 'is')}: 'methods.{label}.is' is {shown(name)}; allowed: name.")
    try:
        cls = registry.load(registry.find(name, config.method_folders))
    except ConfigError as error:
        hint = " Or say with `is:` what it is a variant of." if label in config.methods and name == label else ""
        raise ConfigError(f"{where}: {error}{hint}") from error
    try:
        # Strict as the whole configuration is: 1.0 is not round 1.
        return cls.Options.model_validate(given, strict=True), cls
    except ValidationError as error:
        loc, sentence = explain(error, cls.Options, ("methods", label))
        raise ConfigError(f"{place(*loc) if label in config.methods else where}: {sentence}") from error
