"""Which cell a person means: `experiment/noise/K50/method[/metric/at]`, as `cells.csv` has it."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from fedsift.audit.examine import Examined
from fedsift.audit.figures import Key
from fedsift.audit.histories import DETECTION
from fedsift.audit.long_tables import ATS, METRICS
from fedsift.errors import FedsiftError

SHOWN = (("accuracy", "best"), ("accuracy", "last"))
"""Statistics of a cell where none is asked for."""


@dataclass(frozen=True)
class Wanted:
    """A cell and the statistics of it."""

    table: Examined
    key: Key
    statistics: list[tuple[str, str]]

    @property
    def text(self) -> str:
        """The cell as it is asked for."""
        return f"{self.table.experiment}/{self.key.noise}/K{self.key.clients}/{self.key.method}"


def find(tables: Sequence[Examined], text: str) -> Wanted:
    """The cell that ``text`` names.

    Raises:
        FedsiftError: there is none; the sentence names those that are near.
    """
    parts = [part.strip() for part in text.strip().strip("/").split("/")]
    cells = {_name(table, key): (table, key) for table in tables if table.figures for key in _planned(table)}
    if not cells:
        raise FedsiftError(f"{text}: there are no tables to look a cell up in; run the scale first.")
    name = "/".join(parts[:4]).lower()
    known = {cell.lower().replace("/k", "/"): cell for cell in cells}
    found = known.get(name.replace("/k", "/"))
    if found is None:
        raise FedsiftError(f"{text}: no such cell; {_near(name, list(cells))}")
    return Wanted(*cells[found], statistics=_statistics(text, parts[4:]))


def _statistics(text: str, asked: list[str]) -> list[tuple[str, str]]:
    if not asked:
        return list(SHOWN)
    metric = asked[0].lower().replace("-", "_")
    if metric in DETECTION:
        return [(metric, "selection")]
    if metric not in METRICS:
        raise FedsiftError(f"{text}: no such metric {asked[0]!r}; {_near(metric, [*METRICS, *DETECTION])}")
    if len(asked) == 1:
        return [(metric, at) for at in ATS]
    if asked[1] not in ATS and not asked[1].isdigit():
        raise FedsiftError(f"{text}: no such round {asked[1]!r}; it is {', '.join(ATS)} or a number of rounds.")
    return [(metric, asked[1])]


def _planned(table: Examined) -> list[Key]:
    cells = table.spec.cells if table.spec else []
    return list(dict.fromkeys(Key(cell.noise, cell.clients, cell.method) for cell in cells))


def _name(table: Examined, key: Key) -> str:
    return f"{table.experiment}/{key.noise}/K{key.clients}/{key.method}"


def _near(word: str, known: list[str]) -> str:
    near = difflib.get_close_matches(word, known, n=3, cutoff=0.4)
    return f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known[:3])}, ..."
