# What the participants of one round contribute, from the checkpoint before it.
CONTRIBUTIONS = f"{RESULTS}/{{experiment}}/contributions/{{round}}.csv"


rule contributions:
    input:
        unpack(get_inputs(CONTRIBUTIONS)),
        spec=get_spec(CONTRIBUTIONS),
        settings=SETTINGS,
    output:
        table=CONTRIBUTIONS,
        record=record_path(CONTRIBUTIONS),
    log:
        "logs/contributions/{experiment}/{round}.log",
    benchmark:
        "logs/contributions/{experiment}/{round}.tsv"
    wildcard_constraints:
        experiment="[^/]+",
    conda:
        "../envs/fedsift.yaml"
    threads: 1
    resources:
        mem_mb=get_memory("contributions"),
        runtime=get_runtime("contributions"),
    params:
        stamp=get_stamp(CONTRIBUTIONS),
    shell:
        "fedsift contributions {input.spec:q} --settings {input.settings:q} > {log:q} 2>&1"
