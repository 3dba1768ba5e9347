"""The command line: one sub-command a stage, each runnable by hand, and the commands around a whole run.

Imports stay inside the commands, so that `--help` answers at once and only training waits for torch.
"""

import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedsift.errors import FedsiftError

if TYPE_CHECKING:
    from fedsift.config.model import Config, Data
    from fedsift.data.catalog import DataSet

app = typer.Typer(
    help="Reproduce federated-learning papers, from raw data to tables.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
)

RUN, STAGE, DOCS = "Whole runs", "Stages (the rules of the workflow call these)", "Reference"
LABORATORY = "Laboratory"

Scale = Annotated[str, typer.Option(help="Scale: quick, or the name of a file in config/.")]
Overlays = Annotated[list[Path] | None, typer.Option("--config", help="File laid over the scale; may be repeated.")]
SpecFile = Annotated[Path, typer.Argument(help="Specification, as `fedsift plan --write` makes them.")]
SettingsFile = Annotated[
    Path | None, typer.Option("--settings", help="Frozen settings, as `fedsift plan --write` makes them.")
]


def main() -> None:
    """Entry point. Exit codes: 0 done, 1 an error in one sentence, 2 wrong usage, 70 a fault of the program."""
    # BLAS and OpenMP would start a thread per core in every one of the parallel jobs.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    try:
        app()
    except FedsiftError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        sys.exit(1)
    except Exception as error:
        traceback.print_exc()
        print(f"error: a fault in fedsift itself ({type(error).__name__}: {error}); please report it.", file=sys.stderr)
        sys.exit(70)


@app.command(rich_help_panel=RUN)
def run(
    scale: Scale = "quick",
    profile: Annotated[
        str, typer.Option(envvar="FEDSIFT_PROFILE", help="Where to run: a folder in profiles/.")
    ] = "local",
    overlays: Overlays = None,
    arguments: Annotated[list[str] | None, typer.Argument(help="More arguments for snakemake, after --.")] = None,
) -> None:
    """Run everything of a scale, with a progress line, and say where the report is."""
    from fedsift.terminal.run import run as run_scale

    raise typer.Exit(run_scale(scale, profile, overlays or [], arguments or []))


@app.command(rich_help_panel=RUN)
def plan(
    scale: Scale = "quick",
    overlays: Overlays = None,
    phases: Annotated[bool, typer.Option("--phases", help="List every phase.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable.")] = False,
    write: Annotated[bool, typer.Option("--write", help="Write the specification files of the stages.")] = False,
) -> None:
    """What a run consists of: cells, phases, rounds that sharing saves, disk."""
    from fedsift.terminal.plan import show
    from fedsift.workflow import Plan, scale_files

    made = Plan.of_files([*scale_files(scale), *(overlays or [])])
    if write:
        made.freeze()
    show(made, phases, as_json)


@app.command(rich_help_panel=RUN)
def snapshot(
    scale: Scale = "quick",
    partial: Annotated[bool, typer.Option("--partial", help="Even if not all of it is made.")] = False,
) -> None:
    """Version what a run has made: DVC takes the files, Git what names them."""
    from fedsift.versioning.snapshot import snapshot as take_snapshot

    take_snapshot(scale, partial)


@app.command(rich_help_panel=RUN)
def audit(
    cell: Annotated[str | None, typer.Argument(help="Trace this one: experiment/noise/K50/method[/metric/at].")] = None,
    scale: Scale = "quick",
    overlays: Overlays = None,
    root: Annotated[
        Path | None, typer.Option(help="A published part of a run instead of a scale: reports/published/emfedavg.")
    ] = None,
    deep: Annotated[
        bool, typer.Option("--deep", help="Read every file again; compare with sources, lock and configuration.")
    ] = False,
    replay: Annotated[int, typer.Option(min=0, help="Phases, drawn at random, to execute again and compare.")] = 0,
    seed: Annotated[int, typer.Option(help="Of that draw.")] = 0,
    scratch: Annotated[Path | None, typer.Option(help="Where to execute them. Absent: a temporary folder.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the certificate. Absent: the report's; none with --root.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable.")] = False,
) -> None:
    """Does every number follow from the archives? Exit codes: 0 it holds, 1 it is broken, 2 it cannot be told."""
    from fedsift.audit.command import Asked, run

    asked = Asked(scale, overlays or [], root, cell, deep, replay, seed, scratch, out, as_json)
    raise typer.Exit(run(asked))


