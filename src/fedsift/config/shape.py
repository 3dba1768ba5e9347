"""The configuration model seen from outside: what a key may hold, in words, and what is wrong with a value."""

import difflib
import typing
from collections.abc import Iterable
from types import UnionType
from typing import Annotated, Any

import annotated_types as limits
from pydantic import BaseModel, StringConstraints, ValidationError
from pydantic.fields import FieldInfo

Loc = tuple[str | int, ...]

NAME_RULE = "lower-case letters, digits, '+', '.' and '-', a letter or digit first"
TAGS = ("scheme", "kind")
"""Keys that tell the members of a union apart."""

KEY = "[key]"
"""What pydantic appends to a path when the key itself is wrong."""


def explain(error: ValidationError, root: type[BaseModel], prefix: Loc = ()) -> tuple[Loc, str]:
    """The first thing to put right: where, and one sentence.

    A key that does not exist comes before one that is missing, because it usually is the missing one misspelt.

    Args:
        error: of validating ``root``.
        root: the model.
        prefix: keys that lead to ``root`` in the file.
    """
    first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    loc, annotation = walk(root, first["loc"])
    at = (*prefix, *loc)
    kind, given, extra = first["type"], first["input"], first.get("ctx", {})
    if loc and loc[-1] == KEY:
        return at[:-1], f"'{dotted(at[:-2])}' has the name {shown(at[-2])}; a name holds {NAME_RULE}."
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        at = (*at, extra["discriminator"].strip("'"))
        options = [str(tag) for branch in branches(annotation) for tag in _tags(_bare(branch))]
        if kind == "union_tag_invalid":
            return at, f"'{dotted(at)}' is {shown(extra['tag'])}; {close(extra['tag'], options)}"
        return at, f"'{dotted(at)}' is missing; add one of: {', '.join(options)}."
    if kind == "extra_forbidden":
        known = sorted(_keys(walk(root, first["loc"][:-1])[1]))
        return at, f"unknown key '{dotted(at)}'; {close(loc[-1], known, 'known here')}"
    if kind == "missing":
        return at, f"'{dotted(at)}' is missing; add it ({words(annotation)}; see docs/configuration.md)."
    hint = f"allowed: {words(annotation)}."
    if kind == "value_error":
        hint = f"{extra['error']}."
    elif kind == "finite_number":
        hint = "it must be finite."
    elif isinstance(given, str) and difflib.get_close_matches(given, _literals(annotation), n=1):
        hint = close(given, _literals(annotation))
    return at, f"'{dotted(at)}' is {shown(given)}; {hint}"


def dotted(loc: Iterable[str | int]) -> str:
    """A path of keys as people write it."""
    return ".".join(part if part.isprintable() else repr(part)[1:-1] for part in map(str, loc))


def shown(value: object) -> str:
    """A value on one short line."""
    if value is None:
        return "empty"
    if isinstance(value, dict | list):
        return f"{'a' if value else 'an empty'} {'mapping' if isinstance(value, dict) else 'list'}"
    try:
        text = repr(value)
    except ValueError:  # Python refuses to write integers of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= 60 else f"{text[:57]}..."


def close(name: object, known: Iterable[str], heading: str = "one of") -> str:
    """`did you mean ...?`, or what there is."""
    known = list(known)
    found = difflib.get_close_matches(str(name), known, n=1)
    return f"did you mean '{found[0]}'?" if found else f"{heading}: {', '.join(known) or 'nothing'}."


def walk(root: Any, parts: Iterable[str | int]) -> tuple[Loc, Any]:
    """Follow a location of pydantic's: the keys in it, without the branches of unions, and the type there."""
    loc: list[str | int] = []
    annotation = root
    for part in parts:
        step = _step(annotation, part)
        if step is None:
            continue
        annotation, is_key = step
        if is_key:
            loc.append(part)
    return tuple(loc), annotation


def _step(annotation: Any, part: str | int) -> tuple[Any, bool] | None:
    """The type after one part of a location, and whether the part is a key; None where it names a plain type."""
    if part == KEY:
        return annotation, True
    inner = branches(annotation)
    for branch in inner:
        bare, origin, args = _bare(branch), typing.get_origin(_bare(branch)), typing.get_args(_bare(branch))
        if is_model(bare):
            if len(inner) > 1 and part in _tags(bare):
                return branch, False
            if part in bare.model_fields:
                return annotated(bare.model_fields[str(part)]), True
        if origin is dict:
            return args[1], True
        if origin is list and isinstance(part, int):
            return args[0], True
    return (Any, True) if any(is_model(_bare(branch)) for branch in inner) else None


