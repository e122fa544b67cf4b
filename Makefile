# One door to everything. `make help` lists what there is.
.DEFAULT_GOAL := help
.PHONY: help setup up demo test test-fast test-full fuzz check format words bench screens clean

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PYTHON ?= $(shell command -v python3.11 || command -v python3)
CHROMIUM := $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)
SOURCES := worker tasks storage review_ui read_api worlds client tests benchmarks docs

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  \033[1m%-10s\033[0m %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP)  ## Make the environment; done again only when a pyproject.toml changed

$(STAMP): pyproject.toml client/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; found $$($(PYTHON) --version). Name one with: make PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV) (about half a minute, once) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ./client -e '.[dev]'
	@touch $@

up: setup  ## Start the local stack: review page, agents' side, worker, beat, relay
	@exec $(BIN)/slowwave up

demo: setup  ## The same with world episodes and one finished night, ready for review
	@exec $(BIN)/slowwave demo

test: setup  ## Unit, integration, fault, functional and browser tests, on SQLite and PostgreSQL
ifeq ($(CHROMIUM),)
	@printf '\n\033[1;33m%s\033[0m\n\n' 'Chromium is not installed: the browser tests will be SKIPPED (Debian: apt-get install chromium).'
endif
	@# What starts processes comes after the rest, a file at a time on each core: it is held to seconds.
	@$(BIN)/python -m pytest -n 2 --dist worksteal -q -m 'not processes and not browser'
	@$(BIN)/python -m pytest -n 2 --dist loadfile -q -m 'processes or browser'

test-full: setup  ## The same with every test on both databases, all races, and what takes long (half an hour)
	@SLOWWAVE_FULL=1 $(MAKE) --no-print-directory test

test-fast: setup  ## Unit tests only: seconds
	@$(BIN)/python -m pytest tests/unit

fuzz: setup  ## Fuzz every importer for SECONDS each (default 30), from SEED (default 1)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[fuzz]'
	@PYTHONPATH=tests $(BIN)/python tests/fuzz/importers.py --seconds $(or $(SECONDS),30) --seed $(or $(SEED),1)

check: setup  ## Format, lint, types, import contracts, migrations against models, file lengths
	@$(BIN)/ruff format --check $(SOURCES)
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal --no-header tests/unit/house tests/integration/storage/test_migrations.py

format: setup  ## Put format and import order right
	@$(BIN)/ruff check --fix $(SOURCES)
	@$(BIN)/ruff format $(SOURCES)

words: setup  ## Renew the catalogues of the pages' words; says what is left to translate
	@$(BIN)/python -m review_ui.locale.renew

bench: setup  ## Measure on this machine: ingest, nights, whether findings are true, pages, readers (over an hour)
	@$(BIN)/python benchmarks/ingest.py
	@$(BIN)/python benchmarks/night.py
	@$(BIN)/python benchmarks/findings.py
	@$(BIN)/python benchmarks/clusters.py
	@$(BIN)/python benchmarks/null.py --streams 200 --nights 90
	@$(BIN)/python benchmarks/drafts.py
	@$(BIN)/python benchmarks/pages.py
	@$(BIN)/python benchmarks/revocation.py
	@$(BIN)/python benchmarks/client.py
	@$(BIN)/python benchmarks/search.py

screens: setup  ## Take the pictures of README and guides anew, from the demo in Chromium
	@$(BIN)/python docs/make_screens.py

clean:  ## Remove the environment, caches and build output; the home folder .slowwave stays
	rm -rf $(VENV) build dist *.egg-info client/build client/dist client/src/*.egg-info
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
