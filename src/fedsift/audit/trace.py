"""The chain behind a cell, as a tree of words: statistic, runs, phases, noise, partition, arrays, raw files."""

import json
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from fedsift.audit.chain import Node
from fedsift.audit.estimates import Estimate
from fedsift.audit.figures import Figures
from fedsift.audit.selection import Wanted
from fedsift.data.catalog import DataSet
from fedsift.provenance.record import Record, record_path


@dataclass
class Branch:
    """A line of the chain, what is known of it for machines, and what it rests on."""

    text: str
    facts: dict[str, Any] = field(default_factory=dict)
    below: list["Branch"] = field(default_factory=list)

    def json(self) -> dict[str, Any]:
        """As nested objects."""
        return {"text": self.text, **self.facts, "from": [branch.json() for branch in self.below]}


def trace(wanted: Wanted) -> Branch:
    """The whole chain of a cell; a record that several lines rest on is told where it is met first."""
    table, figures = wanted.table, wanted.table.figures
    root = Branch(wanted.text, {"cell": wanted.text, "table": table.place})
    if figures is None or table.spec is None:
        return root
    for metric, at in wanted.statistics:
        ours = figures.detection(wanted.key, metric) if at == "selection" else figures.value(wanted.key, metric, at)
        root.below.append(_statistic(metric, at, ours))
    nodes = {node.place: node for node in table.nodes}
    if node := nodes.get(table.place):
        root.below.append(_told(node))
    told: set[str] = set()
    for cell in table.spec.cells:
        if (cell.noise, cell.clients, cell.method) == wanted.key:
            root.below.append(_run(figures, wanted, cell.seed, cell.phases, nodes, told))
    return root


def _statistic(metric: str, at: str, ours: Estimate | None) -> Branch:
    if ours is None:
        return Branch(f"{metric} {at}: no value", {"metric": metric, "at": at, "n": 0})
    interval = "" if ours.half is None else f" ± {ours.half:.6g}"
    facts = {"metric": metric, "at": at, "mean": ours.mean, "low": ours.low, "high": ours.high, "n": ours.n}
    return Branch(f"{metric} {at}: {ours.mean:.6g}{interval}, mean over {ours.n} seeds", facts)


def _run(
    figures: Figures, wanted: Wanted, seed: int, phases: list[str], nodes: dict[str, Node], told: set[str]
) -> Branch:
    run = figures.of(wanted.key).get(seed)
    values: dict[str, float | None] = {}
    if run:
        for metric, at in wanted.statistics:
            values[f"{metric} {at}"] = run.over_rounds(metric) if at == "selection" else run.final(metric, at)
    why = figures.absent.get((wanted.key, seed))
    words = ", ".join(f"{name} {'none' if value is None else f'{value:.6g}'}" for name, value in values.items())
    one = Branch(f"seed {seed}: {why or words}", {"seed": seed, "values": values, "missing": why})
    for phase in phases:
        place = record_path(phase)
        if place in nodes:
            one.below.append(_branch(nodes[place], nodes, told))
        else:
            one.below.append(Branch(f"{place}: no record", {"record": place}))
    return one


def _branch(node: Node, nodes: dict[str, Node], told: set[str]) -> Branch:
    if node.place in told:
        return Branch(f"{node.place}, as above", {"record": node.place})
    told.add(node.place)
    one = _told(node)
    if node.record.stage == "fetch":
        one.below = _raw(node.record)
    for place in dict.fromkeys(node.sources.values()):
        if place in nodes:
            one.below.append(_branch(nodes[place], nodes, told))
    return one


def _told(node: Node) -> Branch:
    record = node.record
    commit = f"{record.git.commit[:12]}{' with changes' if record.git.dirty else ''}" if record.git else "none"
    job = f", job {record.scheduler.get('SLURM_JOB_ID', '?')}" if record.scheduler else ""
    where = f"{record.machine.host}{f' ({record.device})' if record.device else ''}{job}"
    text = (
        f"{record.stage}: {node.place}: code {record.code[:12]}, commit {commit}, lock {(record.lock or 'none')[:12]}, "
        f"on {where}, {record.started[:19]}Z, {record.wall_seconds:.1f} s"
    )
    facts = {
        "record": node.place,
        "stage": record.stage,
        "outputs": [file.model_dump() for file in record.outputs],
        "code": record.code,
        "commit": record.git.commit if record.git else None,
        "dirty": record.git.dirty if record.git else None,
        "lock": record.lock,
        "host": record.machine.host,
        "device": record.device,
        "scheduler": record.scheduler,
        "started": record.started,
        "wall_seconds": record.wall_seconds,
        "findings": [finding.sentence for finding in node.findings],
    }
    return Branch(text, facts, [Branch(f"broken: {finding.sentence}") for finding in node.findings])


def _raw(record: Record) -> list[Branch]:
    """The raw files, and where the catalog's entry says that they come from."""
    try:
        entry = DataSet.model_validate_json(json.dumps(record.parameters))
    except ValidationError:
        return []
    known = {file.name: file for file in entry.files}
    found = []
    for file in record.outputs:
        if (named := known.get(file.path.rpartition("/")[2])) is None:
            continue
        bundle = entry.archive_of(named)
        source = next(iter((bundle or named).urls), "")
        if bundle:
            source += f" ({named.member})"
        elif named.package:
            source = f"package {named.package}"
        source = source or entry.homepage or "the user's own"
        text = f"{file.path}: sha256 {file.sha256}, {file.size:,} bytes, {source}, licence {entry.licence}"
        found.append(Branch(text, file.model_dump() | {"address": source, "licence": entry.licence}))
    return found
