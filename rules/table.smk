# Tables and figures: one rule an experiment, because an experiment's noises decide which files there are.
for EXPERIMENT in PLAN.config.experiments:
    TABLE = f"{REPORTS}/{EXPERIMENT}"

    rule:
        name:
            f"table_{EXPERIMENT}"
        input:
            **PLAN.inputs(TABLE),
            spec=ancient(PLAN.spec_file(TABLE)),
        output:
            table_files(PLAN.grid.tables[TABLE]),
        log:
            f"logs/table/{EXPERIMENT}.log",
        benchmark:
            f"logs/table/{EXPERIMENT}.tsv"
        params:
            stamp=PLAN.stamp(TABLE),
        resources:
            mem_mb=2000,
            runtime=30,
        shell:
            "fedsift table {input.spec} > {log} 2>&1"
