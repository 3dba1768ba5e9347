"""The JSON schema and the reference page of the configuration, generated from the model."""

import json
import sys
import typing
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from fedsift.config.model import Config
from fedsift.config.shape import NAME_RULE, TAGS, annotated, is_model, tag_of, words
from fedsift.methods import registry
from fedsift.models.info import MODELS

HEAD = f"""\
# Configuration

This page is generated from `src/fedsift/config/model.py` by `make docs`; a test fails when it drifts.

`config.yaml` is the `quick` scale; `config/<scale>.yaml` is laid over it: mappings merge key by key, except
`experiments`, which an overlay replaces as a whole. `fedsift config --scale NAME` checks a scale and prints it with all
defaults. Unknown keys are errors.

A *name* holds {NAME_RULE}. A *section* has a table of its own below.
"""


def schema_text() -> str:
    """JSON schema of a whole configuration."""
    return json.dumps(Config.model_json_schema(), indent=1, sort_keys=True) + "\n"


def reference_page() -> str:
    """All keys with type, default and meaning; then the options of the built-in methods, and the models."""
    parts = [HEAD]
    parts += [f"## {title}\n\n{_words(model)}\n\n{_table(model)}" for title, model in _sections()]
    parts.append(
        "## Options of the methods\n\nUnder `methods`, by the method's name; or under a name of your own, with "
        "`is:` and the name of the method that it is a variant of.\n"
    )
    for name in registry.names():
        cls = registry.load(registry.find(name))
        options = _table(cls.Options) if cls.Options.model_fields else "No options.\n"
        parts.append(f"### {name}\n\n{_words(sys.modules[cls.__module__])}\n\n{_words(cls)}\n\n{options}")
    parts.append("## Models\n\n" + _models())
    return "\n".join(parts)


def _sections() -> Iterator[tuple[str, type[BaseModel]]]:
    """Every section with its heading: the whole first, then each part, followed by its own parts."""
    yield "Top level", Config
    yield from _parts(Config, "")


def _parts(model: type[BaseModel], path: str) -> Iterator[tuple[str, type[BaseModel]]]:
    for name, field in model.model_fields.items():
        for inner in _models_in(field.annotation):
            here = f"{path}.{name}" if path else name
            if typing.get_origin(field.annotation) is dict:
                here += ".NAME"
            heading = f"`{here}`" + (f" with {tag_of(inner)}" if tag_of(inner) else "")
            yield heading, inner
            yield from _parts(inner, here)


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if is_model(annotation):
        return [annotation]
    return [model for arg in typing.get_args(annotation) for model in _models_in(arg)]


def _words(documented: type | ModuleType) -> str:
    """The first paragraph of a docstring."""
    return " ".join((documented.__doc__ or "").strip().split("\n\n")[0].split())


def _table(model: type[BaseModel]) -> str:
    lines = ["| key | value | default | meaning |", "|---|---|---|---|"]
    # What tells a section from its siblings first, then its own keys, then those that it shares with them.
    own = model.__annotations__
    for name in sorted(model.model_fields, key=lambda name: (name not in TAGS, name not in own)):
        field = model.model_fields[name]
        meaning = field.description or "Chooses this section."
        lines.append(_line(f"`{name}`", words(annotated(field)), _default(field), meaning))
    return "\n".join(lines) + "\n"


def _models() -> str:
    lines = ["| model | images | parameters | reconstruction |", "|---|---|---|---|"]
    for name, info in MODELS.items():
        shape = " x ".join(map(str, info.shape))
        lines.append(_line(f"`{name}`", shape, f"{info.parameters:,}", "yes" if info.multitask else "no"))
    return "\n".join(lines) + "\n"


def _line(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if isinstance(field.default, BaseModel):
        return "its defaults"
    return "nothing" if field.default is None else f"`{json.dumps(field.default)}`"
