# Everything that is done with this checkout. A fresh machine needs python3 (3.11 or newer), make and git;
# `make test-real`, `make cluster` and `make oracle` also need Go, and test-real needs npm and openssl.

VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help demo test test-real lint format types layers generate drift cluster oracle bench bench-webhook bench-engines mutate image clean

help: ## what can be made
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "gpuvet needs Python 3.11 or newer; say which with make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "python3 cannot make virtual environments; on Debian and Ubuntu install python3-venv" >&2; exit 1; }

# Editable installs: what is in the checkout is what runs. The stamps are renewed when the dependencies may have changed.
$(VENV)/installed: pyproject.toml | $(BIN)/python
	@echo "installing gpuvet into $(VENV)"
	@$(PIP) install --editable .
	@touch $@

# One extra and not a dependency group: pip 23.2, which Python 3.11 brings along, cannot read groups.
$(VENV)/dev: pyproject.toml | $(BIN)/python
	@echo "installing gpuvet and what its tests need into $(VENV)"
	@$(PIP) install --editable '.[dev]'
	@touch $@ $(VENV)/installed

demo: $(VENV)/installed ## set up, then check examples/, good and broken ones
	@echo '$$ gpuvet check examples/'
	@status=0; $(BIN)/gpuvet check examples/ || status=$$?; \
	if [ $$status -ne 1 ]; then echo "demo: expected exit code 1, since some examples are broken on purpose, but got $$status" >&2; exit 1; fi; \
	echo; echo '$$ gpuvet policy test examples/policy-test/gpuvet-suite.yaml'; $(BIN)/gpuvet policy test examples/policy-test/gpuvet-suite.yaml || exit 1; \
	echo; echo "Exit code 1 of the check: some of the examples are broken on purpose, and these are the lines. Try: $(BIN)/gpuvet explain RULE"

test: $(VENV)/dev ## the tests that need nothing else
	@$(BIN)/python -m pytest

cluster: $(VENV)/dev ## build etcd, kubectl and the servers of Kubernetes once, into the cache folder
	@command -v go >/dev/null || { echo "cluster builds real components and needs Go (https://go.dev/dl)" >&2; exit 1; }
	@$(BIN)/python tests/cluster/build.py

test-real: $(VENV)/dev ## the tests that need Go-built components, npm, the network or minutes
	@command -v go >/dev/null || { echo "test-real builds real components and needs Go (https://go.dev/dl)" >&2; exit 1; }
	@$(BIN)/python -m pytest -m real

lint: $(VENV)/dev ## ruff: rules and format
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

format: $(VENV)/dev ## ruff: mend what can be mended
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

types: $(VENV)/dev ## mypy --strict
	@$(BIN)/mypy

layers: $(VENV)/dev ## import-linter: each floor imports only floors below it
	@$(BIN)/lint-imports --no-cache --no-logo

generate: $(VENV)/dev ## write everything that is generated: compiled rules, schemas, rule pages
	@$(BIN)/gpuvet generate

drift: $(VENV)/dev ## fail when something generated is not what its source says
	@$(BIN)/gpuvet generate --check

oracle: $(VENV)/dev ## ask sigs.k8s.io/yaml again what it makes of our YAML cases
	@command -v go >/dev/null || { echo "oracle builds a small program and needs Go (https://go.dev/dl)" >&2; exit 1; }
	@$(BIN)/python tests/real/oracle/make_table.py

bench: $(VENV)/dev ## measure, and write docs/performance.md
	@$(BIN)/python tests/bench/run.py

bench-engines: $(VENV)/dev ## measure the engines, and write their section of docs/performance.md; needs Go
	@$(BIN)/python tests/bench/engines/run.py

mutate: $(VENV)/dev ## put small faults into the printers and see that the differential tests notice; writes docs/parity.md
	@command -v go >/dev/null || { echo "mutate builds OPA and an evaluator of policies and needs Go (https://go.dev/dl)" >&2; exit 1; }
	@$(BIN)/python tests/differential/mutate.py --write

bench-webhook: $(VENV)/dev ## measure the webhook, and write its section of docs/performance.md; needs Go and h2load
	@$(BIN)/python tests/bench/webhook/run.py

image: $(VENV)/dev ## build deploy/Dockerfile and run the webhook in it; needs root, buildah and mmdebstrap
	@$(BIN)/python tests/real/image/run.py

clean: ## remove what was built, not the virtual environment
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
