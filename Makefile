# Every target works from an empty checkout with Python 3.11+, make and a package index.
SHELL := /bin/sh
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTEST = $(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder --durations 5 --durations-min 1
# Only the format `docker` has health checks.
IMAGE_BUILD = podman build --format docker --file deploy/container/Containerfile
# Files whose tests are longer in `make faults` read `LONG` or `budget`.
LONG_TESTS = tests/browser tests/hostile tests/simulation tests/processes/test_container.py \
    $$(grep -rl --include='test_*.py' hostile.budget tests/admin tests/integration tests/processes | sort)

.DEFAULT_GOAL := help
.PHONY: help install install-dev run test test-slow faults check format bench wheel image release demo fonts pictures screenshots upgrade-pictures lock openapi reference sbom

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

install: $(VENV)/.installed ## create .venv and install the pinned requirements

$(VENV)/.installed: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version.split()[0])'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
# The pins are complete (`pip check` in `make check`), so pip need not resolve them: --no-deps.
	@echo "installing the pinned requirements …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements.txt
	@touch $@

install-dev: $(VENV)/.installed-dev ## install the requirements of tests and checks too

$(VENV)/.installed-dev: requirements-dev.txt $(VENV)/.installed
	@echo "installing the pinned development requirements …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements-dev.txt
	@touch $@

run: install ## start everything: embedded PostgreSQL, web, worker
	@exec $(BIN)/python manage.py serve --parent $$PPID

test: install-dev ## run the tests that are not slow; ARGS="tests/unit -k digest" runs these tests instead, slow or not
	@$(PYTEST) $(or $(ARGS),-m "not slow")

# Six processes, as the tests that begin first mostly wait for servers.
test-slow: install-dev ## run the slow tests: processes, browser, simulation, hostile requests, and others
	@$(PYTEST) -n 6 -m slow $(ARGS)

faults: install-dev ## the long tests of faults: hostile requests, pairs of writes, killed processes, failing receivers, 100,000 simulated seeds of delivery and 1,000 over both ledgers, 1,000,000 of plans
	@OPSAPI_TEST_FAULTS=long $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder $(LONG_TESTS) $(ARGS)
	@OPSAPI_TEST_FAULTS=long $(BIN)/python -m pytest -n 2 --dist loadfile -m hypothesis tests/unit

check: install-dev ## format, lint, types, import order, migrations, OpenAPI, reference, requirements, bill of materials, deployment check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy .
	$(BIN)/lint-imports
	$(BIN)/python manage.py makemigrations --check --dry-run
	$(BIN)/python manage.py openapi --check
	$(BIN)/python manage.py reference --check
	$(BIN)/python -m pip check
	$(BIN)/python manage.py licences
	$(BIN)/python manage.py sbom --check
	OPSAPI_ENV_FILE=/dev/null OPSAPI_PUBLIC_URL=https://ops.example.com OPSAPI_TRUSTED_PROXIES=127.0.0.1/32 $(BIN)/python manage.py check --deploy --fail-level WARNING

format: install-dev ## format the code and sort the imports
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

openapi: install ## write opsapi/api/openapi.json
	$(BIN)/python manage.py openapi

reference: install ## write docs/reference
	$(BIN)/python manage.py reference

sbom: install-dev ## write sbom.cdx.json, the bill of materials
	$(BIN)/python manage.py sbom

bench: install-dev ## run the benchmarks, each against a limit measured in the same run
	@$(BIN)/python -m tests.benchmarks

wheel: install-dev ## build the package and its source archive in dist/
	@rm -rf dist
	@SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)} $(BIN)/python -m hatchling build

image: wheel ## build the container images localhost/opsapi and localhost/opsapi-database (needs podman)
	$(IMAGE_BUILD) --tag localhost/opsapi --target platform .
	$(IMAGE_BUILD) --tag localhost/opsapi-database --target database .

release: install-dev ## build all files of a release in a clean clone: make release TAG=v0.2.0
	@$(BIN)/python -m tools.release $(or $(TAG),$(error TAG is missing, such as TAG=v0.2.0)) $(ARGS)

demo: install ## add demonstration data to the running installation
	@$(BIN)/python manage.py demo

screenshots: install-dev ## serve demonstration data and take the screenshots of the documents (needs Chromium)
	@$(BIN)/python -m tests.browser.screenshots $(ARGS)

upgrade-pictures: install-dev ## upgrade a real replica set and take the pictures of its plan (needs Chromium; downloads MongoDB)
	@$(BIN)/python -m tests.browser.upgrade_pictures $(ARGS)

pictures: install-dev ## draw the diagrams of the documents (needs Chromium and npm)
	@$(BIN)/python -m tests.browser.pictures

fonts: install ## write the fonts of the console, after you add an icon to tools/icons.txt (needs uv and npm)
	@uv run --quiet tools/fonts.py

lock: ## pin the requirements (needs uv)
	uv pip compile --quiet --python-version 3.11 --universal --generate-hashes --no-header --extra embedded pyproject.toml -o requirements.txt
	uv pip compile --quiet --python-version 3.11 --universal --generate-hashes --no-header --extra dev --extra embedded -c requirements.txt pyproject.toml -o requirements-dev.txt
