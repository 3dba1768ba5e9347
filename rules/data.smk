# Raw files, verified, and the arrays made of them. Only `fetch` uses the network, and it runs on the controller.
localrules:
    fetch,


rule fetch:
    input:
        settings=SETTINGS,
    output:
        manifest=f"{DATA}/raw/{{dataset}}/fetched.json",
        record=record_path(f"{DATA}/raw/{{dataset}}"),
    log:
        "logs/fetch/{dataset}.log",
    benchmark:
        "logs/fetch/{dataset}.tsv"
    conda:
        "../envs/fedsift.yaml"
    resources:
        mem_mb=get_memory("fetch"),
        runtime=get_runtime("fetch"),
    params:
        entry=lambda wildcards: PLAN.catalog_stamp(wildcards.dataset),
    shell:
        "fedsift fetch {wildcards.dataset} --settings {input.settings:q} > {log:q} 2>&1"


rule read:
    input:
        manifest=rules.fetch.output.manifest,
        settings=SETTINGS,
    output:
        arrays=f"{DATA}/arrays/{{dataset}}.safetensors",
        record=record_path(f"{DATA}/arrays/{{dataset}}.safetensors"),
    log:
        "logs/read/{dataset}.log",
    benchmark:
        "logs/read/{dataset}.tsv"
    conda:
        "../envs/fedsift.yaml"
    resources:
        mem_mb=get_memory("read"),
        runtime=get_runtime("read"),
    params:
        stamp=lambda wildcards: PLAN.reading_stamp(wildcards.dataset),
    shell:
        "fedsift read {wildcards.dataset} --settings {input.settings:q} > {log:q} 2>&1"
