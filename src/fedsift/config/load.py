"""Read configuration files; every complaint is one sentence with file and line."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from fedsift.config.model import Config
from fedsift.config.shape import Loc, explain, shown
from fedsift.errors import ConfigError

Places = dict[Loc, str]
"""Where each key of the merged configuration was written: path of keys -> ``file:line``."""

REPLACED_WHOLE = {("experiments",)}
"""Mappings that an overlay replaces instead of merging into: a scale has its own experiments."""

MOST_VALUES = 1_000_000
"""Aliases inside aliases can make a file of some lines larger than any memory."""

MOST_DIGITS = 100

TEXT = "tag:yaml.org,2002:str"
MERGE = "tag:yaml.org,2002:merge"


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, except that, as in YAML 1.2, 1e-3 is a number and a date is a text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in forms if tag != "tag:yaml.org,2002:timestamp"]
    for first, forms in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
FLOAT = re.compile(r"^[-+]?(?:[0-9]+|[0-9]*\.[0-9]+|[0-9]+\.)[eE][-+]?[0-9]+$")
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", FLOAT, list("-+.0123456789"))


def load(paths: Sequence[Path | str], settings: Mapping[str, Any] | None = None) -> Config:
    """The configuration from ``paths``, later files laid over earlier ones, then ``settings`` (top-level keys).

    Mappings merge key by key, except `experiments`, which a later file replaces as a whole; everything else replaces.

    Raises:
        ConfigError: one sentence with file and line.
    """
    merged: dict[str, Any] = {}
    places: Places = {}
    for path in paths:
        value, read = _read(Path(path))
        merged = _overlaid(merged, value, (), places)
        places.update(read)
    merged = _overlaid(merged, dict(settings or {}), (), places)
    places.update({(key,): "command line" for key in settings or {}})

    def place(*loc: str | int) -> str:
        """The closest written ancestor of ``loc``."""
        while loc and loc not in places:
            loc = loc[:-1]
        return places.get(loc, f"{paths[0]}:1" if paths else "configuration")

    try:
        # Strict, so that neither `true` nor `1.0` passes for round 1.
        config = Config.model_validate(merged, strict=True)
    except ValidationError as error:
        loc, sentence = explain(error, Config)
        raise ConfigError(f"{place(*loc)}: {sentence}") from error
    # It needs the methods, and these the types that configurations are made of.
    from fedsift.config.check import check

    check(config, place)
    return config


def _read(path: Path) -> tuple[dict[str, Any], Places]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(
            f"{path}: no such configuration file; run fedsift in the project's folder, where config.yaml lies."
        ) from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8 text.") from error
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; a configuration is a readable file.") from error
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return {}, {}
        if not isinstance(node, yaml.MappingNode):
            raise ConfigError(f"{path}:{_line(node)}: expected keys and values, found {_found(node)}.")
        _size(node, path, {})
        _check(node, loader, path, set())
        value: dict[str, Any] = loader.construct_document(node)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        problem = " ".join(str(getattr(error, "problem", None) or error).split())
        raise ConfigError(f"{path}{line}: not valid YAML: {problem}.") from error
    except RecursionError:
        raise ConfigError(f"{path}:1: nested too deeply; a configuration has a few levels.") from None
    places: Places = {}
    _note_places(node, (), path, places)
    return value, places


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _found(node: yaml.Node) -> str:
    return "a list" if isinstance(node, yaml.SequenceNode) else "a single value"


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _size(node: yaml.Node, path: Path, known: dict[int, int]) -> int:
    """Number of values with all aliases written out.

    Raises:
        ConfigError: too many, or an alias stands inside what it stands for.
    """
    if known.get(id(node)) == 0:
        raise ConfigError(f"{path}:{_line(node)}: this part contains itself through an alias; write it out.")
    if id(node) not in known:
        known[id(node)] = 0
        known[id(node)] = 1 + sum(_size(child, path, known) for child in _children(node))
    if known[id(node)] > MOST_VALUES:
        raise ConfigError(f"{path}:{_line(node)}: the aliases stand for over {MOST_VALUES:,} values; use fewer.")
    return known[id(node)]


def _check(node: yaml.Node, loader: _Loader, path: Path, seen: set[int]) -> None:
    """Keys are texts, each once; values are plain."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        keys: set[str] = set()
        for key, _ in node.value:
            where = f"{path}:{_line(key)}"
            if not isinstance(key, yaml.ScalarNode):
                raise ConfigError(f"{where}: {_found(key)} cannot be a key; keys are names.")
            if key.tag not in (TEXT, MERGE):
                raise ConfigError(f"{where}: the key {' '.join(key.value.split())} is no text to YAML; quote it.")
            if key.value in keys:
                raise ConfigError(f"{where}: the key {shown(key.value)} stands twice; keep one.")
            keys.add(key.value)
    plain = isinstance(node, yaml.ScalarNode) and node.style is None
    if node.tag != loader.resolve(type(node), node.value, (plain, not plain)):  # type: ignore[no-untyped-call]
        raise ConfigError(f"{path}:{_line(node)}: the tag {node.tag} has no meaning here; remove it.")
    if node.tag == "tag:yaml.org,2002:int" and len(node.value) > MOST_DIGITS:
        raise ConfigError(f"{path}:{_line(node)}: a number of {len(node.value)} digits; write a smaller one.")
    for child in _children(node):
        _check(child, loader, path, seen)


def _note_places(node: yaml.Node, loc: Loc, path: Path, places: Places) -> None:
    """Lines by path of keys. Construction has put what `<<` merges before a mapping's own keys, which thus win."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            places[(*loc, key.value)] = f"{path}:{_line(key)}"
            _note_places(value, (*loc, key.value), path, places)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            places[(*loc, index)] = f"{path}:{_line(value)}"
            _note_places(value, (*loc, index), path, places)


def _overlaid(low: Mapping[str, Any], high: Mapping[str, Any], loc: Loc, places: Places) -> dict[str, Any]:
    """``high`` over ``low``, as a new mapping: aliases let one mapping stand in several places of ``low``."""
    merged = dict(low)
    for key, value in high.items():
        here = (*loc, key)
        if here not in REPLACED_WHOLE and isinstance(value, dict) and isinstance(low.get(key), dict):
            merged[key] = _overlaid(low[key], value, here, places)
        else:
            if key in low:
                _forget(places, here)
            merged[key] = value
    return merged


def _forget(places: Places, loc: Loc) -> None:
    for stale in [place for place in places if place[: len(loc)] == loc]:
        del places[stale]
