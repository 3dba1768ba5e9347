# Which samples are noisy, and what became of them.
NOISE = f"{RESULTS}/{{experiment}}/noises/{{noise}}/{{split}}.parquet"


rule noise:
    input:
        unpack(get_inputs(NOISE)),
        spec=get_spec(NOISE),
    output:
        table=NOISE,
        rates=NOISE.replace(".parquet", ".rates.parquet"),
    log:
        "logs/noise/{experiment}/{noise}/{split}.log",
    benchmark:
        "logs/noise/{experiment}/{noise}/{split}.tsv"
    wildcard_constraints:
        split=r"[^/.]+",
    params:
        stamp=get_stamp(NOISE),
    resources:
        mem_mb=2000,
        runtime=30,
    shell:
        "fedsift noise {input.spec} > {log} 2>&1"
