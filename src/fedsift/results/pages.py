"""HTML by templates, with everything escaped that is not HTML already."""

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def render(template: str, **values: Any) -> str:
    """The text that a template makes of ``values``; ends with a newline.

    Raises:
        jinja2.UndefinedError: the template uses a value that is not there.
    """
    return _environment().get_template(template).render(**values).rstrip() + "\n"


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        # By name would not escape the fragments' own templates alike; every template here is HTML.
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
