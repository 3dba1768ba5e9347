"""Were records edited since the last audit? Nothing else holds the bytes of a record; its certificate does."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from fedsift.audit.findings import Finding
from fedsift.audit.store import Store
from fedsift.files import sha256
from fedsift.provenance.record import Record


class Seal(NamedTuple):
    """A record as an audit has seen it."""

    sha256: str
    ended: str
    """When its stage ended: a stage that has run again has another end, and a right to another record."""


def seals(store: Store, places: list[str]) -> dict[str, Seal]:
    """The records at ``places`` as they are."""
    found = {}
    for place in sorted(places):
        record = store.record(place)
        if isinstance(record, Record):
            found[place] = Seal(sha256(store.place(place)), record.ended)
    return found


def earlier(certificate: Path) -> tuple[dict[str, Seal], str]:
    """The records as an earlier certificate has them, and when that was; nothing where there is none to read."""
    try:
        note = json.loads(certificate.read_text(encoding="utf-8"))
        found = {str(place): Seal(str(one["sha256"]), str(one["ended"])) for place, one in note["records"].items()}
        return found, str(note["when"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}, ""


def edited(old: Mapping[str, Seal], now: Mapping[str, Seal], when: str) -> dict[str, Finding]:
    """Records of the same end and with other bytes."""
    return {
        place: Finding(
            place,
            f"sha256 {old[place].sha256[:16]}, as at the audit of {when}",
            f"{seal.sha256[:16]}, although its stage has not run since",
            "restore it, or run its stage again",
        )
        for place, seal in now.items()
        if place in old and old[place].ended == seal.ended and old[place].sha256 != seal.sha256
    }
