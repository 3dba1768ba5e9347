# Which client holds which sample.
PARTITION = f"{RESULTS}/{{experiment}}/partitions/{{split}}.parquet"


rule partition:
    input:
        unpack(get_inputs(PARTITION)),
        spec=get_spec(PARTITION),
    output:
        table=PARTITION,
        record=record_path(PARTITION),
    log:
        "logs/partition/{experiment}/{split}.log",
    benchmark:
        "logs/partition/{experiment}/{split}.tsv"
    conda:
        "../envs/fedsift.yaml"
    resources:
        mem_mb=get_memory("partition"),
        runtime=get_runtime("partition"),
    params:
        stamp=get_stamp(PARTITION),
    shell:
        "fedsift partition {input.spec:q} > {log:q} 2>&1"
