"""The JSON schema and the reference page of the configuration, generated from the model."""

import json
import types
import typing
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from fedsift.config.model import Config
from fedsift.methods import registry

HEAD = """\
# Configuration

This page is generated from `src/fedsift/config/model.py` by `fedsift config --reference`; a test fails when it drifts.

`config.yaml` is the `quick` scale; `config/<scale>.yaml` is laid over it: mappings merge key by key, except
`experiments`, which an overlay replaces as a whole. `fedsift config --scale NAME` checks a scale and prints it with all
defaults. Unknown keys are errors.
"""


def schema_text() -> str:
    """JSON schema of a whole configuration."""
    return json.dumps(Config.model_json_schema(), indent=1, sort_keys=True) + "\n"


def reference_page() -> str:
    """All keys with type, default and meaning; then the options of the built-in methods."""
    parts = [HEAD]
    for model, title in _sections():
        parts.append(_section(model, title))
    parts.append("## Options of the methods\n")
    for name in registry.names():
        cls = registry.load(registry.find(name))
        words = (cls.__doc__ or "").strip().splitlines()[0]
        head = f"### `methods.{name}`\n\n{words}\n"
        parts.append(head + (f"\n{_table(cls.Options)}" if cls.Options.model_fields else "\nNo options.\n"))
    return "\n".join(parts)


def _sections() -> Iterator[tuple[type[BaseModel], str]]:
    """The configuration and the models inside it, in the order in which they are met."""
    seen: set[type[BaseModel]] = set()
    waiting: list[tuple[type[BaseModel], str]] = [(Config, "Top level")]
    while waiting:
        model, title = waiting.pop(0)
        if model in seen:
            continue
        seen.add(model)
        yield model, title
        for name, field in model.model_fields.items():
            for inner in _models(field.annotation):
                tag = _tag(inner)
                waiting.append((inner, f"`{name}`" + (f" with `{tag}`" if tag else "")))


def _section(model: type[BaseModel], title: str) -> str:
    words = (model.__doc__ or "").strip()
    return f"## {title}\n\n{words}\n\n{_table(model)}"


def _table(model: type[BaseModel]) -> str:
    lines = ["| key | type | default | meaning |", "|---|---|---|---|"]
    for name, field in model.model_fields.items():
        cells = (f"`{name}`", _kind(field.annotation), _default(field), field.description or "")
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.default if field.default is not PydanticUndefined else field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        return "see below"
    return f"`{json.dumps(value)}`"


def _kind(annotation: Any) -> str:
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _kind(args[0])
    if origin is typing.Literal:
        return " or ".join(f"`{arg}`" for arg in args)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(dict.fromkeys("nothing" if arg is type(None) else _kind(arg) for arg in args))
    if origin is list:
        return f"list of {_kind(args[0])}"
    if origin is dict:
        return f"mapping of names to {_kind(args[1])}"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "section"
    return {int: "integer", float: "number", str: "text", bool: "true or false"}.get(annotation, "anything")


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for arg in typing.get_args(annotation) for model in _models(arg)]


def _tag(model: type[BaseModel]) -> str | None:
    for name in ("scheme", "kind"):
        if name in model.model_fields:
            return f"{name}: {typing.get_args(model.model_fields[name].annotation)[0]}"
    return None
