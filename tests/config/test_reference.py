"""The generated pages: as in the files, and complete."""

import json
import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from fedsift.config.model import Config
from fedsift.config.reference import reference_page, schema_text
from fedsift.config.shape import is_model
from fedsift.methods import registry
from fedsift.models.info import MODELS

ROOT = Path(__file__).parents[2]
PAGE = reference_page()


@pytest.mark.parametrize(
    ("name", "text"), [("configuration.md", PAGE), ("configuration.schema.json", schema_text())], ids=["page", "schema"]
)
def test_the_files_do_not_drift(name: str, text: str) -> None:
    assert (ROOT / "docs" / name).read_text() == text, "run `make docs`"


def _sections(model: type[BaseModel]) -> set[type[BaseModel]]:
    found = {model}
    for field in model.model_fields.values():
        waiting = [field.annotation]
        while waiting:
            annotation = waiting.pop()
            if is_model(annotation):
                found |= _sections(annotation)
            else:
                waiting += getattr(annotation, "__args__", ())
    return found


def test_every_key_has_its_line_and_says_what_it_means() -> None:
    for model in _sections(Config):
        table = next(part for part in PAGE.split("\n## ") if (model.__doc__ or "").split("\n")[0] in part)
        for name, field in model.model_fields.items():
            (line,) = re.findall(rf"^\| `{name}` \| .*$", table, re.MULTILINE)
            assert field.description is None or field.description.replace("|", "\\|") in line
            assert field.description or name in ("scheme", "kind")


def test_headings_follow_the_nesting() -> None:
    headings = re.findall(r"^## (.*)$", PAGE, re.MULTILINE)
    assert headings[:4] == ["Top level", "`data`", "`data.own.NAME`", "`experiments.NAME`"]
    assert "`experiments.NAME.partition` with `scheme: dirichlet`" in headings
    training = headings.index("`experiments.NAME.training`")
    assert headings[training + 1] == "`experiments.NAME.training.objective`"
    assert headings[-2:] == ["Options of the methods", "Models"]


@pytest.mark.parametrize(
    "line",
    [
        "| `scheme` | `dirichlet` | required | Chooses this section. |",
        "| `alpha` | number above 0 | `0.5` | Concentration; small is very unequal. |",
        "| `momentum` | number from 0 and below 1 | `0.0` | Momentum of SGD; starts at zero every round. |",
        "| `seed` | integer from 0 and below 2**32 or `run` | `10` | Seed of the noise; `run`: the run's own seed. |",
        "| `share` | number above 0 and up to 1 | `0.1` | Share of the clients in a round; at least one. |",
        "| `clients` | list of integer from 1, at least 1 of them | required | Client counts K. |",
        "| `partition` | section with `scheme` one of iid, dirichlet, power-law, shards | required | "
        "How samples are shared out to clients. |",
    ],
)
def test_types_ranges_and_defaults(line: str) -> None:
    assert line in PAGE


def test_all_methods_and_models_are_there() -> None:
    for name in registry.names():
        assert f"\n### {name}\n" in PAGE
    for name, info in MODELS.items():
        assert re.search(rf"^\| `{name}` \| .* \| {info.parameters:,} \|", PAGE, re.MULTILINE)


def test_the_schema_knows_the_keys() -> None:
    schema = json.loads(schema_text())
    assert set(schema["properties"]) == set(Config.model_fields)
    assert schema["additionalProperties"] is False
