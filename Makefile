# Everything here runs in an environment of its own, made on first use from pyproject.toml and
# constraints.txt. Needs Python 3.11 or later and, the first time, a package index.
#
#   make demo       the main job on bundled data            make lint    ruff and mypy
#   make test       the tests                               make format  ruff, mending
#   make test-all   the slow ones, too
#   make benchmark  all benchmarks (ARGS="--quick")         make clean   remove what make made
#   make docs       the site, in docs/_build/html           (ARGS="-D plot_gallery=0" leaves examples out)
#
# Variables: PYTHON (which Python to build with), VENV (where), ARGS (more arguments), WORKERS (tests).

VENV ?= .venv
PYTHON ?=
WORKERS ?= 2
ARGS ?=

BIN := $(VENV)/bin
READY := $(VENV)/.lapwing-ready
LINT_READY := $(VENV)/.lapwing-lint-ready
DOCS_READY := $(VENV)/.lapwing-docs-ready
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

# The caller's Python settings must not leak into the project's environment.
unexport PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONDONTWRITEBYTECODE VIRTUAL_ENV CONDA_PREFIX

# A name on PATH may be a shim that does not run, or a Python without venv, so each candidate is tried;
# what is printed is the base interpreter, for python3 may be the one in the environment about to go.
TRY_PYTHON := import sys, venv, ensurepip; sys.version_info >= (3, 11) or sys.exit(1); \
	print(getattr(sys, '_base_executable', sys.executable))

# The environment records where it was made: one that was copied or moved along with its checkout
# would still import the old one. A broken interpreter counts as missing too.
USABLE := $(shell test "$$(cat '$(READY)' 2>/dev/null)" = "$(CURDIR)" && '$(BIN)/python' -c '' 2>/dev/null && echo yes)
ifneq ($(USABLE),yes)
$(READY): remake
endif

define NO_INSTALL
{ echo >&2; \
  echo "lapwing: the packages could not be installed (pip's message is above)." >&2; \
  echo "  The first run needs a package index. Offline, point pip to a folder of wheels:" >&2; \
  echo "  PIP_NO_INDEX=1 PIP_FIND_LINKS=FOLDER make ..." >&2; \
  echo "  Then run the same command again; nothing has to be cleaned up first." >&2; \
  exit 1; }
endef

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-all lint format benchmark docs env clean remake

help:
	@sed -n '4,10s/^# \{0,1\}//p' Makefile

demo: $(READY)
	$(BIN)/lapwing demo $(ARGS)

# One thread a worker: the tests' matrices are small, and threads of two workers only fight for cores.
# Slow are browsers, processes that are killed or start anew, whole benchmarks, and long examples.
# Plain asserts save ten seconds, in which each worker would rewrite those of all files. Tests that
# fail run again with rewritten asserts, which show the values.
test: PICKED := -m "not slow"
test-all: PICKED := --hypothesis-profile thorough
test test-all: export OMP_NUM_THREADS := 1
test test-all: export OPENBLAS_NUM_THREADS := 1
test test-all: export MKL_NUM_THREADS := 1
test test-all: $(READY)
	$(BIN)/python -m pytest --assert plain --numprocesses $(WORKERS) --dist worksteal $(PICKED) $(ARGS) || { \
	  $(BIN)/python -m pytest --last-failed --last-failed-no-failures none $(PICKED) $(ARGS); exit 1; }

lint: $(LINT_READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(LINT_READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

benchmark: $(READY)
	$(BIN)/python -m benchmarks all $(ARGS)

# A warning ends the build; what the pages then hold is read by docs/check_site.py. Examples that did
# not change are not run again. Pages of names that are gone must not stay.
docs: export OMP_NUM_THREADS := 1
docs: export OPENBLAS_NUM_THREADS := 1
docs: $(DOCS_READY)
	rm -rf docs/_build/html
	$(BIN)/python -m sphinx --builder html --doctree-dir docs/_build/doctrees \
	  --fail-on-warning --keep-going --quiet $(ARGS) docs docs/_build/html
	$(BIN)/python docs/check_site.py docs/_build/html

env: $(LINT_READY)

# The stamp is written last, so an environment that was interrupted half-way is made anew.
# Only a folder that is an environment is ever removed: VENV may be a slip of the keyboard.
$(READY): pyproject.toml constraints.txt
	@if [ -e '$(VENV)' ] && [ ! -f '$(VENV)/pyvenv.cfg' ] && [ -n "$$(ls -A '$(VENV)')" ]; then \
	  echo "lapwing: VENV=$(VENV) exists and is not a Python environment; it is left alone." >&2; exit 1; fi
	@python=; for name in $(if $(PYTHON),'$(PYTHON)',python3.13 python3.12 python3.11 python3); do \
	  python=$$("$$name" -c "$(TRY_PYTHON)" 2>/dev/null) && break; python=; done; \
	if [ -z "$$python" ]; then \
	  echo "lapwing: $(if $(PYTHON),PYTHON=$(PYTHON) is not,found no) Python 3.11 or later with its venv module." >&2; \
	  echo "  Install one (on Debian and Ubuntu python3-venv belongs to it), or name it: make PYTHON=/path/to/python3.12" >&2; \
	  exit 1; fi; \
	echo "lapwing: making $(VENV) with $$python; once, and it takes a minute or two"; \
	rm -rf '$(VENV)' && "$$python" -m venv '$(VENV)'
	@$(PIP_INSTALL) hatchling editables || $(NO_INSTALL)
	@$(PIP_INSTALL) --no-build-isolation --editable '.[all,test]' || $(NO_INSTALL)
	@printf '%s\n' '$(CURDIR)' >$@

$(LINT_READY): $(READY)
	@$(PIP_INSTALL) --no-build-isolation --editable '.[all,test,lint]' || $(NO_INSTALL)
	@touch $@

$(DOCS_READY): $(READY)
	@$(PIP_INSTALL) --no-build-isolation --editable '.[all,test,docs]' || $(NO_INSTALL)
	@touch $@

clean:
	rm -rf docs/_build docs/_generated docs/auto_examples docs/api/generated
	rm -rf build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@if [ -f '$(VENV)/pyvenv.cfg' ]; then echo "rm -rf $(VENV)"; rm -rf '$(VENV)'; fi
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
