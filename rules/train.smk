# One phase of training: rounds start to stop of one method, from the checkpoint of the phase before it.
PHASE = f"{RESULTS}/{{phase}}"


rule train:
    input:
        unpack(get_inputs(PHASE)),
        spec=get_spec(PHASE),
    output:
        checkpoint=f"{PHASE}/checkpoint.safetensors",
        history=f"{PHASE}/history.csv",
    log:
        "logs/train/{phase}.log",
    benchmark:
        "logs/train/{phase}.tsv"
    params:
        stamp=get_stamp(PHASE),
    threads: 1
    resources:
        mem_mb=get_train_memory,
        runtime=get_train_runtime,
    shell:
        "fedsift train {input.spec} {RUN_FLAGS} --log {log} > {log} 2>&1"
