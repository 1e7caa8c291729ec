# make view       opens the example; needs Python 3.11.5 or newer and Node.js 20, and sets up the rest
# make lint       checks style, types and spelling in seconds; installs no framework
# make test-fast  runs the tests that need neither a framework nor a browser, in under a minute
# make test       runs everything, as CI does; installs PyTorch, JAX and the other frameworks first (a few GB)
# make format     formats Python and TypeScript
# make docs       builds the documentation site into site/
# make wheel      builds the wheel, with the viewer in it
# make setup | bench | fuzz | soak | gallery | options | clean
#
# Each target sets up what it needs, says so in one line, and does not do it again (.stamps/ remembers).

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.SILENT:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

PYTHON ?= python3
WORKERS ?= 2
BIN := .venv/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check
BUNDLE := src/opscope/static/core.js
PYTHON_CODE := src tests benchmarks examples docs hatch_build.py
WEB_CODE := src test build.mjs

.PHONY: help setup view lint format test test-fast docs wheel bench fuzz soak gallery options clean

help:
	sed -n '1,8s/^# //p' Makefile

setup: .stamps/frameworks .stamps/hidet .stamps/browser $(BUNDLE)

view: .stamps/package $(BUNDLE)
	exec $(BIN)/opscope demo

test: setup lint
	echo "• tests of the drawing core and the viewer"
	(cd web && npx --no-install vitest run --silent)
	echo "• tests of everything else, $(WORKERS) at a time"
	$(BIN)/python -m pytest -n $(WORKERS)

test-fast: .stamps/test $(BUNDLE)
	echo "• tests that need neither a framework nor a browser, $(WORKERS) at a time"
	$(BIN)/python -m pytest -n $(WORKERS) -m "not frameworks and not browser and not slow"

lint: .stamps/lint .stamps/npm
	echo "• ruff, mypy, codespell, biome, tsc"
	$(BIN)/ruff check --quiet $(PYTHON_CODE)
	$(BIN)/ruff format --quiet --check $(PYTHON_CODE)
	$(BIN)/mypy --no-error-summary
	$(BIN)/codespell
	cd web
	npx --no-install biome lint --log-level=warn $(WEB_CODE)
	npx --no-install biome format --log-level=warn $(WEB_CODE)
	npx --no-install tsc --noEmit

format: .stamps/lint .stamps/npm
	$(BIN)/ruff check --quiet --fix $(PYTHON_CODE)
	$(BIN)/ruff format --quiet $(PYTHON_CODE)
	cd web && npx --no-install biome format --log-level=warn --write $(WEB_CODE)

docs: .stamps/docs $(BUNDLE)
	echo "• building the documentation into site/"
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

wheel: .stamps/package $(BUNDLE)
	echo "• building the wheel into dist/"
	$(BIN)/python -m pip wheel -qq --no-deps --disable-pip-version-check --wheel-dir dist .

bench: .stamps/frameworks .stamps/browser $(BUNDLE)
	echo "• benchmarks: minutes, and a quiet machine makes them mean something"
	$(BIN)/python benchmarks/make_hlo.py --layers 4
	$(BIN)/python benchmarks/make_hlo.py --layers 24
	$(BIN)/python benchmarks/parse_hlo.py --keep
	$(BIN)/python benchmarks/backward_links.py --keep .bench/transformer4_lowered.hlo .bench/transformer4.hlo .bench/transformer24.hlo
	$(BIN)/python benchmarks/backward_lines.py --keep
	$(BIN)/python benchmarks/inferred_halves.py --keep
	$(BIN)/python benchmarks/structure.py --keep
	$(BIN)/python benchmarks/diff.py --keep
	$(BIN)/python benchmarks/diff.py --keep --without-metadata || true
	$(BIN)/python benchmarks/truth.py --keep
	$(BIN)/python benchmarks/recorded_truth.py --keep
	$(BIN)/python benchmarks/timeline.py --keep
	$(BIN)/python benchmarks/diff.py --keep --speed
	$(BIN)/python benchmarks/record.py --keep
	$(BIN)/python benchmarks/pt2.py --keep
	$(BIN)/python benchmarks/memory.py --keep
	$(BIN)/python benchmarks/fuzz.py --keep
	$(BIN)/python benchmarks/torch_memory.py --keep
	$(BIN)/python benchmarks/memory_lane.py --keep
	$(BIN)/python benchmarks/flops.py --keep
	$(BIN)/python benchmarks/attribution.py --keep
	if test -d ../shared/data/profiles; then
	  $(BIN)/python benchmarks/kineto.py --keep
	  $(BIN)/python benchmarks/xplane_size.py --keep
	  $(BIN)/python benchmarks/thunks.py --keep
	fi
	(cd benchmarks/layout && npm install --no-save --loglevel=error > /dev/null)
	$(BIN)/python benchmarks/layout_graphs.py gpt2 .bench/transformer{4,4_lowered,24,24_lowered}.hlo .bench/transformer24.hlo --open
	node benchmarks/layout/run.mjs --keep .bench/layout_{gpt2,transformer4,transformer4_lowered,transformer24,transformer24_lowered,transformer24_open}.json
	$(BIN)/python benchmarks/viewer.py --keep
	$(BIN)/python benchmarks/empty_room.py --keep
	$(BIN)/python benchmarks/large.py --keep
	$(BIN)/python benchmarks/large_inputs.py --keep
	$(BIN)/python benchmarks/report.py