def annotated(field: FieldInfo) -> Any:
    """The type of a field with its limits, which pydantic keeps apart."""
    return Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation


def branches(annotation: Any) -> list[Any]:
    """The members of a union, each with its limits; the type itself where it is none."""
    if typing.get_origin(_bare(annotation)) in (typing.Union, UnionType):
        return [branch for arg in typing.get_args(_bare(annotation)) for branch in branches(arg)]
    return [annotation]


def _literals(annotation: Any) -> list[str]:
    """The words that a value may be."""
    bare = [_bare(branch) for branch in branches(annotation)]
    return [str(arg) for one in bare if typing.get_origin(one) is typing.Literal for arg in typing.get_args(one)]


def words(annotation: Any) -> str:
    """A type in words, with its limits."""
    tagged = [_bare(branch) for branch in branches(annotation) if is_model(_bare(branch)) and _tags(_bare(branch))]
    if len(tagged) > 1:
        name = next(name for name in TAGS if name in tagged[0].model_fields)
        return f"section with `{name}` one of {', '.join(str(tag) for one in tagged for tag in _tags(one))}"
    kinds = ["nothing" if branch in (None, type(None)) else _kind(branch) for branch in branches(annotation)]
    return " or ".join(dict.fromkeys(kinds))


def _kind(annotation: Any) -> str:
    bare, rules = _bare(annotation), _rules(annotation)
    origin, args = typing.get_origin(bare), typing.get_args(bare)
    if origin is typing.Literal:
        return " or ".join(f"`{arg}`" for arg in args)
    if origin is list:
        return f"list of {words(args[0])}{_count(rules)}"
    if origin is dict:
        return f"mapping of names to {words(args[1])}{_count(rules)}"
    if is_model(bare):
        return f"section with {tag_of(bare)}" if tag_of(bare) else "section"
    if any(isinstance(rule, StringConstraints) and rule.pattern for rule in rules):
        return "name"
    kind = {int: "integer", float: "number", str: "text", bool: "true or false"}.get(bare, "anything")
    return f"{kind}{_limits(rules)}" if bare in (int, float) else kind


def _count(rules: list[Any]) -> str:
    least = [rule.min_length for rule in rules if isinstance(rule, limits.MinLen)]
    return f", at least {max(least)} of them" if least else ""


def _limits(rules: list[Any]) -> str:
    """The narrowest range that ``rules`` leave."""
    lower = [(value, phrase) for rule in rules for value, phrase in _ends(rule, ge="from", gt="above")]
    upper = [(value, phrase) for rule in rules for value, phrase in _ends(rule, le="up to", lt="below")]
    ends = [max(lower)] if lower else []
    ends += [min(upper)] if upper else []
    said = [f"{phrase} {'2**32' if value == 2**32 else value}" for value, phrase in ends]
    return "".join(f" {text}" for text in [" and ".join(said)] if text)


def _ends(rule: Any, **phrases: str) -> list[tuple[Any, str]]:
    return [(getattr(rule, name), said) for name, said in phrases.items() if getattr(rule, name, None) is not None]


def is_model(annotation: Any) -> bool:
    """Whether it is a section."""
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _bare(annotation: Any) -> Any:
    return _bare(typing.get_args(annotation)[0]) if typing.get_origin(annotation) is Annotated else annotation


def _rules(annotation: Any) -> list[Any]:
    rules: list[Any] = []
    if typing.get_origin(annotation) is Annotated:
        first, *extra = typing.get_args(annotation)
        for rule in extra:
            rules += rule.metadata if isinstance(rule, FieldInfo) else [rule]
        rules = _rules(first) + rules
    return rules


def tag_of(model: type[BaseModel]) -> str:
    """What tells this member of a union from the others, such as `scheme: iid`."""
    return "".join(f"`{name}: {tag}`" for name in TAGS if name in model.model_fields for tag in _tags(model))


def _tags(model: type[BaseModel]) -> tuple[Any, ...]:
    fields = [model.model_fields[name] for name in TAGS if name in model.model_fields]
    return typing.get_args(fields[0].annotation) if fields else ()


def _keys(annotation: Any) -> set[str]:
    """What may stand in the one section that a walk led to."""
    return {name for branch in branches(annotation) if is_model(_bare(branch)) for name in _bare(branch).model_fields}
