"""One experiment's tables: their chain to the archives, and their numbers from the runs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from pydantic import ValidationError

from fedsift.audit import contributions, links, long_tables, printed_tables
from fedsift.audit.chain import Chain, Node
from fedsift.audit.figures import Figures
from fedsift.audit.findings import Finding, Outcome, worst
from fedsift.audit.histories import Histories
from fedsift.audit.papers import Papers
from fedsift.audit.sheet import NotHere, Tally, rows
from fedsift.audit.store import Store
from fedsift.provenance.record import Record
from fedsift.results.files import long_files, table_names
from fedsift.specs import TableSpec

REFERENCE = "reports/reference"


@dataclass
class Examined:
    """What is known of the tables of an experiment.

    Attributes:
        experiment: its name.
        place: the tables' record.
        spec: what the tables are of; None where there is no record.
        nodes: the records that they rest on, archives first.
        tallies: their files with numbers.
        figures: the runs; None where there is no specification.
        findings: broken links and doubts, those nearest to the archives first.
    """

    experiment: str
    place: str
    spec: TableSpec | None = None
    nodes: list[Node] = field(default_factory=list)
    tallies: list[Tally] = field(default_factory=list)
    figures: Figures | None = None
    findings: list[Finding] = field(default_factory=list)

    @property
    def outcome(self) -> Outcome:
        """Of all findings together."""
        return worst(one.outcome for one in self.findings)

    @property
    def numbers(self) -> int:
        """How many numbers were computed again."""
        return sum(tally.numbers for tally in self.tallies)

    @property
    def unchecked(self) -> list[Tally]:
        """Files with numbers that were not, or not all, computed again."""
        return [tally for tally in self.tallies if tally.skipped]

    @property
    def missing(self) -> int:
        """Runs that the tables do without."""
        return len(self.figures.absent) if self.figures else 0


def examine(store: Store, chain: Chain, histories: Histories, experiment: str, place: str) -> Examined:
    """Walk and recompute the tables whose record is at ``place``."""
    found = Examined(experiment, place)
    record = store.record(place)
    if not isinstance(record, Record):
        found.findings.append(record or _no_record(store, place))
        return found
    found.nodes = chain.walk(place)
    try:
        found.spec = TableSpec.model_validate(record.parameters)
    except ValidationError:
        found.findings += _of_chain(found)
        return found
    found.figures = Figures(found.spec, store, histories)
    found.tallies = list(_tallies(store, found.spec, found.figures))
    found.findings += _of_chain(found)
    found.findings += [finding for tally in found.tallies for finding in tally.findings]
    if store.excerpt:
        found.findings += _unread(found.figures, record)
    return found


def _no_record(store: Store, place: str) -> Finding:
    if store.place(place).parent.is_dir() and any(store.place(place).parent.iterdir()):
        return Finding(place, "the record of these tables", "none", "make the tables again")
    return Finding(place, "tables", "none yet", "run this experiment first", Outcome.UNTOLD)


def _of_chain(found: Examined) -> Iterator[Finding]:
    for node in found.nodes:
        yield from node.findings
        yield from links.fits(node)
        if node.record.stage == "fetch":
            yield from links.pinned(node)
    yield from links.one_code(found.nodes)
    if found.spec:
        yield from links.lineages(found.spec, {node.place: node for node in found.nodes})


def _unread(figures: Figures, record: Record) -> Iterator[Finding]:
    """Runs that the tables have, of which an excerpt has no history."""
    read = {file.path for file in record.inputs}
    absent = [
        cell
        for cell in figures.spec.cells
        if all(f"{phase}/history.csv" in read for phase in cell.phases)
        and not all(figures.store.place(f"{phase}/history.csv").is_file() for phase in cell.phases)
    ]
    if absent:
        yield Finding(
            f"{absent[0].phases[-1]}/history.csv",
            f"the histories of all runs; {len(absent)} are not here",
            "none",
            "audit where they are",
            Outcome.UNTOLD,
        )


def _tallies(store: Store, spec: TableSpec, figures: Figures) -> Iterator[Tally]:
    papers = Papers(spec, store.place(REFERENCE))
    for name in long_files(spec):
        path = f"{spec.output}/{name}"
        if name in long_tables.CHECKS:
            yield _tally(store, path, partial(_long, name=name, figures=figures, papers=papers))
        elif name in contributions.CHECKS:
            yield _tally(store, path, partial(contributions.CHECKS[name], spec, store))
        else:
            yield Tally(path, skipped="the audit has no second code for this table")
    for table in table_names(spec):
        check = partial(printed_tables.check, name=table, figures=figures, papers=papers)
        yield _tally(store, f"{spec.output}/{table.stem}.csv", check)


def _long(tally: Tally, path: Path, name: str, figures: Figures, papers: Papers) -> None:
    long_tables.CHECKS[name](tally, rows(path), figures, papers)


def _tally(store: Store, path: str, check: Callable[[Tally, Path], None]) -> Tally:
    tally = Tally(path)
    try:
        check(tally, store.place(path))
    except NotHere as error:
        if store.excerpt and not store.place(path).exists():
            tally.skipped = "it is not here"
        else:
            tally.wrong("the file", "a table", str(error))
    except (KeyError, IndexError, ValueError) as error:
        # Rows and columns come from a file that may hold anything.
        tally.wrong("the file", "rows and columns of this table", f"{type(error).__name__} at {error}")
    return tally
