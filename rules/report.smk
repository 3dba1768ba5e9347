# The front page.
rule report:
    input:
        **PLAN.inputs(REPORTS),
        spec=ancient(PLAN.spec_file(REPORTS)),
    output:
        page=report(
            report_files(PLAN.grid.report),
            caption="../reports/captions/report.rst",
            category="Report",
        ),
        record=record_path(REPORTS),
    log:
        "logs/report/report.log",
    benchmark:
        "logs/report/report.tsv"
    conda:
        "../envs/fedsift.yaml"
    resources:
        mem_mb=get_memory("report"),
        runtime=get_runtime("report"),
    params:
        stamp=PLAN.stamp(REPORTS),
    shell:
        "fedsift report {input.spec:q} > {log:q} 2>&1"