fuzz: .stamps/test $(BUNDLE)
	echo "• 100,000 damaged files through every reader and what follows: minutes"
	$(BIN)/python benchmarks/fuzz.py --inputs 100000 --workers $(WORKERS) --state .bench/fuzz_100000

soak: .stamps/test $(BUNDLE)
	echo "• server, clients, recordings and exports at once, killed at random: 4 minutes"
	$(BIN)/python benchmarks/soak.py --keep
	$(BIN)/python benchmarks/report.py

gallery: .stamps/frameworks $(BUNDLE)
	$(BIN)/python docs/gallery/make.py

options: .stamps/package
	echo "• writing what is made from the table of view options"
	$(BIN)/python docs/make_view_options.py

clean:
	rm -rf .stamps .venv .venv-hidet-* dist site web/node_modules src/opscope/static/*.js src/opscope/static/*.css

.stamps/venv:
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11, 5) else "opscope needs Python 3.11.5 or newer; this is " + sys.version.split()[0])'
	echo "• making the Python environment .venv"
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	mkdir -p .stamps && touch $@

.stamps/package: .stamps/venv pyproject.toml
	echo "• installing opscope and its dependencies"
	$(PIP) -e .
	touch $@

.stamps/lint: .stamps/package requirements/lint.txt
	echo "• installing the linters"
	$(PIP) -r requirements/lint.txt
	touch $@

.stamps/test: .stamps/lint requirements/test.txt
	echo "• installing the test runner"
	$(PIP) -r requirements/test.txt
	touch $@

.stamps/frameworks: .stamps/test requirements/frameworks.txt
	echo "• installing PyTorch, then JAX, ONNX, ExecuTorch and the tools that tests compare with (takes minutes)"
	$(PIP) "$$(grep '^torch==' requirements/frameworks.txt)"
	$(PIP) -r requirements/frameworks.txt
	touch $@

.stamps/docs: .stamps/package requirements/docs.txt
	echo "• installing MkDocs"
	$(PIP) -r requirements/docs.txt
	touch $@

.stamps/hidet: .stamps/frameworks tests/support/hidet_env.sh
	echo "• installing two versions of hidet, each in an environment of its own"
	for version in 0.6.1 0.3.1; do
	  PYTHON=$(BIN)/python sh tests/support/hidet_env.sh $$version .venv-hidet-$$version \
	    || echo "hidet $$version cannot be installed here; its tests are skipped"
	done
	touch $@

.stamps/npm: web/package-lock.json
	command -v npm > /dev/null || { echo "Node.js 20 with npm is needed to build the viewer; install it and try again" >&2; exit 1; }
	echo "• installing the viewer's npm packages"
	# not `npm ci`: it insists on packages for other systems, which not every registry has; this keeps to the lock file as well
	(cd web && npm install --no-save --loglevel=error > /dev/null)
	mkdir -p .stamps && touch $@

$(BUNDLE): .stamps/npm web/build.mjs web/package.json $(shell find web/src -type f 2> /dev/null)
	echo "• building the viewer"
	(cd web && node build.mjs > ../.stamps/build.log 2>&1) || { cat .stamps/build.log >&2; exit 1; }
	touch $@

.stamps/browser:
	as_root=""; [ "$$(id -u)" = 0 ] || as_root=sudo
	install() { $$as_root apt-get update -qq && $$as_root apt-get install -qq -y --no-install-recommends "$$@" > /dev/null; }
	if ! command -v chromium > /dev/null || ! command -v firefox-esr > /dev/null; then
	  echo "• installing Chromium and Firefox for the browser tests"
	  [ -z "$$as_root" ] || command -v sudo > /dev/null || { echo "Chromium and Firefox are needed for the browser tests and installing them needs root: apt-get install chromium firefox-esr" >&2; exit 1; }
	  install chromium firefox-esr
	fi
	# The tests run without it too, but take longer.
	command -v chromium-headless-shell > /dev/null || install chromium-headless-shell 2> /dev/null || echo "• chromium-headless-shell is not available; Chromium does it"
	mkdir -p .stamps && touch $@
