# `make run` and `make test` set up everything they need, the first no more than running takes: Python 3.11+ and make
# are enough.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
READY_TO_TEST := $(VENV)/.ready-to-test

LOCK := $(BIN)/uv pip compile --universal --python-version 3.11 --group install --no-header --quiet pyproject.toml

.PHONY: run test nightly check bench lock clean help

help: ## show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

run: $(READY) ## start Feedweir with its sample feeds; Ctrl-C stops it, `make run` again continues
	$(BIN)/feedweir run --sample

test: $(READY_TO_TEST) ## run the tests
	$(BIN)/python -m feedweir.kernels.warm_up
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

nightly: $(READY_TO_TEST) ## run the long checks too
	$(BIN)/python -m feedweir.kernels.warm_up
	HYPOTHESIS_PROFILE=deep $(BIN)/python -m pytest -m "nightly or not nightly" --timeout 7200 \
		--numprocesses 2 --dist loadfile

check: $(READY_TO_TEST) ## lint, formatting, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY_TO_TEST) ## run every benchmark's short form
	for name in $$($(BIN)/python -m benchmarks --list); do $(BIN)/python -m benchmarks $$name --json || exit 1; done

# Versions that are in the file already are kept: what is run is what was tested.
lock: $(READY_TO_TEST) ## pin the newest versions that pyproject.toml allows
	$(BIN)/python -m pip install --quiet uv
	$(LOCK) --extra dev --upgrade -o requirements-dev.lock
	cp requirements-dev.lock requirements.lock
	$(LOCK) -o requirements.lock

clean: ## remove the environment and the sample's data
	rm -rf $(VENV) data

$(READY): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Feedweir needs Python 3.11 or newer, found none"; exit 1; }
	@echo "Setting up the environment in $(VENV), once; that takes a few minutes."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python .ci/install.py requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@$(BIN)/python -m feedweir.kernels.warm_up
	@$(BIN)/python -m feedweir.spark.class_archive
	@touch $@

$(READY_TO_TEST): $(READY) requirements-dev.lock
	@echo "Adding what tests and checks need ..."
	@$(BIN)/python .ci/install.py requirements-dev.lock
	@touch $@