@app.command(rich_help_panel=RUN)
def crate(
    out: Annotated[Path, typer.Option(help="A .zip file, or a folder that does not exist yet.")],
    scale: Scale = "quick",
    overlays: Overlays = None,
    root: Annotated[
        Path | None, typer.Option(help="A published part of a run instead of a scale: reports/published/emfedavg.")
    ] = None,
    agent: Annotated[str | None, typer.Option(help="Who ran it. Absent: the name that git has.")] = None,
) -> None:
    """Export a report as a Workflow Run RO-Crate: all but data and models, which it names by sha256 and address."""
    from fedsift.crate.command import run

    run(scale, overlays or [], root, agent, out)


@app.command(rich_help_panel=STAGE)
def fetch(
    dataset: Annotated[str, typer.Argument(help="Data set, from the catalog or data.own.")],
    settings: SettingsFile = None,
    overlays: Overlays = None,
    accept_unverified: Annotated[
        bool, typer.Option("--accept-unverified", help="Accept the set although nobody could verify its sha256.")
    ] = False,
) -> None:
    """Download a data set's files, checked against the catalog's sha256."""
    from fedsift.data.fetch import fetch as fetch_files
    from fedsift.data.manifest import write_manifest
    from fedsift.provenance.jobs import fetching
    from fedsift.provenance.recording import recorded

    data = _data(settings, overlays)
    known, folder = _dataset(dataset, data), Path(data.folder)
    accepted = accept_unverified or dataset in data.accept_unverified
    with recorded(fetching(known, folder)):
        write_manifest(known, folder, fetch_files(known, folder, data.mirrors, accepted, print))


@app.command(rich_help_panel=STAGE)
def read(
    dataset: Annotated[str, typer.Argument(help="Data set, from the catalog or data.own.")],
    settings: SettingsFile = None,
    overlays: Overlays = None,
) -> None:
    """Turn a data set's files into arrays."""
    from fedsift.data.packed import write_arrays
    from fedsift.data.read import read as read_arrays
    from fedsift.provenance.jobs import reading
    from fedsift.provenance.recording import recorded

    data = _data(settings, overlays)
    known, folder = _dataset(dataset, data), Path(data.folder)
    output = folder / "arrays" / f"{dataset}.safetensors"
    with recorded(reading(known, folder, output)):
        write_arrays(read_arrays(known, folder), known, output)


@app.command(rich_help_panel=STAGE)
def partition(spec: SpecFile) -> None:
    """Share samples out to clients."""
    from fedsift.data.partition import write_partition
    from fedsift.provenance.jobs import job_of
    from fedsift.provenance.recording import recorded
    from fedsift.specs import PartitionSpec

    wanted = PartitionSpec.read(spec)
    with recorded(job_of(wanted)):
        write_partition(wanted)


@app.command(rich_help_panel=STAGE)
def noise(spec: SpecFile) -> None:
    """Choose the noisy samples."""
    from fedsift.data.noise import write_noise
    from fedsift.provenance.jobs import job_of
    from fedsift.provenance.recording import recorded
    from fedsift.specs import NoiseSpec

    wanted = NoiseSpec.read(spec)
    with recorded(job_of(wanted)):
        write_noise(wanted)


@app.command(rich_help_panel=STAGE)
def train(
    spec: SpecFile,
    settings: SettingsFile = None,
    log: Annotated[str, typer.Option(help="Where this output goes, for the failure note.")] = "",
) -> None:
    """Train one phase, continuing where an interrupted run left off."""
    from fedsift.provenance.jobs import job_of
    from fedsift.provenance.recording import recorded
    from fedsift.provenance.training import watched
    from fedsift.specs import Settings, TrainSpec
    from fedsift.training import failures
    from fedsift.training.run import train as train_phase

    phase = TrainSpec.read(spec)
    how = Settings.read(settings) if settings else Settings()
    job = job_of(phase)
    with (
        failures.noted(phase.phase, log),
        recorded(job) as remarks,
        watched(phase, how.device, remarks),
    ):
        train_phase(phase, job.code, how.device, how.checkpoint_seconds, how.checkpoint_rounds)


@app.command(rich_help_panel=STAGE)
def contributions(spec: SpecFile, settings: SettingsFile = None) -> None:
    """What each participant of a round contributes, and its share of the round's budget."""
    from fedsift.contributions.stage import write_contributions
    from fedsift.provenance.jobs import job_of
    from fedsift.provenance.recording import recorded
    from fedsift.provenance.training import device_name
    from fedsift.specs import ContributionSpec, Settings

    wanted = ContributionSpec.read(spec)
    how = Settings.read(settings) if settings else Settings()
    with recorded(job_of(wanted)) as remarks:
        write_contributions(wanted, how.device)
        remarks.device = device_name(how.device)


