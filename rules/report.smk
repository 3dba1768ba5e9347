# The front page.
rule report:
    input:
        **PLAN.inputs(REPORTS),
        spec=ancient(PLAN.spec_file(REPORTS)),
    output:
        report(report_files(PLAN.grid.report), caption="../reports/captions/report.rst", category="Report"),
    log:
        "logs/report/report.log",
    params:
        stamp=PLAN.stamp(REPORTS),
    resources:
        mem_mb=2000,
        runtime=30,
    shell:
        "fedsift report {input.spec} > {log} 2>&1"
