"""The content of a crate of a published part of a run: a folder with tables by experiment, `results/` and `data/`."""

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from pydantic import ValidationError

from fedsift.crate.content import Content, fits, is_note
from fedsift.crate.workflow_files import add_workflow
from fedsift.data import catalog
from fedsift.data.catalog import DataSet
from fedsift.errors import FedsiftError
from fedsift.provenance.record import Record, record_path
from fedsift.specs import TableSpec
from fedsift.workflow import config_files, scale_files


def published(root: Path) -> Content:
    """The content of the crate of the folder ``root``; every file gets the place at which the run made it.

    Raises:
        FedsiftError: there are no tables, or a file is not what its record describes.
    """
    moved = {path.parent: _tables(path) for path in sorted(root.glob("*/record.json"))}
    if not moved:
        raise FedsiftError(f"{root}: no folder in it holds tables with a record.json; give the folder around them.")
    specs = list(moved.values())
    if len({spec.output for spec in specs}) != len(specs):
        raise FedsiftError(f"{root}: two folders in it hold the tables of one experiment; remove one of them.")
    report = str(PurePosixPath(specs[0].output).parent)
    content = Content(specs[0].scale, report, tables={spec.output: spec for spec in specs})
    add_workflow(content, config_files(scale_files(content.scale)))
    for path in sorted(root.rglob("*")):
        place = _place(path, root, moved, report)
        if not path.is_file() or not fits(place, path.stat().st_size):
            continue
        if place.startswith("data/") and not is_note(place):
            continue
        if path.name.endswith("record.json"):
            _refuse_elsewhere(path, place, content.add_record(place, path, root))
        else:
            content.add(place, path, root)
    content.sets = _sets(content)
    return content


def _tables(path: Path) -> TableSpec:
    record = Record.read(path)
    try:
        spec = TableSpec.model_validate(record.parameters)
    except ValidationError as error:
        raise FedsiftError(f"{path}: not the record of tables ({error.errors()[0]['msg']}); get it again.") from None
    output = PurePosixPath(spec.output)
    if record.stage != "table" or output.is_absolute() or ".." in output.parts or len(output.parts) < 3:
        raise FedsiftError(f"{path}: it is not of tables in reports/<scale>/<experiment>; get the folder again.")
    return spec


def _place(path: Path, root: Path, moved: Mapping[Path, TableSpec], report: str) -> str:
    """Where the run had a file."""
    for folder, spec in moved.items():
        if path.is_relative_to(folder):
            return (PurePosixPath(spec.output) / path.relative_to(folder)).as_posix()
    inside = path.relative_to(root)
    return inside.as_posix() if len(inside.parts) > 1 else (PurePosixPath(report) / inside).as_posix()


def _refuse_elsewhere(path: Path, place: str, record: Record) -> None:
    """A record speaks of the files beside it; one that lies elsewhere would vouch for files that it did not make."""
    outputs = [file.path for file in record.outputs]
    homes = {record_path(one) for one in outputs} | {f"{PurePosixPath(one).parent}/record.json" for one in outputs}
    if place not in homes:
        raise FedsiftError(f"{path}: it describes files of another folder; put it back beside them.")


def _sets(content: Content) -> dict[str, DataSet]:
    """The data sets: from the catalog, or as the record of their fetch has them."""
    names = {name for spec in content.tables.values() for name in (spec.dataset, *spec.sources)}
    noted = {record.parameters.get("name"): record for record in content.records.values() if record.stage == "fetch"}
    found = {}
    for name in sorted(names | {str(name) for name in noted}):
        if name in catalog.load():
            found[name] = catalog.load()[name]
        elif name in noted:
            try:
                found[name] = DataSet.model_validate(noted[name].parameters)
            except ValidationError as error:
                message = error.errors()[0]["msg"]
                raise FedsiftError(f"the record of `fedsift fetch {name}`: {message}; get the folder again.") from None
    return found