@app.command(rich_help_panel=STAGE)
def table(spec: SpecFile) -> None:
    """Tables and figures of one experiment."""
    from fedsift.provenance.jobs import job_of
    from fedsift.provenance.recording import recorded
    from fedsift.results.tables import write_tables
    from fedsift.specs import TableSpec

    wanted = TableSpec.read(spec)
    with recorded(job_of(wanted)):
        write_tables(wanted)


@app.command(rich_help_panel=STAGE)
def report(
    spec: SpecFile,
    partial: Annotated[bool, typer.Option("--partial", help="Make the tables too, from what there is.")] = False,
) -> None:
    """The report of a scale."""
    from fedsift.provenance.jobs import job_of
    from fedsift.provenance.recording import recorded
    from fedsift.results.site import write_report
    from fedsift.results.tables import write_tables
    from fedsift.specs import ReportSpec, TableSpec
    from fedsift.workflow import SPECS

    wanted = ReportSpec.read(spec)
    if partial:
        for made in wanted.tables:
            table_spec = TableSpec.read(SPECS / f"{made}.json")
            with recorded(job_of(table_spec)):
                write_tables(table_spec)
    with recorded(job_of(wanted)):
        write_report(wanted)


@app.command(rich_help_panel=LABORATORY)
def market(
    mechanisms: Annotated[
        list[str], typer.Argument(help="iaofl, ospb, ospm or a Python file; NAME=MECHANISM gives one another name.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for tables and plots.")],
    bids: Annotated[Path | None, typer.Option(help="Bid log, CSV with t, client, b, q. Absent: drawn.")] = None,
    rounds: Annotated[int | None, typer.Option(help="Rounds T. Absent: 512, or those of the log.")] = None,
    budget: Annotated[float | None, typer.Option(help="Total budget B. Absent: half a unit a round.")] = None,
    clients: Annotated[int | None, typer.Option(help="Clients N. Absent: 100, or those of the log.")] = None,
    quality: Annotated[str | None, typer.Option(help="Of drawn clients: uniform (default) or one.")] = None,
    share: Annotated[float | None, typer.Option(help="Share of the clients that bid in a drawn round; 0.3.")] = None,
    w: Annotated[float | None, typer.Option(help="Half width of the noise on that share's rate; 0.5.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="KEY=VALUE for all mechanisms or NAME.KEY=VALUE; repeatable.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of everything that is drawn.")] = 0,
    audit: Annotated[int, typer.Option(min=0, help="Bidders that are tried with other bids; 0: none.")] = 200,
    lie: Annotated[int, typer.Option(min=0, help="Clients that lie over the whole log; slow.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable.")] = False,
) -> None:
    """Run market mechanisms alone, without training, on one bid log: tables, plots, audit."""
    from fedsift.laboratory.command import Wanted, run
    from fedsift.laboratory.logs import source_of

    source = source_of(bids, quality, share, w)
    run(Wanted(mechanisms, settings or [], source, rounds, clients, budget, seed, audit, lie), out, as_json)


@app.command(rich_help_panel=DOCS)
def config(
    scale: Scale = "quick",
    overlays: Overlays = None,
    schema: Annotated[bool, typer.Option("--schema", help="JSON schema of configuration files.")] = False,
    record_schema: Annotated[bool, typer.Option("--record-schema", help="JSON schema of records.")] = False,
    reference: Annotated[bool, typer.Option("--reference", help="Reference page of all keys, as Markdown.")] = False,
    discrepancies: Annotated[bool, typer.Option(help="Where paper and authors' code part, as Markdown.")] = False,
    code_parity: Annotated[bool, typer.Option(help="The scale that follows the authors' code.")] = False,
) -> None:
    """Check a configuration and print it with all defaults; or print what a configuration may hold."""
    from fedsift.config import load
    from fedsift.config.parity import code_parity_text, discrepancies_page
    from fedsift.config.reference import reference_page, schema_text
    from fedsift.workflow import config_files, scale_files

    if schema:
        print(schema_text(), end="")
    elif record_schema:
        from fedsift.provenance.record import schema_text as record_schema_text

        print(record_schema_text(), end="")
    elif reference:
        print(reference_page(), end="")
    elif discrepancies:
        print(discrepancies_page(), end="")
    elif code_parity:
        print(code_parity_text(), end="")
    else:
        loaded: Config = load(config_files([*scale_files(scale), *(overlays or [])]))
        print(loaded.model_dump_json(indent=2))


def _data(settings: Path | None, overlays: list[Path] | None) -> "Data":
    from fedsift.config import load
    from fedsift.specs import Settings
    from fedsift.workflow import config_files

    return Settings.read(settings).data if settings else load(config_files(overlays or [])).data


def _dataset(name: str, data: "Data") -> "DataSet":
    from fedsift.data.catalog import get, own_set

    return own_set(name, data.own[name].npz) if name in data.own else get(name)
