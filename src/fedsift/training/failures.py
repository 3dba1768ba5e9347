"""Why a phase failed: one sentence where tables and summaries find it, the traceback in the log."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fedsift.errors import FedsiftError
from fedsift.files import write_text

STATE = Path(".fedsift/runs")
"""Resume points, progress and failures of phases: outside Snakemake's outputs, which it deletes when a job fails."""


@contextmanager
def noted(phase: str, log: str, state: Path = STATE) -> Iterator[None]:
    """Run a phase; leave the reason in `<state>/<phase>/failure.json` if it fails, and take an old one away if not."""
    note = state / phase / "failure.json"
    try:
        yield
    except BaseException as error:
        with suppress(OSError):  # a full disk, say, which is then the error itself
            write_text(note, json.dumps({"reason": reason(error), "log": log}) + "\n")
        raise
    note.unlink(missing_ok=True)


def reason(error: BaseException) -> str:
    """One sentence for an exception."""
    if isinstance(error, FedsiftError):
        return str(error)
    # PyTorch's own errors, told by their words so that this module need not import it.
    if isinstance(error, MemoryError) or re.search("out of memory|can't allocate memory", str(error)):
        return "out of memory; ask for more (mem_mb) or lower evaluation.batch_size."
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'a file'}: {error.strerror}."
    if isinstance(error, KeyboardInterrupt):
        return "stopped by the user."
    return f"a fault in fedsift itself ({type(error).__name__}: {error})."
