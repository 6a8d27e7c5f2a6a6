# make demo    sets up and runs the main job on built-in data
# make test    sets up and runs the tests
# make lint    sets up and runs the linters
# make docs    sets up and builds the documentation into docs/_build/html
# make coverage   runs the tests of the kernels without compiling, then all tests, and counts
#                 the branches that neither took

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test lint docs coverage clean

demo: $(VENV)/.installed
	$(BIN)/comanifold demo

# Workers take tests that follow each other, so that what a file sets up is set up once. With one
# worker for each processor, more threads of linear algebra only wait for each other.
PYTEST_WORKERS := -n auto --dist worksteal

test: $(VENV)/.installed-dev
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(PYTEST_WORKERS)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx -W --keep-going docs docs/_build/html
	@echo "Open docs/_build/html/index.html in a browser."

KERNELS := tests/graphs tests/penalties tests/solvers tests/test_metrics.py tests/fit/test_low_rank.py \
    tests/test_diffusion_map.py tests/test_robustness.py tests/test_robustness_of_parts.py
# Minutes without compiling.
TOO_LONG := tests/solvers/test_fast.py::test_merging_leaves_fewer_clusters_and_a_lower_objective

coverage: $(VENV)/.installed-dev
	$(BIN)/coverage erase
	NUMBA_DISABLE_JIT=1 $(BIN)/coverage run -m pytest -q $(KERNELS) --deselect $(TOO_LONG)
	OMP_NUM_THREADS=1 $(BIN)/coverage run -m pytest -q $(PYTEST_WORKERS)
	$(BIN)/coverage combine
	$(BIN)/coverage report --fail-under=95

clean:
	rm -rf $(VENV) results .pytest_cache .ruff_cache .hypothesis .coverage*
	rm -rf docs/_build docs/_generated docs/auto_examples docs/reference docs/sg_execution_times.rst

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "comanifold needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	    { rm -rf $(VENV); echo "could not create $(VENV): is the venv module installed?"; exit 1; }

$(VENV)/.installed: $(BIN)/python pyproject.toml constraints.txt
	@echo "Installing comanifold into $(VENV) (once; takes a minute)"
	$(PIP_INSTALL) -e '.[report]'
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@echo "Installing what the tests need into $(VENV) (once)"
	$(PIP_INSTALL) -e '.[dev]'
	@touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	@echo "Installing what the documentation needs into $(VENV) (once)"
	$(PIP_INSTALL) -e '.[docs]'
	@touch $@
