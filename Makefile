# fedsift. `make help` lists what there is.
SCALE ?= quick
PROFILE ?= local
VENV ?= .venv
# One more configuration file, laid over the scale: CONFIG=site.yaml (data.mirrors, device, ...).
CONFIG ?=
OVERLAYS := $(addprefix --config ,$(CONFIG))
# The commands of the environment come first, for snakemake and for the jobs that it starts.
export PATH := $(abspath $(VENV))/bin:$(PATH)
SHELL := /bin/bash
STAMP := $(VENV)/.installed
.DEFAULT_GOAL := help
.PHONY: help setup reproduce plan test test-fast lint format docs lock clean-results

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-15s %s\n", $$1, $$2}'
	@echo "  SCALE=quick|$$(cd config && ls *.yaml | sed 's/.yaml//' | paste -sd'|')   PROFILE=$$(cd profiles && ls | paste -sd'|')   CONFIG=file"

setup: $(STAMP) ## the environment, from the lock

$(STAMP): envs/requirements.lock envs/install.sh pyproject.toml
	@echo "setting up $(VENV) from envs/requirements.lock (some 6 GB; minutes, once)"
	@bash envs/install.sh $(VENV)
	@touch $@

reproduce: $(STAMP) ## run everything of SCALE on PROFILE and say where the report is
	@fedsift run --scale $(SCALE) --profile $(PROFILE) $(OVERLAYS)

plan: $(STAMP) ## what SCALE consists of
	@fedsift plan --scale $(SCALE) $(OVERLAYS)

test: $(STAMP) ## all tests
	pytest

test-fast: $(STAMP) ## the tests that are not marked slow
	pytest -m "not slow"

lint: $(STAMP) ## formatters, linters, type checker, snakemake's linter; changes nothing
	ruff format --check .
	ruff check .
	mypy
	snakefmt --check Snakefile rules
	snakemake --lint

format: $(STAMP) ## apply the formatters
	ruff format .
	ruff check --fix .
	snakefmt Snakefile rules

docs: $(STAMP) ## write the generated pages
	fedsift config --reference > docs/configuration.md
	fedsift config --schema > docs/configuration.schema.json
	fedsift config --record-schema > docs/record.schema.json
	fedsift config --discrepancies > docs/discrepancies.md
	fedsift config --code-parity > config/code-parity.yaml

lock: $(STAMP) ## compile envs/requirements.in into the lock, for every platform, with hashes
	uv pip compile envs/requirements.in --universal --python-version 3.11 --generate-hashes --quiet \
		--custom-compile-command "make lock" --output-file envs/requirements.lock

clean-results: ## remove the results and the report of SCALE; data and the environment stay
	rm -rf results/$(SCALE) reports/$(SCALE) .fedsift/runs/results/$(SCALE) .fedsift/specs/results/$(SCALE)
