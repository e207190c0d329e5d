# One door for every habit. PYTHON is the interpreter of a virtual environment with the "dev" group.
PYTHON ?= python
JOBS ?= 2
export OPENBLAS_NUM_THREADS = 1

.PHONY: all check test docs wheel

all: check test docs wheel

check:  ## formatting, lints, types, direction of imports
	$(PYTHON) -m ruff format --check
	$(PYTHON) -m ruff check
	$(PYTHON) -m mypy
	$(PYTHON) -m mypy tests/typing/propensity.py
	$(dir $(shell which $(PYTHON)))lint-imports

test:  ## doctests and tests
	$(PYTHON) -m pytest -n $(JOBS) --dist loadgroup --ignore=tests/spark
	$(PYTHON) -m pytest tests/spark  # one Spark for all of them, which uses the cores by itself

docs:  ## the site, every warning an error
	$(PYTHON) -m sphinx -W --keep-going -q -b html docs docs/_build/html

wheel:  ## build the wheel, install it in an environment of its own, test it there
	rm -rf dist build
	$(PYTHON) -m build --quiet --wheel
	$(PYTHON) -m venv build/venv
	build/venv/bin/python -m pip install --quiet --upgrade pip
	build/venv/bin/python -m pip install --quiet -c constraints.txt dist/*.whl --group test
	build/venv/bin/python -m pytest -q -n $(JOBS) tests/docs tests/contract
