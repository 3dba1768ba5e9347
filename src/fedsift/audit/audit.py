"""An audit as a whole: which tables, how deep, and what came of it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fedsift.audit import here
from fedsift.audit.chain import Chain, Node
from fedsift.audit.examine import Examined, examine
from fedsift.audit.findings import Finding, Outcome, worst
from fedsift.audit.histories import Histories
from fedsift.audit.replay import Replayed
from fedsift.audit.seals import Seal, earlier, edited, seals
from fedsift.audit.store import Store
from fedsift.errors import FedsiftError
from fedsift.provenance.record import Record
from fedsift.specs import TableSpec


@dataclass
class Audit:
    """What an audit has found.

    Attributes:
        title: the scale, or the published folder.
        store: what was looked at.
        tables: by experiment.
        front: findings on the report's front page and on records as such.
        around: findings on what is here: sources, lock and configuration.
        replayed: phases that were executed again.
        seals: the records as they are; an edited one as it was.
    """

    title: str
    store: Store
    tables: list[Examined] = field(default_factory=list)
    front: list[Finding] = field(default_factory=list)
    around: list[Finding] = field(default_factory=list)
    replayed: list[Replayed] = field(default_factory=list)
    seals: dict[str, Seal] = field(default_factory=dict)

    @property
    def nodes(self) -> dict[str, Node]:
        """All records that the tables rest on."""
        return {node.place: node for table in self.tables for node in table.nodes}

    @property
    def findings(self) -> list[Finding]:
        """All of them, each once; those nearest to the archives first."""
        of_tables = [finding for table in self.tables for finding in table.findings]
        of_replay = [finding for one in self.replayed for finding in one.findings]
        return list(dict.fromkeys([*of_tables, *self.front, *of_replay, *self.around]))

    @property
    def outcome(self) -> Outcome:
        """The result, which is the exit code."""
        absent = [Outcome.UNTOLD] if self.store.absent else []
        return worst([*(finding.outcome for finding in self.findings), *absent])


def of_scale(scale: str, reports: str, experiments: list[str], deep: bool, note: Callable[[str], None]) -> Audit:
    """Audit the tables of a scale, in the folder of the workflow."""
    audit = Audit(scale, Store(deep=deep))
    chain = _examined(audit, {name: f"{reports}/{name}/record.json" for name in experiments}, note)
    front = f"{reports}/record.json"
    if audit.store.place(front).exists() or audit.store.place(f"{reports}/index.html").exists():
        audit.front = list(_front(audit, chain, front))
    return audit


def of_folder(root: Path, deep: bool, note: Callable[[str], None]) -> Audit:
    """Audit a published part of a run: tables by experiment, and `results/` and `data/` as far as they are there.

    Raises:
        FedsiftError: there are no tables.
    """
    moved: dict[str, Path] = {}
    places: dict[str, str] = {}
    unread: list[Finding] = []
    for path in sorted(root.glob("*/record.json")):
        try:
            record = Record.read(path)
        except FedsiftError as error:
            why = str(error).removeprefix(f"{path}: ").split("; ")[0]
            unread.append(Finding(str(path), "the record of tables", why, "get the folder again"))
            continue
        output = record.parameters.get("output")
        if record.stage == "table" and isinstance(output, str):
            moved[output] = path.parent
            places[path.parent.name] = f"{output}/record.json"
    if not places and not unread:
        raise FedsiftError(f"{root}: no folder in it holds tables with a record.json; give the folder around them.")
    audit = Audit(str(root), Store(root, deep, excerpt=True, moved=moved), front=unread)
    _examined(audit, places, note)
    return audit


def _examined(audit: Audit, places: Mapping[str, str], note: Callable[[str], None]) -> Chain:
    chain, histories = Chain(audit.store), Histories()
    for experiment, place in places.items():
        note(experiment)
        audit.tables.append(examine(audit.store, chain, histories, experiment, place))
    return chain


def _front(audit: Audit, chain: Chain, place: str) -> Iterator[Finding]:
    record = audit.store.record(place)
    if not isinstance(record, Record):
        yield record or Finding(place, "the record of the front page", "none", "make the report again")
        return
    walked = {node.place for table in audit.tables for node in table.nodes}
    for node in chain.walk(place):
        if node.place not in walked:
            yield from node.findings


def seal(audit: Audit, certificate: Path) -> None:
    """Compare the records with those of an earlier ``certificate``.

    Of an edited record the old seal is kept, so that the next audit finds it too.
    """
    old, when = earlier(certificate)
    now = seals(audit.store, list(audit.nodes))
    broken = edited(old, now, when)
    audit.front += broken.values()
    audit.seals = now | {place: old[place] for place in broken}


def around(audit: Audit, planned: Mapping[str, TableSpec] | None) -> None:
    """Compare what is here with what made the results; ``planned`` are the tables of the configuration by folder."""
    nodes = audit.nodes.values()
    audit.around += here.sources(nodes)
    audit.around += here.lock(nodes)
    for table in audit.tables:
        if planned is not None and table.spec:
            audit.around += here.configuration(table.spec, planned.get(table.spec.output))
