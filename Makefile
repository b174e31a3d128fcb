# Every target creates what it needs in .venv; a second run starts at once.

VENV := .venv
BIN := $(VENV)/bin

# The tests start hundreds of processes, which would all compile every module where Python is told to keep no bytecode.
export PYTHONDONTWRITEBYTECODE :=

.DELETE_ON_ERROR:
.PHONY: help demo test tests test-long check format docs screenshots bench constraints clean

help: ## show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' Makefile

demo: $(VENV)/.runtime ## three hospitals answer one query, live
	@$(BIN)/heptox demo

# Types are checked on one processor while the tests wait for daemons.
test: $(VENV)/.development ## everything: check, and the tests
	@$(MAKE) --jobs 2 --no-print-directory check tests

# tests/conftest.py says what runs in one process, and in which order.
tests: $(VENV)/.development ## the tests alone
	$(BIN)/python -m pytest --quiet -r s --numprocesses 4 --dist loadfile --no-loadscope-reorder

# Properties are tried on new examples, from a seed that is printed; what fails is kept in .hypothesis and tried first.
test-long: $(VENV)/.development ## all tests, with three times the examples, new ones each time, and larger networks
	@seed=$${SEED:-$$(date +%s)}; echo "seed $$seed: repeat with make test-long SEED=$$seed"; \
	HEPTOX_TESTS=long $(BIN)/python -m pytest --quiet -r s --hypothesis-seed=$$seed --numprocesses 4 --dist loadfile --no-loadscope-reorder

check: $(VENV)/.development ## format, lint, types, layers, generated pages
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m tools.reference --check

format: $(VENV)/.development ## format, and mend what can be mended automatically
	$(BIN)/ruff check --quiet --fix .
	$(BIN)/ruff format --quiet .

docs: $(VENV)/.development ## write the generated pages, and what commands print on the others
	$(BIN)/python -m tools.reference
	$(BIN)/python -m tools.console README.md docs/*.md

screenshots: $(VENV)/.development ## make the pictures of the console anew
	HEPTOX_SCREENSHOTS=docs/images $(BIN)/python -m pytest --quiet tests/console/test_screenshots.py

bench: $(VENV)/.development ## measure
	$(BIN)/python -m benchmarks

constraints: $(VENV)/.development ## renew constraints.txt
	tools/constraints $(BIN)/python

clean: ## remove .venv and all caches
	rm -rf $(VENV) tests/foreign/node_modules tools/libraries/node_modules build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

$(VENV)/.runtime: pyproject.toml constraints.txt tools/setup
	@tools/setup $(VENV) .
	@touch $@

$(VENV)/.development: pyproject.toml constraints.txt tools/setup
	@tools/setup $(VENV) '.[cluster,dev]'
	@touch $@ $(VENV)/.runtime
