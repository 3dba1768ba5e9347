# Which client holds which sample.
PARTITION = f"{RESULTS}/{{experiment}}/partitions/{{split}}.parquet"


rule partition:
    input:
        unpack(get_inputs(PARTITION)),
        spec=get_spec(PARTITION),
    output:
        table=PARTITION,
    log:
        "logs/partition/{experiment}/{split}.log",
    benchmark:
        "logs/partition/{experiment}/{split}.tsv"
    params:
        stamp=get_stamp(PARTITION),
    resources:
        mem_mb=2000,
        runtime=30,
    shell:
        "fedsift partition {input.spec} > {log} 2>&1"
