"""The mechanisms of an experiment, as the command line names them."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fedsift.config.shape import NAME_RULE, close, explain, shown
from fedsift.errors import FedsiftError
from fedsift.market.mechanism import Mechanism
from fedsift.market.registry import MECHANISMS
from fedsift.market.tender import Tender
from fedsift.plugins import load_module
from fedsift.section import NAME, Section


@dataclass(frozen=True)
class Contender:
    """A mechanism with its options, under the name that tables and plots give it.

    Attributes:
        name: unique in the experiment.
        mechanism: name in the registry, or the file that it was read from.
        options: all of them, defaults too.
    """

    name: str
    mechanism: str
    made: Any
    options: Section

    def new(self, tender: Tender) -> Mechanism:
        """The mechanism before the first round."""
        fresh: Mechanism = self.made(self.options, tender)
        return fresh

    def with_option(self, key: str, value: object) -> "Contender | None":
        """The same with one option changed; None where the mechanism has no such option."""
        if key not in type(self.options).model_fields:
            return None
        return Contender(self.name, self.mechanism, self.made, self.options.model_copy(update={key: value}))


def contenders(arguments: Sequence[str], settings: Sequence[str]) -> list[Contender]:
    """The mechanisms with their options.

    Args:
        arguments: each `MECHANISM` or `NAME=MECHANISM`, where MECHANISM is in the registry or is a Python file that
            ends with MECHANISM = <class>.
        settings: each `KEY=VALUE`, for all of them, or `NAME.KEY=VALUE`, for one; VALUE is JSON or plain text.

    Raises:
        FedsiftError: a name, option or value that is none.
    """
    named: dict[str, str] = {}
    for argument in arguments:
        name, is_named, mechanism = argument.partition("=")
        if not is_named:
            name, mechanism = (Path(argument).stem.replace("_", "-"), argument) if _is_file(argument) else (name, name)
        if not re.fullmatch(NAME, name):
            raise FedsiftError(f"'{name}' cannot name a mechanism; write NAME=MECHANISM, where NAME holds {NAME_RULE}.")
        if name in named:
            raise FedsiftError(f"two mechanisms are called '{name}'; give one another name: NAME={mechanism}.")
        named[name] = mechanism
    given: dict[str, dict[str, object]] = {name: {} for name in named}
    for setting in settings:
        _place(setting, given)
    return [_contender(name, mechanism, given[name]) for name, mechanism in named.items()]


def _place(setting: str, given: dict[str, dict[str, object]]) -> None:
    key, is_set, text = setting.partition("=")
    if not is_set or not key:
        raise FedsiftError(f"--set {setting}: it has the form KEY=VALUE or NAME.KEY=VALUE.")
    name, is_named, option = key.rpartition(".")
    if is_named and name not in given:
        raise FedsiftError(f"--set {setting}: no mechanism is called '{name}' here; {close(name, given)}")
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        value = text
    for one in [name] if is_named else list(given):
        given[one][option] = value


def _contender(name: str, mechanism: str, given: dict[str, object]) -> Contender:
    made: Any = _load(Path(mechanism)) if _is_file(mechanism) else MECHANISMS.get(mechanism)
    if made is None:
        raise FedsiftError(f"no mechanism '{mechanism}'; {close(mechanism, MECHANISMS, 'known')}")
    try:
        options: Section = made.Options.model_validate(given, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        if not first["loc"]:
            raise FedsiftError(f"{name}: {first['ctx']['error']}.") from error
        raise FedsiftError(f"{name}: {explain(error, made.Options)[1]}") from error
    return Contender(name, mechanism, made, options)


def _is_file(mechanism: str) -> bool:
    return mechanism.endswith(".py")


def _load(file: Path) -> type[Mechanism]:
    if not file.is_file():
        raise FedsiftError(f"{file}: no such file; name a mechanism ({', '.join(MECHANISMS)}) or an existing file.")
    try:
        loaded = load_module(file, f"fedsift_mechanism_{file.stem}")
    except Exception as error:
        words = " ".join(str(error).split())
        raise FedsiftError(f"{file}: the mechanism cannot be imported: {type(error).__name__}: {words}.") from error
    made: Any = getattr(loaded, "MECHANISM", None)
    if not (isinstance(made, type) and issubclass(made, Mechanism)):
        raise FedsiftError(
            f"{file}: it must end with MECHANISM = <a subclass of fedsift.market.mechanism.Mechanism>, "
            f"not {shown(made)}."
        )
    if not issubclass(getattr(made, "Options", object), Section):
        raise FedsiftError(f"{file}: {made.__name__} needs Options = <a subclass of fedsift.section.Section>.")
    return made
