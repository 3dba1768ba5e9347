"""`fedsift audit`: put an audit together, print it, and leave its certificate."""

import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedsift.audit import certificate
from fedsift.audit.audit import Audit, around, of_folder, of_scale, seal
from fedsift.audit.replay import replay
from fedsift.audit.selection import find
from fedsift.audit.show import print_audit, print_chain
from fedsift.audit.trace import trace
from fedsift.config import load
from fedsift.provenance.recording import command
from fedsift.specs import TableSpec
from fedsift.workflow import Plan, config_files, scale_files


@dataclass(frozen=True)
class Asked:
    """What is to be audited, and how.

    Attributes:
        scale: its name; of no account with ``root``.
        overlays: files laid over the scale.
        root: a published part of a run, instead of a scale.
        cell: the one to trace; None for the whole.
        deep: read every file, compare with sources, lock and configuration.
        replay: phases to execute again.
        seed: of their choice.
        scratch: folder to execute in; None for a temporary one.
        out: folder of the certificate; None for the report's own, and for none with ``root``.
        as_json: machine-readable.
    """

    scale: str
    overlays: list[Path]
    root: Path | None
    cell: str | None
    deep: bool
    replay: int
    seed: int
    scratch: Path | None
    out: Path | None
    as_json: bool


def run(asked: Asked) -> int:
    """Audit, print, write the certificate; gives the exit code.

    Raises:
        FedsiftError: there is nothing to audit, or no such cell.
    """
    audit, out = _audited(asked)
    if asked.cell is not None:
        return _trace(audit, asked.cell, asked.as_json)
    if out is not None:
        seal(audit, out / certificate.JSON)
    if asked.deep:
        _around(audit, asked)
    if asked.replay:
        _replay(audit, asked)
    made = certificate.certificate(audit, command(sys.argv))
    page = _written(made, audit, out)
    if asked.as_json:
        print(json.dumps(made, indent=1))
    else:
        print_audit(audit, page)
    return int(audit.outcome)


def _audited(asked: Asked) -> tuple[Audit, Path | None]:
    note = _notes()
    if asked.root is not None:
        return of_folder(asked.root, asked.deep, note), asked.out
    config = load(config_files([*scale_files(asked.scale), *asked.overlays]))
    reports = f"{config.reports}/{config.scale}"
    audit = of_scale(config.scale, reports, list(config.experiments), asked.deep, note)
    return audit, asked.out or Path(reports)


def _around(audit: Audit, asked: Asked) -> None:
    planned: dict[str, TableSpec] | None = None
    if asked.root is None:
        planned = Plan.of_files([*scale_files(asked.scale), *asked.overlays]).grid.tables
    around(audit, planned)


def _replay(audit: Audit, asked: Asked) -> None:
    with tempfile.TemporaryDirectory(dir=asked.scratch, prefix="replay-") as scratch:
        audit.replayed = replay(audit.nodes.values(), audit.store, asked.replay, asked.seed, Path(scratch), _notes())


def _trace(audit: Audit, cell: str, as_json: bool) -> int:
    wanted = find(audit.tables, cell)
    branch = trace(wanted)
    if as_json:
        print(json.dumps(branch.json(), indent=1))
    else:
        print_chain(branch)
        for finding in wanted.table.findings[:1]:
            print(f"{finding.outcome.words}: {finding.sentence}")
    return int(wanted.table.outcome)


def _written(made: dict[str, Any], audit: Audit, out: Path | None) -> str:
    """Where the page is; a folder that cannot be written to takes nothing from the result."""
    if out is None or not any(table.spec for table in audit.tables):
        return ""
    try:
        return certificate.write(made, out)
    except OSError as error:
        print(f"no certificate: {error.filename or out}: {error.strerror}", file=sys.stderr)
        return ""


def _notes() -> Callable[[str], None]:
    """Progress, for people who wait."""
    return (lambda text: print(text, file=sys.stderr)) if sys.stderr.isatty() else lambda text: None
