"""The certificate of an audit: what was checked, when and with which result, for machines and for people."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fedsift.audit.audit import Audit
from fedsift.audit.examine import Examined
from fedsift.audit.show import line
from fedsift.files import write_text
from fedsift.provenance import environment
from fedsift.results.pages import render

JSON, PAGE = "audit.json", "audit.html"
VERSION = 1


def certificate(audit: Audit, command: list[str]) -> dict[str, Any]:
    """All that an audit has done and found."""
    git = environment.git()
    return {
        "version": VERSION,
        "of": audit.title,
        "result": audit.outcome.words,
        "exit_code": int(audit.outcome),
        "command": command,
        "when": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "host": environment.machine().host,
        "commit": git.commit if git else None,
        "dirty": git.dirty if git else None,
        "deep": audit.store.deep,
        "files_read": audit.store.hashed,
        "files_by_size": audit.store.sized,
        "files_not_here": sorted(audit.store.absent),
        "tables": [_table(table) for table in audit.tables],
        "replayed": [{"phase": one.phase, "result": one.result} for one in audit.replayed],
        "findings": [{"result": finding.outcome.words, "sentence": finding.sentence} for finding in audit.findings],
        "records": {place: seal._asdict() for place, seal in audit.seals.items()},
    }


def write(made: dict[str, Any], folder: Path) -> str:
    """Write a certificate as `audit.json` and `audit.html` into ``folder``; gives the page's path."""
    write_text(folder / JSON, json.dumps(made, indent=1, ensure_ascii=False) + "\n")
    write_text(folder / PAGE, render("audit.html", one=made))
    return str(folder / PAGE)


def _table(table: Examined) -> dict[str, Any]:
    return {
        "experiment": table.experiment,
        "record": table.place,
        "result": table.outcome.words,
        "line": line(table),
        "numbers": table.numbers,
        "runs": len(table.spec.cells) if table.spec else 0,
        "runs_missing": table.missing,
        "records": len(table.nodes),
        "files": {tally.file: tally.numbers for tally in table.tallies},
        "not_recomputed": {tally.file: tally.skipped for tally in table.unchecked},
        "findings": [finding.sentence for finding in table.findings],
    }
