# `make run` and `make test` set up everything they need: Python 3.11+ and make are enough.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: run test nightly check bench lock clean help

help: ## show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

run: $(READY) ## start Feedweir with its sample feeds; Ctrl-C stops it, `make run` again continues
	$(BIN)/feedweir run --sample

test: $(READY) ## run the tests
	$(BIN)/python -m feedweir.keeper.warm_up
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

nightly: $(READY) ## run the long checks too
	$(BIN)/python -m feedweir.keeper.warm_up
	HYPOTHESIS_PROFILE=deep $(BIN)/python -m pytest -m "nightly or not nightly" --timeout 7200 \
		--numprocesses 2 --dist loadfile

check: $(READY) ## lint, formatting, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY) ## run every benchmark's short form
	for name in $$($(BIN)/python -m benchmarks --list); do $(BIN)/python -m benchmarks $$name --json || exit 1; done

lock: $(READY) ## pin the newest versions that pyproject.toml allows
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --universal --python-version 3.11 --extra dev --upgrade --no-header --quiet \
		pyproject.toml -o requirements.lock

clean: ## remove the environment and the sample's data
	rm -rf $(VENV) data

$(READY): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Feedweir needs Python 3.11 or newer, found none"; exit 1; }
	@echo "Setting up the environment in $(VENV) (once; a few minutes) ..."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	$(BIN)/python -m feedweir.keeper.warm_up
	$(BIN)/python -m feedweir.spark.archive
	@touch $@
