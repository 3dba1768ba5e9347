# fedsift: three federated-learning papers, from raw data to tables. The logic is in src/fedsift; rules only wire it up.
from snakemake.utils import min_version

min_version("9.27")


configfile: "config.yaml"


include: "rules/common.smk"
include: "rules/data.smk"
include: "rules/partition.smk"
include: "rules/noise.smk"
include: "rules/train.smk"
include: "rules/contributions.smk"
include: "rules/table.smk"
include: "rules/report.smk"


rule all:
    default_target: True
    input:
        report_files(PLAN.grid.report),
        get_records(),


onstart:
    refuse_a_second_run()


onerror:
    report_what_is_there()
