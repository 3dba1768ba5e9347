"""Who wrote the workflow, from CITATION.cff, and who ran it, from git."""

import subprocess
from collections.abc import Mapping
from typing import Any

import yaml

from fedsift.errors import FedsiftError

GIT_SECONDS = 10.0
AUTHORS = "The fedsift authors"


def authors(files: Mapping[str, bytes]) -> list[dict[str, str]]:
    """Type and name of each author of the workflow.

    Raises:
        FedsiftError: CITATION.cff cannot be read.
    """
    if "CITATION.cff" not in files:
        return [{"@type": "Organization", "name": AUTHORS}]
    try:
        entries = yaml.safe_load(files["CITATION.cff"])["authors"]
        return [_author(entry) for entry in entries]
    except (yaml.YAMLError, KeyError, TypeError, UnicodeError):
        raise FedsiftError("CITATION.cff: it names no authors; give them as the Citation File Format has it.") from None


def _author(entry: dict[str, Any]) -> dict[str, str]:
    if "name" in entry:
        return {"@type": "Organization", "name": str(entry["name"])}
    found = {"@type": "Person", "name": f"{entry.get('given-names', '')} {entry['family-names']}".strip()}
    return found | ({"identifier": str(entry["orcid"])} if "orcid" in entry else {})


def git_user() -> str | None:
    """The name that git would sign a commit with; None without git or name."""
    try:
        done = subprocess.run(["git", "config", "user.name"], capture_output=True, timeout=GIT_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode(errors="replace").strip() or None
