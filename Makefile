# Each target sets up what it needs: `make run` and `make test` work on a fresh clone with Python 3.11 or newer.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Small tensors on many threads wait more than they work: one thread each, and as many processes as there are cores.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist worksteal

.PHONY: help run results docs test bench check fast fmt lint types clean

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

run: $(READY) ## the paper's main comparison on Cora, ten trials a cell, and a page to look at; a few minutes
	$(BIN)/hypergnn reproduce

results: $(READY) ## every table of the paper, a hundred trials a cell, kept in results/; hours, resumed by the same command
	$(BIN)/hypergnn reproduce --all --keep results
	$(MAKE) docs

docs: $(READY) ## write docs/results.md and the README's table from results/, then build the documentation, strictly, to site/
	$(BIN)/python -m hypergnn.experiments results docs/results.md README.md
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

test: $(READY) ## everything that CI runs: tests, doctests, mutants, style and types; about 15 minutes
	$(PYTEST) -m "not timing"
	$(BIN)/python -m pytest tests -m timing

bench: $(READY) ## speed and memory against PyG, DHG and torch.sparse, and docs/performance.md: about 15 minutes, idle
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.report

check: lint types ## format, lint, types, then all the tests
	$(PYTEST) -m "not style and not timing"
	$(BIN)/python -m pytest tests -m timing

fast: $(READY) ## the tests that take seconds
	$(PYTEST) -m "not slow and not style and not timing"

fmt: $(READY) ## format the code and mend what lint can mend
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format .

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/mypy

clean: ## remove the virtual environment and all caches
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis src/hypergnn/kernels/cpu/__pycache__

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c "import sys; assert sys.version_info >= (3, 11), 'hypergnn needs Python 3.11 or newer'"
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]"
	touch $@
