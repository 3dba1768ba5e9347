"""Which code each stage runs."""

from collections.abc import Mapping
from pathlib import Path

from fedsift.methods import registry
from fedsift.models import module_name as model_module
from fedsift.provenance.fingerprint import ROOT, fingerprint
from fedsift.specs import ContributionSpec, NoiseSpec, PartitionSpec, ReportSpec, Spec, TableSpec, TrainSpec

ENTRY: Mapping[type[Spec], str] = {
    PartitionSpec: "fedsift.data.partition",
    NoiseSpec: "fedsift.data.noise",
    TrainSpec: "fedsift.training.run",
    ContributionSpec: "fedsift.contributions.stage",
    TableSpec: "fedsift.results.tables",
    ReportSpec: "fedsift.results.site",
}

TEMPLATES = ROOT / "results" / "templates"
OF_NO_STAGE = ("audit.html",)
"""Templates of commands, whose pages no stage makes."""
CATALOG = ROOT / "data" / "catalog.yaml"


def code_of(spec: Spec) -> str:
    """Fingerprint of the code that the stage of ``spec`` runs."""
    return fingerprint(*parts_of(spec))


def parts_of(spec: Spec) -> tuple[list[str], list[Path]]:
    """Modules and files that the stage of ``spec`` begins with: its entry, and for training the model and method.

    Pages are also made by their templates, and the report by what the catalog says of licences and citations.
    """
    modules: list[str] = [ENTRY[type(spec)]]
    files: list[Path] = []
    if isinstance(spec, TableSpec | ReportSpec):
        files += sorted(path for path in TEMPLATES.iterdir() if path.name not in OF_NO_STAGE)
    if isinstance(spec, ReportSpec):
        files.append(CATALOG)
    if isinstance(spec, TrainSpec | ContributionSpec):
        run = spec if isinstance(spec, TrainSpec) else spec.run
        modules.append(model_module(run.model))
        if run.method.file:
            files.append(Path(run.method.file))
        else:
            modules.append(registry.module_name(registry.find(run.method.name)))
    return modules, files


READING = ("fedsift.data.read",)
FETCHING = ("fedsift.data.fetch", "fedsift.data.manifest")


def code_of_reading() -> str:
    """Fingerprint of the code that turns downloaded files into arrays."""
    return fingerprint(READING)


def code_of_fetching() -> str:
    """Fingerprint of the code that brings raw files here and verifies them."""
    return fingerprint(FETCHING)
