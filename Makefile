# Each command sets up .venv by itself and does nothing twice.
.DEFAULT_GOAL := help
.PHONY: help demo web web-shots test simulation fuzz concurrency sbom audit pythons test-clusters check format bench mutants lock clients clean

PYTHON ?= python3
SEEDS ?= 1-1000
# Of broken inputs: so many of each parser always, more until the seconds are over.
INPUTS ?= 300
SECONDS ?= 60
FIRST ?= 1
PARSERS ?=
# `make concurrency PYTHON=…` has an environment of its own beside the usual one.
VENV := .venv$(if $(filter concurrency,$(MAKECMDGOALS)),$(patsubst %,-%,$(filter-out python3,$(notdir $(PYTHON)))))
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Where pyenv is, its programs run the version that PYENV_VERSION names.
PYTHONS ?= python3.11 python3.12 python3.13 python3.14

help: ## Show the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

demo: $(READY) ## Roll an example out over three sandbox clusters, canary first
	@$(BIN)/volary demo

web: $(READY) ## Build the web UI (web/dist), with node from PyPI where there is none
	@$(BIN)/python tools/build_web.py build

web-shots: web ## Take pictures of every screen of a running release (web/shots), with chromium
	@PYTHONPATH=tests:sandbox/tests $(BIN)/python tools/web_shots.py

# Tests start a thousand processes, each of which compiles anew what may not be kept compiled.
test: export PYTHONDONTWRITEBYTECODE =
test: $(READY) web ## Run every test, those of the web UI too
	@$(BIN)/python tools/build_web.py test
	@$(BIN)/python -m pytest -q -n auto --dist worksteal

simulation: $(READY) ## Play simulated worlds (SEEDS=1-1000); a failure says how to play one again
	@PYTHONPATH=tests:sandbox/tests $(BIN)/python -m simulation $(SEEDS)

fuzz: $(READY) ## Have every parser read broken input for SECONDS=60; a fault says how to read it again
	@PYTHONPATH=tests:sandbox/tests $(BIN)/python -m fuzzing --inputs $(INPUTS) --seconds $(SECONDS) --first $(FIRST) $(PARSERS)

concurrency: $(READY) ## Run the tests of what depends most on the Python (PYTHON=python3.13)
	@$(BIN)/python -m pytest -q -n auto --dist worksteal @tests/concurrency.txt

pythons: ## Run those tests on each Python that is there (PYTHONS="python3.12 python3.13")
	@ran=; failed=; for name in $(PYTHONS); do \
	  python=$$(PYENV_VERSION=$${name#python} $$name -c 'import sys; print(sys.executable)' 2>/dev/null) || \
	    { echo "$$name: not there"; continue; }; \
	  echo "$$name: $$python"; ran=yes; \
	  $(MAKE) --no-print-directory concurrency PYTHON=$$python || failed="$$failed $$name"; \
	done; \
	test -n "$$ran" || { echo 'there is none of $(PYTHONS)' >&2; exit 2; }; \
	test -z "$$failed" || { echo "failed on$$failed" >&2; exit 1; }

test-clusters: $(READY) ## Run the scenarios that need nothing but clusters on yours (CONTEXTS=a,b,c)
	@test -n "$(CONTEXTS)" || { echo 'name them by their kubeconfig contexts: make test-clusters CONTEXTS=a,b,c' >&2; exit 2; }
	@VOLARY_TEST_CONTEXTS="$(CONTEXTS)" VOLARY_TEST_IMAGES="$(IMAGES)" $(BIN)/python -m pytest -q tests/clusters

check: $(READY) ## Formatting, lint, types, import contracts
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/python tools/build_web.py check
	@$(BIN)/lint-imports & imports=$$!; $(BIN)/mypy; types=$$?; wait $$imports && exit $$types

format: $(READY) ## Format the code and mend what lint can mend
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: $(READY) ## Measure speed as ratios; writes benchmarks/README.md
	@$(BIN)/python -m benchmarks

sbom: $(READY) ## Write the bill of materials that the wheel has: dist/volary.cdx.json
	@$(BIN)/python tools/write_sbom.py dist/volary.cdx.json

audit: $(READY) ## Ask a database of vulnerabilities about every locked package, where one can be reached
	@$(BIN)/python tools/audit.py

mutants: $(READY) ## Make small mistakes in the core; print those that no test notices (MUTANTS="--seed 2 --count 5")
	@$(BIN)/python tools/mutants.py $(MUTANTS)

lock: ## Resolve dependencies again (needs uv)
	@uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --no-emit-package kube-sandbox \
	  --python-version 3.11 --extra sandbox --extra traffic --extra postgres --extra otel --extra temporal --extra distributed --extra speed --group dev pyproject.toml -o requirements/dev.lock
	@uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
	  --python-version 3.11 --group clients -c requirements/dev.lock -o requirements/clients.lock
	@uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
	  --python-version 3.11 --group web -o requirements/web.lock

clients: $(READY) ## Add stock Kubernetes clients, which the sandbox is tested with where they are
	@PYTHON="$(PYTHON)" sh requirements/bootstrap.sh requirements/clients.lock

clean: ## Remove everything that was built
	@rm -rf .venv .venv-* dist build web/dist web/node_modules web/shots .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): requirements/dev.lock pyproject.toml sandbox/pyproject.toml requirements/bootstrap.sh
	@PYTHON="$(PYTHON)" VENV="$(VENV)" sh requirements/bootstrap.sh
