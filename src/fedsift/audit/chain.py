"""The chain from tables to archives: an input comes from the record that has it as an output, with the same sha256."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from fedsift.audit.findings import Finding, Outcome
from fedsift.audit.store import AGAIN, Store
from fedsift.provenance.record import File, Record


@dataclass
class Node:
    """A record, and what is wrong between it, its files and the records that it rests on."""

    place: str
    record: Record
    sources: dict[str, str] = field(default_factory=dict)
    """The inputs' records, by input."""
    findings: list[Finding] = field(default_factory=list)


class Chain:
    """All records that the records walked so far rest on, each looked at once."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.nodes: dict[str, Node] = {}

    def walk(self, place: str) -> list[Node]:
        """The records that the one at ``place`` rests on and itself, archives first; none where it cannot be read."""
        order: dict[str, Node] = {}
        # A hostile chain may be longer than Python's stack.
        waiting: list[tuple[str, bool]] = [(place, False)]
        open_: set[str] = set()
        while waiting:
            current, done = waiting.pop()
            if done:
                open_.discard(current)
                order[current] = self.nodes[current]
                continue
            if current in order:
                continue
            node = self._node(current)
            if node is None:
                continue
            open_.add(current)
            waiting.append((current, True))
            for source in sorted(set(node.sources.values()), reverse=True):
                if source in open_:
                    _add(node, Finding(current, "a chain that ends at the archives", f"a circle over {source}", AGAIN))
                elif source not in order:
                    waiting.append((source, False))
        return list(order.values())

    def _node(self, place: str) -> Node | None:
        if place not in self.nodes:
            record = self.store.record(place)
            if not isinstance(record, Record):
                return None
            self.nodes[place] = node = Node(place, record)
            for made in record.outputs:
                _add(node, self.store.check(made))
            for file in record.inputs:
                _add(node, self._source(node, file))
            _add(node, *self._missing(node))
        return self.nodes[place]

    def _source(self, node: Node, file: File) -> Finding | None:
        """Link an input to the record of what made it."""
        found = self.store.maker(file.path)
        if found is None:
            if _leaf(node.record, file.path):
                return self.store.check(file)
            if self.store.excerpt and not self.store.place(file.path).exists():
                self.store.absent.add(file.path)
                return None
            return Finding(file.path, f"a record of what made it, for {node.place}", "none", AGAIN)
        place, record = found
        if isinstance(record, Finding):
            return record
        node.sources[file.path] = place
        made = next(made for made in record.outputs if made.path == file.path)
        if (made.sha256, made.size) != (file.sha256, file.size):
            return Finding(
                file.path,
                f"sha256 {file.sha256[:16]}, which {node.place} has read",
                f"{made.sha256[:16]} in {place}",
                "make what rests on it again",
            )
        return None

    def _missing(self, node: Node) -> Iterator[Finding]:
        for path in node.record.missing:
            if node.record.stage not in ("table", "report"):
                yield Finding(node.place, f"the input {path}", "that it was missing", AGAIN)
            elif self.store.place(path).is_file():
                yield Finding(
                    path, f"no such file, as for {node.place}", "one", "make the tables again", Outcome.UNTOLD
                )


def _leaf(record: Record, path: str) -> bool:
    """Whether an input is nobody's output: a user's own data, what a paper prints, the reason of a failure."""
    if record.stage == "fetch":
        return True
    name = PurePosixPath(path)
    return record.stage == "table" and (name.suffix == ".yaml" or name.name == "failure.json")


def _add(node: Node, *findings: Finding | None) -> None:
    node.findings += [one for one in findings if one and one not in node.findings]
