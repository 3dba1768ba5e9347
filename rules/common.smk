# Helpers of the rules. They only call tested functions of the package.
import subprocess

from snakemake.exceptions import WorkflowError

from fedsift.errors import FedsiftError
from fedsift.results.files import report_files, table_files
from fedsift.workflow import Plan, hold_lock


def is_dry():
    """Whether nothing will be run: dry runs and linting need no lock."""
    try:
        return workflow.dryrun
    except AttributeError:
        return True


try:
    PLAN = Plan.of_files(workflow.config_settings.configfiles, dict(workflow.config_settings.config))
    if workflow.is_main_process:
        PLAN.freeze()
        LOCK = None if is_dry() else hold_lock()
except FedsiftError as error:
    raise WorkflowError(str(error))

RESULTS, REPORTS, DATA = PLAN.results, PLAN.reports, PLAN.config.data.folder
# Flags that cannot change a result stand in the shell commands as globals, because a changed parameter re-runs a rule.
DATA_FLAGS, RUN_FLAGS = PLAN.data_flags(), PLAN.run_flags()


def get_spec(pattern):
    """Input function: the specification of what makes `pattern`. Its clock does not count, its digest is in the stamp."""
    return lambda wildcards: ancient(PLAN.spec_file(pattern.format(**wildcards)))


def get_stamp(pattern):
    """Parameter function: parameters and code of the stage that makes `pattern`; a change of either re-runs it."""
    return lambda wildcards: PLAN.stamp(pattern.format(**wildcards))


def get_inputs(pattern):
    """Input function: every file that the stage that makes `pattern` reads, by name."""
    return lambda wildcards: PLAN.inputs(pattern.format(**wildcards))


def get_train_runtime(wildcards, attempt):
    """Minutes to ask of a scheduler; more on each retry."""
    return 60 * attempt


def get_train_memory(wildcards, attempt):
    """Megabytes to ask of a scheduler; more on each retry."""
    return 4000 * attempt


def report_what_is_there():
    """After a failure: tables that say why cells are missing, and the report."""
    if workflow.is_main_process:
        subprocess.run(["fedsift", "report", "--partial", PLAN.spec_file(PLAN.reports)], check=False)
