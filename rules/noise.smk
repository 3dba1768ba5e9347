# Which samples are noisy, and what became of them.
NOISE = f"{RESULTS}/{{experiment}}/noises/{{noise}}/{{split}}.parquet"


rule noise:
    input:
        unpack(get_inputs(NOISE)),
        spec=get_spec(NOISE),
    output:
        table=NOISE,
        rates=NOISE.replace(".parquet", ".rates.parquet"),
        record=record_path(NOISE),
    log:
        "logs/noise/{experiment}/{noise}/{split}.log",
    benchmark:
        "logs/noise/{experiment}/{noise}/{split}.tsv"
    wildcard_constraints:
        split=r"[^/.]+",
    conda:
        "../envs/fedsift.yaml"
    resources:
        mem_mb=get_memory("noise"),
        runtime=get_runtime("noise"),
    params:
        stamp=get_stamp(NOISE),
    shell:
        "fedsift noise {input.spec:q} > {log:q} 2>&1"
