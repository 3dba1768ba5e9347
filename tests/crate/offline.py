"""Validation of crates without a network."""

import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from unittest.mock import patch

import requests
from rocrate_validator import models, services
from rocrate_validator.utils.http import HttpRequester

CONTEXT = "https://w3id.org/ro/crate/1.1/context"


@cache
def context() -> bytes:
    """The terms of RO-Crate 1.1.

    The package rocrate ships those of 1.3, which has all of them; four are spelled otherwise in 1.1.
    """
    terms = json.loads((files("rocrate") / "data/ro-crate.jsonld").read_text())["@context"]
    bioschemas = "https://bioschemas.org"
    terms |= {name: f"{bioschemas}/{name}" for name in ("ComputationalWorkflow", "FormalParameter")}
    terms |= {name: f"{bioschemas}/ComputationalWorkflow#{name}" for name in ("input", "output")}
    return json.dumps({"@context": terms}).encode()


def get(_: HttpRequester, url: str, *arguments: Any, **named: Any) -> requests.Response:
    """Answer the one request that the validator cannot do without."""
    if str(url).rstrip("/") != CONTEXT:
        raise requests.ConnectionError(f"{url}: tests have no network")
    answer = requests.Response()
    answer.status_code, answer.url, answer.encoding = 200, url, "utf-8"
    answer._content = context()
    answer.headers["Content-Type"] = "application/ld+json"
    return answer


def issues(crate: Path | str, level: str) -> list[tuple[str, str, str, str]]:
    """Check, identifier of the entity, message and severity of everything that the validator finds."""
    settings = services.ValidationSettings(
        rocrate_uri=models.URI(str(crate)),
        profile_identifier="workflow-run-crate-0.5",
        requirement_severity=models.Severity[level.upper()],
        abort_on_first=False,
    )
    with patch.object(HttpRequester, "get", get, create=True):
        result = services.validate(settings)
    return sorted(
        (issue.check.name, str(issue.violatingEntity or ""), str(issue.message), issue.severity.name)
        for issue in result.get_issues()
    )
