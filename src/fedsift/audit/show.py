"""What an audit says on the terminal: a line a table, then what does not hold."""

from collections.abc import Iterator

from rich.console import Console
from rich.markup import escape

from fedsift.audit.audit import Audit
from fedsift.audit.examine import Examined
from fedsift.audit.findings import Outcome
from fedsift.audit.trace import Branch

MOST = 5
"""Findings that are shown; audit.json has all."""


def line(table: Examined) -> str:
    """One line on a table."""
    words = f"{table.experiment}: {table.outcome.words}"
    if table.spec is None or table.figures is None:
        return f"{words}; {table.findings[0].sentence}" if table.findings else words
    done = len(table.spec.cells) - table.missing
    parts = [
        f"{table.numbers:,} numbers from {done} of {len(table.spec.cells)} runs",
        f"{len(table.nodes)} records",
    ]
    if table.missing:
        parts.append(f"{table.missing} runs missing")
    if table.unchecked:
        parts.append(f"{len(table.unchecked)} files not or not all recomputed")
    return f"{words}; {', '.join(parts)}"


def print_audit(audit: Audit, written: str) -> None:
    """Print the result of an audit."""
    console = Console(highlight=False, soft_wrap=True)
    for table in audit.tables:
        console.print(escape(line(table)))
    for one in audit.replayed:
        console.print(escape(f"replay {one.phase}: {one.result}" if one.phase else f"replay: {one.result}"))
    store = audit.store
    read = f"{store.hashed:,} files read again" + (f", {store.sized:,} large ones by size alone" if store.sized else "")
    if store.absent:
        read += f", {len(store.absent):,} of the records' files not here"
    console.print(escape(read))
    findings = audit.findings
    for finding in findings[:MOST]:
        console.print(escape(f"{'broken' if finding.outcome is Outcome.BROKEN else 'cannot tell'}: {finding.sentence}"))
    if len(findings) > MOST:
        console.print(f"and {len(findings) - MOST} more" + (f", all in {escape(written)}" if written else ""))
    last = f"{audit.title}: {audit.outcome.words}"
    if store.absent and not findings:
        last += f"; what is here holds, but {len(store.absent):,} files are not here"
    console.print(escape(last + (f"; certificate: {written}" if written else "")))


def print_chain(branch: Branch) -> None:
    """Print the chain of a cell, a line a link; lines are never cut, so that they can be searched and piped."""
    console = Console(highlight=False, soft_wrap=True)
    for text in _lines(branch, "", ""):
        console.print(escape(text))


def _lines(branch: Branch, first: str, rest: str) -> Iterator[str]:
    yield first + branch.text
    for number, below in enumerate(branch.below, start=1):
        last = number == len(branch.below)
        yield from _lines(below, rest + ("└── " if last else "├── "), rest + ("    " if last else "│   "))
