"""Which code each stage runs."""

from collections.abc import Mapping
from pathlib import Path

from fedsift.methods import registry
from fedsift.models import MODELS
from fedsift.provenance.fingerprint import fingerprint
from fedsift.specs import NoiseSpec, PartitionSpec, ReportSpec, Spec, TableSpec, TrainSpec

ENTRY: Mapping[type[Spec], str] = {
    PartitionSpec: "fedsift.data.partition",
    NoiseSpec: "fedsift.data.noise",
    TrainSpec: "fedsift.training.run",
    TableSpec: "fedsift.results.tables",
    ReportSpec: "fedsift.results.site",
}


def code_of(spec: Spec) -> str:
    """Fingerprint of the code that the stage of ``spec`` runs: its entry module, and for training the model and method."""
    modules, files = [ENTRY[type(spec)]], []
    if isinstance(spec, TrainSpec):
        modules.append(MODELS[spec.model].module)
        if spec.method.file:
            files.append(Path(spec.method.file))
        else:
            modules.append(registry.module_name(registry.find(spec.method.name)))
    return fingerprint(modules, files)


def code_of_reading() -> str:
    """Fingerprint of the code that turns downloaded files into arrays."""
    return fingerprint(["fedsift.data.read"])
