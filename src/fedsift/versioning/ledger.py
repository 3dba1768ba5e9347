"""The ledger: one sorted line a job, in Git, so that a diff shows which results changed, with what parameters and code.

It holds no times, and is written from the records alone: equal results give an equal ledger.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from fedsift.provenance.record import Record

FOLDER = Path("provenance")
REPEATING = ("table", "report")
"""Stages whose parameters only list what other lines say."""


def ledger_path(scale: str) -> Path:
    """`provenance/<scale>.jsonl`."""
    return FOLDER / f"{scale}.jsonl"


def ledger(records: Iterable[tuple[str, Record]]) -> str:
    """The lines of jobs, each given by the place of its record and the record."""
    return "".join(_line(place, record) + "\n" for place, record in sorted(records, key=lambda one: one[0]))


def _line(place: str, record: Record) -> str:
    line = {
        "record": place,
        "stage": record.stage,
        "code": record.code,
        "parameters": None if record.stage in REPEATING else record.parameters,
        "outputs": {file.path: file.sha256 for file in record.outputs},
    }
    return json.dumps(line, ensure_ascii=False)
