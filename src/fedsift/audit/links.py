"""Does each record fit what its parameters ask for, the runs' places in the table, the catalog, and the others?"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from fedsift.audit.chain import Node
from fedsift.audit.findings import Finding, Outcome
from fedsift.data import catalog
from fedsift.provenance.jobs import STAGES, inputs_of, outputs_of
from fedsift.provenance.record import Record, record_path
from fedsift.specs import CellSpec, ReportSpec, Spec, TableSpec, TrainSpec

KINDS: Mapping[str, type[Spec]] = {stage: kind for kind, stage in STAGES.items()}
AGAIN = "run its stage again"


def spec_of(record: Record) -> Spec | None:
    """The specification that a record's parameters are; None for `fetch` and `read`, which have none.

    Raises:
        ValidationError: they are none that this fedsift knows.
    """
    kind = KINDS.get(record.stage)
    return kind.model_validate(record.parameters) if kind else None


def fits(node: Node) -> Iterator[Finding]:
    """What a record has read and made, against what its own parameters ask for."""
    try:
        spec = spec_of(node.record)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        yield Finding(
            node.place,
            f"parameters that this fedsift knows, {where}",
            first["msg"],
            "audit with the version that made it",
            Outcome.UNTOLD,
        )
        return
    known = {file.path for file in node.record.inputs} | {*node.record.missing}
    for path in _inputs(spec):
        if path not in known:
            yield Finding(node.place, f"the input {path}, by its own parameters", "no word of it", AGAIN)
    made = {file.path for file in node.record.outputs}
    for path in _outputs(spec):
        if path not in made:
            yield Finding(node.place, f"the output {path}, by its own parameters", "no word of it", AGAIN)


# Of tables and reports, which later versions make more files of and from: what every version has, so that older records
# fit too.


def _inputs(spec: Spec | None) -> list[str]:
    match spec:
        case None | ReportSpec():
            return []
        case TableSpec():
            histories = {f"{phase}/history.csv" for cell in spec.cells for phase in cell.phases}
            return sorted(histories) + [cell.file for cell in spec.contributions]
    return inputs_of(spec)


def _outputs(spec: Spec | None) -> list[str]:
    match spec:
        case None:
            return []
        case TableSpec():
            return [f"{spec.output}/cells.csv", f"{spec.output}/runs.csv"]
    return outputs_of(spec)


def lineages(table: TableSpec, nodes: Mapping[str, Node]) -> Iterator[Finding]:
    """Are a run's phases those of its seed, clients and data, and do they follow each other without a gap?"""
    for cell in table.cells:
        start, parent = 0, None
        for phase in cell.phases:
            node = nodes.get(record_path(phase))
            if node is None:
                break
            try:
                spec = TrainSpec.model_validate(node.record.parameters)
            except ValidationError:
                break
            yield from _phase(table, cell, node.place, spec, start, parent)
            start, parent = spec.stop, spec.phase
        else:
            if cell.phases and start != table.rounds:
                place = record_path(cell.phases[-1])
                yield Finding(place, f"round {table.rounds} as the run's end", str(start), AGAIN)


def _phase(
    table: TableSpec, cell: CellSpec, place: str, spec: TrainSpec, start: int, parent: str | None
) -> Iterator[Finding]:
    wanted = {
        "seed": cell.seed,
        "clients": cell.clients,
        "dataset": table.dataset,
        "model": table.model,
        "rounds": table.rounds,
        "start": start,
        "parent": parent,
    }
    for name, value in wanted.items():
        if (found := getattr(spec, name)) != value:
            yield Finding(place, f"{name} {value}, for the run of {cell.method}", str(found), AGAIN)


def pinned(node: Node) -> Iterator[Finding]:
    """Raw files against the sha256 in the catalog's entry: the one that was used, and the one that is here now."""
    try:
        entry = catalog.DataSet.model_validate_json(json.dumps(node.record.parameters))
    except (ValidationError, ValueError):
        yield Finding(node.place, "a data set's entry as parameters", "something else", "fetch the data set again")
        return
    pins = {file.name: file.sha256 for file in entry.files}
    for file in node.record.outputs:
        wanted = pins.get(Path(file.path).name)
        if wanted is not None and wanted != file.sha256:
            yield Finding(
                file.path, f"sha256 {wanted[:16]}, as pinned", file.sha256[:16], "delete it and fetch the set again"
            )
    now = catalog.load().get(entry.name)
    for one in now.files if now else []:
        if one.name in pins and one.sha256 != pins[one.name]:
            yield Finding(
                f"catalog.yaml, {entry.name}, {one.name}",
                f"sha256 {str(pins[one.name])[:16]}, as in {node.place}",
                str(one.sha256)[:16],
                "restore the catalog, or fetch the set again",
            )


def one_code(nodes: Iterable[Node]) -> Iterator[Finding]:
    """Is all that one stage has made of one kind made by the same code?

    A fingerprint covers exactly the modules that a stage imports for its model and method, so that the results of two
    methods may differ in it and those of two seeds of a method may not.
    """
    first: dict[Sequence[str], Node] = {}
    for node in nodes:
        kind = _kind(node.record)
        if kind is None:
            continue
        other = first.setdefault(kind, node)
        if other.record.code != node.record.code:
            yield Finding(
                node.place,
                f"code {other.record.code[:12]}, as in {other.place}",
                node.record.code[:12],
                "make one of them again, so that the table is of one code",
            )


def _kind(record: Record) -> tuple[str, ...] | None:
    """What a fingerprint depends on besides the code; None of a table, which stands for itself."""
    if record.stage in ("table", "report"):
        return None
    parameters = record.parameters.get("run") if record.stage == "contributions" else record.parameters
    if record.stage not in ("train", "contributions") or not isinstance(parameters, dict):
        return (record.stage,)
    method = parameters.get("method")
    name, file = (method.get("name"), method.get("file")) if isinstance(method, dict) else (None, None)
    return record.stage, str(parameters.get("model")), str(name), str(file)
