# Every target creates what it needs in .venv; a second run starts at once.

VENV := .venv
BIN := $(VENV)/bin

RUN_TESTS = echo "seed $$seed: repeat with make $@ SEED=$$seed"; \
	$(BIN)/python -m pytest --quiet -r s --hypothesis-seed=$$seed --numprocesses 4 --dist loadfile --no-loadscope-reorder

# The tests start hundreds of processes, which would all compile every module where Python is told to keep no bytecode.
export PYTHONDONTWRITEBYTECODE :=

.DELETE_ON_ERROR:
.PHONY: help demo test tests test-long check format docs screenshots bench constraints clean

help: ## show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' Makefile

demo: $(VENV)/.runtime ## three hospitals answer one query, live
	@$(BIN)/heptox demo

# Types are checked on one processor while the tests wait for daemons.
test: $(VENV)/.development ## check, and the tests: of those that take long, a sixth
	@$(MAKE) --jobs 2 --no-print-directory check tests

# Properties are tried on other examples for each commit, and on the same ones whenever that is tested again; what fails
# is kept in .hypothesis and tried first. tests/conftest.py says what runs in one process, and in which order, and which
# files take so long that each commit has a sixth of them, in turn: those left out are counted as deselected.
tests: $(VENV)/.development ## the tests alone
	@commit=$$(git rev-parse --short=7 HEAD 2>/dev/null || echo 0); seed=$${SEED:-$$((0x$$commit))}; \
	export HEPTOX_TESTS_TURN=$$seed; $(RUN_TESTS)

test-long: $(VENV)/.development ## all tests, with eight times the examples, new ones each time, and larger networks
	@export HEPTOX_TESTS=long; seed=$${SEED:-$$(date +%s)}; $(RUN_TESTS)

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
