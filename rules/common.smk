# Helpers of the rules. They only call tested functions of the package.
import subprocess

from snakemake.exceptions import WorkflowError

from fedsift.errors import FedsiftError
from fedsift.provenance.record import record_path
from fedsift.results.files import report_files, table_files
from fedsift.versioning.sync import sync
from fedsift.workflow import Plan, claim, hold_lock

try:
    PLAN = Plan.of_files(
        workflow.config_settings.configfiles, dict(workflow.config_settings.config)
    )
    # Held until the process ends; None where another run is at work, beside which only dry runs may go on.
    LOCK = claim(PLAN) if workflow.is_main_process else None
    if LOCK:
        sync(PLAN)
except FedsiftError as error:
    raise WorkflowError(str(error))

RESULTS, REPORTS, DATA = PLAN.results, PLAN.reports, PLAN.config.data.folder
# How stages are carried out changes no result: an input whose clock does not count, and no parameter.
SETTINGS = ancient(PLAN.settings_file)

# Megabytes and minutes that a stage asks for at first; each retry asks for more.
MEMORY = {
    "fetch": 1000,
    "read": 4000,
    "partition": 2000,
    "noise": 2000,
    "train": 4000,
    "contributions": 4000,
    "table": 2000,
    "report": 1000,
}
RUNTIME = {
    "fetch": 120,
    "read": 30,
    "partition": 30,
    "noise": 30,
    "train": 60,
    "contributions": 120,
    "table": 30,
    "report": 10,
}


def get_spec(pattern):
    """Input function: the specification of what makes `pattern`. Its clock does not count, its digest is in the stamp."""
    return lambda wildcards: ancient(PLAN.spec_file(pattern.format(**wildcards)))


def get_stamp(pattern):
    """Parameter function: parameters and code of the stage that makes `pattern`; a change of either re-runs it."""
    return lambda wildcards: PLAN.stamp(pattern.format(**wildcards))


def get_inputs(pattern):
    """Input function: every file that the stage that makes `pattern` reads, by name."""
    return lambda wildcards: PLAN.inputs(pattern.format(**wildcards))


def get_records():
    """Every record of a run. No rule reads them, so Snakemake misses one only where it is asked for all."""
    sets = sorted(PLAN.grid.datasets)
    made = [f"{DATA}/raw/{name}" for name in sets]
    made += [f"{DATA}/arrays/{name}.safetensors" for name in sets]
    return [record_path(one) for one in [*made, *PLAN.specs]]


def get_memory(stage):
    """Resource function: megabytes to ask of a scheduler."""
    return lambda wildcards, attempt: MEMORY[stage] * attempt


def get_runtime(stage):
    """Resource function: minutes to ask of a scheduler."""
    return lambda wildcards, attempt: RUNTIME[stage] * attempt


def get_table_outputs(table):
    """The files of an experiment, the ones that readers and other tools look for by name."""
    files = table_files(PLAN.grid.tables[table])
    named = {
        name: file
        for file in files
        for name in ["cells", "runs"]
        if file == f"{table}/{name}.csv"
    }
    others = [file for file in files if file not in named.values()]
    return {**named, "others": others, "record": record_path(table)}


def refuse_a_second_run():
    """Before the first job: only one controller may work in a folder."""
    global LOCK
    if workflow.is_main_process and LOCK is None:
        try:
            # The other run may have ended since: then the lock is ours, and has to be kept.
            LOCK = hold_lock()
        except FedsiftError as error:
            raise WorkflowError(str(error))


def report_what_is_there():
    """After a failure: tables that say why cells are missing, and the report."""
    if workflow.is_main_process:
        subprocess.run(
            ["fedsift", "report", "--partial", PLAN.spec_file(PLAN.reports)],
            check=False,
        )
