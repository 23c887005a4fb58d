PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SAMPLE := sample_traces/geglu_eager.json.gz
INSTALL := $(BIN)/python -m pip install -qq -c constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo install test test-all check lint types bench pictures readme clean tmux

help:  ## list what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/installed  ## open a sample trace in the explorer
	@$(BIN)/ptx explore $(SAMPLE)

install: $(VENV)/installed-dev  ## set up .venv for development

test: $(VENV)/installed-test  ## run the tests that need no torch
	$(BIN)/python -m pytest

test-all: $(VENV)/installed-torch tmux lint types  ## run every check and every test, as CI does
	$(BIN)/python -m pytest --network

check: lint types test  ## run the checks before a commit

lint: $(VENV)/installed-dev  ## check style and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/installed-dev  ## check types
	$(BIN)/mypy

bench: $(VENV)/installed-test  ## run the benchmarks against their budgets
	@set -e; for file in tests/benchmarks/bench_*.py; do \
	  $(BIN)/python -m "tests.benchmarks.$$(basename "$$file" .py)"; \
	done

pictures: $(VENV)/installed-test  ## make the pictures of the README from the program
	$(BIN)/python scripts/screenshots.py

readme: $(VENV)/installed-test  ## write the tables of the README and of docs/
	$(BIN)/python scripts/readme.py
	$(BIN)/python scripts/robustness.py

clean:  ## remove .venv and all that was built
	rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

tmux:
	@command -v tmux >/dev/null || { \
	  [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	    || { echo "make test-all needs tmux: install it with the system's packages" >&2; exit 1; }; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y tmux >/dev/null; \
	}

# Each file below .venv records that a step was done; it is done again when its inputs change.

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
	  || { echo "ptx needs Python 3.10 or newer: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)

# Dependency groups need pip 25.1.
$(VENV)/pip-is-new: | $(BIN)/python
	@$(BIN)/python -m pip install -qq --upgrade 'pip>=25.1'
	@touch $@

$(VENV)/installed: pyproject.toml constraints.txt | $(VENV)/pip-is-new
	@$(INSTALL) -e .
	@touch $@

$(VENV)/installed-test: pyproject.toml constraints.txt | $(VENV)/pip-is-new
	@$(INSTALL) -e . --group test
	@touch $(VENV)/installed $@

$(VENV)/installed-dev: pyproject.toml constraints.txt | $(VENV)/pip-is-new
	@$(INSTALL) -e . --group dev
	@touch $(VENV)/installed $(VENV)/installed-test $@

# constraints.txt says which torch, and why.
$(VENV)/installed-torch: $(VENV)/installed-dev
	@$(INSTALL) torch
	@touch $@
