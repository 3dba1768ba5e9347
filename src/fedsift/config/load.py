"""Read configuration files; every complaint is one sentence with file and line."""

import difflib
import typing
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from fedsift.config.model import Config
from fedsift.errors import ConfigError

Loc = tuple[str | int, ...]
Places = dict[Loc, str]
"""Where each key of the merged configuration was written: path of keys -> ``file:line``."""

REPLACED_WHOLE = {("experiments",)}
"""Mappings that an overlay replaces instead of merging into: a scale has its own experiments."""


def load(paths: Sequence[Path | str], settings: Mapping[str, Any] | None = None) -> Config:
    """The configuration from ``paths``, later files laid over earlier ones, then ``settings`` (top-level keys).

    Mappings merge key by key, except `experiments`, which a later file replaces as a whole; everything else replaces.

    Raises:
        ConfigError: one sentence with file and line.
    """
    merged: dict[str, Any] = {}
    places: Places = {}
    for path in paths:
        _overlay(merged, *_read(Path(path)), places)
    _overlay(merged, dict(settings or {}), {(key,): "command line" for key in settings or {}}, places)
    try:
        config = Config.model_validate(merged)
    except ValidationError as error:
        raise ConfigError(_sentence(error, places, paths)) from error
    from fedsift.config.check import check  # it needs the catalog, the models and the methods, which need the model above

    check(config, lambda *loc: _place(loc, places, paths))
    return config


def _read(path: Path) -> tuple[dict[str, Any], Places]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such configuration file; `make help` names the scales.") from None
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        raise ConfigError(f"{path}{line}: not valid YAML: {getattr(error, 'problem', error)}.") from error
    if value is None:
        return {}, {}
    if not isinstance(value, dict):
        raise ConfigError(f"{path}:1: expected keys and values, found a {type(value).__name__}.")
    places: Places = {}
    _note_places(node, (), path, places)
    return value, places


def _note_places(node: yaml.Node | None, loc: Loc, path: Path, places: Places) -> None:
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if key.value in seen and key.value != "<<":
                raise ConfigError(f"{path}:{key.start_mark.line + 1}: the key '{key.value}' stands twice; keep one.")
            seen.add(key.value)
            places[(*loc, key.value)] = f"{path}:{key.start_mark.line + 1}"
            _note_places(value, (*loc, key.value), path, places)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            places[(*loc, index)] = f"{path}:{value.start_mark.line + 1}"
            _note_places(value, (*loc, index), path, places)


def _overlay(base: dict[str, Any], over: dict[str, Any], over_places: Places, places: Places) -> None:
    def lay(low: dict[str, Any], high: dict[str, Any], loc: Loc) -> None:
        for key, value in high.items():
            here = (*loc, key)
            if here not in REPLACED_WHOLE and isinstance(value, dict) and isinstance(low.get(key), dict):
                lay(low[key], value, here)
            else:
                for stale in [place for place in places if place[: len(here)] == here]:
                    del places[stale]
                low[key] = value

    lay(base, over, ())
    places.update(over_places)


def _place(loc: Iterable[str | int], places: Places, paths: Sequence[Path | str]) -> str:
    """The closest written ancestor of ``loc``."""
    loc = tuple(loc)
    while loc and loc not in places:
        loc = loc[:-1]
    return places.get(loc, str(paths[-1]) if paths else "configuration")


def _sentence(error: ValidationError, places: Places, paths: Sequence[Path | str]) -> str:
    first = error.errors()[0]
    loc = _without_tags(first["loc"])
    name = ".".join(str(part) for part in loc)
    where = _place(loc, places, paths)
    if first["type"] == "extra_forbidden":
        known = sorted(_keys(_model_at(first["loc"][:-1])))
        close = difflib.get_close_matches(str(loc[-1]), known, n=1)
        hint = f"did you mean '{close[0]}'?" if close else f"known here: {', '.join(known)}."
        return f"{where}: unknown key '{name}'; {hint}"
    if first["type"] == "missing":
        return f"{where}: the key '{name}' is missing; docs/configuration.md says what it takes."
    if first["type"] in ("union_tag_invalid", "literal_error"):
        expected = first["ctx"].get("expected_tags") or first["ctx"].get("expected", "")
        options = [option.strip(" '") for option in expected.replace(" or ", ",").split(",")]
        given = str(first["ctx"].get("tag", first["input"]))
        close = difflib.get_close_matches(given, options, n=1)
        hint = f"did you mean '{close[0]}'?" if close else f"one of: {', '.join(options)}."
        return f"{where}: '{name}' is '{given}'; {hint}"
    message = first["msg"][0].lower() + first["msg"][1:]
    return f"{where}: '{name}' is {first['input']!r}: {message}."


def _without_tags(loc: tuple[str | int, ...]) -> Loc:
    """Pydantic names the branch of a union inside ``loc``; the file has no such key."""
    out: list[str | int] = []
    annotation: Any = Config
    for part in loc:
        step = _step(annotation, part)
        if step is None:
            continue
        annotation, is_tag = step
        if not is_tag:
            out.append(part)
    return tuple(out)


def _model_at(loc: tuple[str | int, ...]) -> type[BaseModel] | None:
    annotation: Any = Config
    for part in loc:
        step = _step(annotation, part)
        if step is None:
            return None
        annotation = step[0]
    found = [branch for branch in _branches(annotation) if isinstance(branch, type) and issubclass(branch, BaseModel)]
    return found[0] if found else None


def _step(annotation: Any, part: str | int) -> tuple[Any, bool] | None:
    """Follow one part of a location: (annotation there, whether the part only names a branch of a union)."""
    branches = _branches(annotation)
    for branch in branches:
        if isinstance(branch, type) and issubclass(branch, BaseModel):
            if len(branches) > 1 and part in _tags(branch):
                return branch, True
            if part in branch.model_fields:
                return branch.model_fields[str(part)].annotation, False
        origin, args = typing.get_origin(branch), typing.get_args(branch)
        if origin is dict:
            return args[1], False
        if origin is list and isinstance(part, int):
            return args[0], False
    # An unknown key, or the name of a plain type in a union such as int | 'run'.
    return (Any, False) if any(isinstance(b, type) and issubclass(b, BaseModel) for b in branches) else None


def _branches(annotation: Any) -> list[Any]:
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return _branches(typing.get_args(annotation)[0])
    if origin in (typing.Union, UnionType):
        return [branch for arg in typing.get_args(annotation) for branch in _branches(arg)]
    return [annotation]


def _tags(model: type[BaseModel]) -> tuple[Any, ...]:
    for name in ("scheme", "kind"):
        if name in model.model_fields:
            return typing.get_args(model.model_fields[name].annotation)
    return ()


def _keys(model: type[BaseModel] | None) -> set[str]:
    return set(model.model_fields) if model else set()
