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
            **get_table_outputs(TABLE),
        log:
            f"logs/table/{EXPERIMENT}.log",
        benchmark:
            f"logs/table/{EXPERIMENT}.tsv"
        conda:
            "../envs/fedsift.yaml"
        resources:
            mem_mb=get_memory("table"),
            runtime=get_runtime("table"),
        params:
            stamp=PLAN.stamp(TABLE),
        shell:
            "fedsift table {input.spec:q} > {log:q} 2>&1"
