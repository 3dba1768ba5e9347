"""What no single key can tell: whether the parts of a configuration fit together. Before the graph is built."""

import difflib
from collections.abc import Callable, Iterable
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
)
from fedsift.data.catalog import DataSet, own_set
from fedsift.data.catalog import load as load_catalog
from fedsift.errors import ConfigError, FedsiftError
from fedsift.methods import registry
from fedsift.models import MODELS

Place = Callable[..., str]
"""Path of keys -> `file:line`."""


def check(config: Config, place: Place) -> None:
    """Refuse what cannot work.

    Raises:
        ConfigError: one sentence with file and line.
    """
    sets = known_sets(config, place)
    for name, experiment in config.experiments.items():
        Checker(config, sets, place, name, experiment).run()
    used = {label for experiment in config.experiments.values() for label in experiment.methods}
    for label, options in config.methods.items():
        _method(config, label, place("methods", label))
        if "is" not in options and label not in used and label not in registry.names(config.method_folders):
            raise ConfigError(f"{place('methods', label)}: 'methods.{label}' names no method; say which with `is:`.")


def known_sets(config: Config, place: Place = lambda *loc: "configuration") -> dict[str, DataSet]:
    """The catalog and the user's own sets, by name."""
    sets = dict(load_catalog())
    for name, own in config.data.own.items():
        try:
            sets[name] = own_set(name, own.npz)
        except FedsiftError as error:
            raise ConfigError(f"{place('data', 'own', name)}: {error}") from error
    return sets


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
        samples = self._partition(data)
        for noise in self.experiment.noises:
            self._noise(noise, data, samples)
        for index, label in enumerate(self.experiment.methods):
            self._method(index, label)

    def _fail(self, message: str, *keys: str | int) -> NoReturn:
        where = self.place("experiments", self.name, *keys)
        raise ConfigError(f"{where}: experiment '{self.name}': {message}")

    def _set(self, name: str, *keys: str | int) -> DataSet:
        if name not in self.sets:
            self._fail(f"no data set '{name}'; {_close(name, self.sets)}", *keys)
        return self.sets[name]

    def _no_doubles(self, key: str, values: list[object]) -> None:
        for index, value in enumerate(values):
            if value in values[:index]:
                self._fail(f"{key} holds {value} twice; keep one.", key, index)

    def _model(self, data: DataSet) -> None:
        name, training = self.experiment.model, self.experiment.training
        if name not in MODELS:
            self._fail(f"no model '{name}'; {_close(name, MODELS)}", "model")
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
        """Check the split; the number of training samples, at least."""
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
            if isinstance(split, ShardPartition) and split.shards % clients:
                self._fail(f"{split.shards} shards cannot be dealt evenly to {clients} clients.", "clients", index)
        if isinstance(split, PowerLawPartition) and split.labels_per_user > data.classes:
            self._fail(f"users cannot own more than the {data.classes} labels.", "partition", "labels_per_user")
        if isinstance(split, ShardPartition) and split.shards * split.shard_size > samples:
            self._fail(
                f"{split.shards} shards of {split.shard_size} need {split.shards * split.shard_size} samples, "
                f"but there are {samples}.",
                "partition",
                "shards",
            )
        return samples

    def _noise(self, name: str, data: DataSet, samples: int) -> None:
        noise, keys = self.experiment.noises[name], ("noises", name)
        if isinstance(noise, BadClients):
            if noise.free_riders + noise.mislabelled > 1:
                self._fail("free riders and mislabelled clients are more than all clients together.", *keys)
            return
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

    def _method(self, index: int, label: str) -> None:
        where = self.place("experiments", self.name, "methods", index)
        options, cls = _method(self.config, label, where)
        lineage = cls.lineage(options, self.experiment.rounds)
        for before, step in zip([0, *(step.until for step in lineage)], lineage, strict=False):
            if not before < step.until < self.experiment.rounds:
                self._fail(
                    f"method '{label}' begins at round {step.until}, but the experiment has rounds 0 to "
                    f"{self.experiment.rounds - 1}; lower its start or add rounds.",
                    "methods",
                    index,
                )


def _method(config: Config, label: str, where: str) -> tuple[object, type[registry.Method]]:
    given = dict(config.methods.get(label, {}))
    name = given.pop("is", label)
    try:
        cls = registry.load(registry.find(str(name), config.method_folders))
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error
    try:
        return cls.Options.model_validate(given), cls
    except ValidationError as error:
        first = error.errors()[0]
        key = str(first["loc"][0]) if first["loc"] else ""
        if first["type"] == "extra_forbidden":
            raise ConfigError(
                f"{where}: method '{label}' has no option '{key}'; {_close(key, cls.Options.model_fields)}"
            ) from error
        raise ConfigError(f"{where}: option '{key}' of method '{label}': {first['msg']}.") from error


def _close(name: str, known: Iterable[str]) -> str:
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean '{close[0]}'?" if close else f"known: {', '.join(known) or 'none'}."
