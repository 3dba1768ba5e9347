# One phase of training: rounds start to stop of one method, from the checkpoint of the phase before it.
PHASE = f"{RESULTS}/{{phase}}"


rule train:
    input:
        unpack(get_inputs(PHASE)),
        spec=get_spec(PHASE),
        settings=SETTINGS,
    output:
        checkpoint=f"{PHASE}/checkpoint.safetensors",
        history=f"{PHASE}/history.csv",
        record=record_path(PHASE),
    log:
        "logs/train/{phase}.log",
    benchmark:
        "logs/train/{phase}.tsv"
    conda:
        "../envs/fedsift.yaml"
    threads: 1
    resources:
        mem_mb=get_memory("train"),
        runtime=get_runtime("train"),
    params:
        stamp=get_stamp(PHASE),
    shell:
        "fedsift train {input.spec:q} --settings {input.settings:q} --log {log:q} > {log:q} 2>&1"
