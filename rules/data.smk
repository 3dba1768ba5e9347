# Raw files, verified, and the arrays made of them. Only `fetch` uses the network, and it runs on the controller.
localrules:
    fetch,


rule fetch:
    output:
        manifest=f"{DATA}/raw/{{dataset}}/fetched.json",
    log:
        "logs/fetch/{dataset}.log",
    params:
        entry=lambda wildcards: PLAN.catalog_stamp(wildcards.dataset),
    shell:
        "fedsift fetch {wildcards.dataset} {DATA_FLAGS} > {log} 2>&1"


rule read:
    input:
        manifest=rules.fetch.output.manifest,
    output:
        arrays=f"{DATA}/arrays/{{dataset}}.safetensors",
    log:
        "logs/read/{dataset}.log",
    benchmark:
        "logs/read/{dataset}.tsv"
    params:
        stamp=lambda wildcards: PLAN.reading_stamp(wildcards.dataset),
    resources:
        mem_mb=4000,
        runtime=30,
    shell:
        "fedsift read {wildcards.dataset} {DATA_FLAGS} > {log} 2>&1"
