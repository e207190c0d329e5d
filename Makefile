# All commands of development. PYTHON is the interpreter of a virtual environment with the "dev" group.
PYTHON ?= python
JOBS ?= 2
# Two processes of tests leave no core for the threads of BLAS; tests/faults has them, as users do.
ONE = OPENBLAS_NUM_THREADS=1
PYTEST = $(PYTHON) -m pytest --durations=20
SPREAD = -n $(JOBS) --dist loadgroup
BIN = $(dir $(shell which $(PYTHON)))
LOWEST = build/lowest/bin/python

# Tests that are fast; tests/quick.py skips those among them that start a process, and compiles nothing.
QUICK = src $(addprefix tests/,contract docs labels parity properties) \
	tests/integrations/test_bundled.py tests/integrations/test_tables.py tests/faults/test_tables.py

.PHONY: all rest build quick check test coverage spark docs wheel compare mutate lowest lowest-spark

all: build  ## what CI runs; Spark waits for its batches, and leaves time for the rest
	$(MAKE) test
	$(MAKE) -j 2 --output-sync=target spark rest

rest:
	$(MAKE) -j 1 check docs lowest

build:  ## lasec's library, from what is kept of it
	$(PYTHON) -m lasec.kernel.jit.build

quick: build  ## within a minute: lints, direction of imports, and the tests that need no other process
	$(PYTHON) -m ruff format --check
	$(PYTHON) -m ruff check
	$(BIN)lint-imports
	$(ONE) $(PYTHON) -m pytest -q -r fE -n $(JOBS) -p quick -m "not slow" $(QUICK)

check:  ## formatting, lints, types, direction of imports, workflows
	$(PYTHON) -m ruff format --check
	$(PYTHON) -m ruff check
	$(PYTHON) -m mypy
	$(PYTHON) -m mypy tests/typing/propensity.py
	$(BIN)lint-imports
	$(BIN)zizmor --offline --quiet --min-severity medium .github

test: build  ## doctests and tests
	$(ONE) $(PYTEST) $(SPREAD) --ignore=tests/spark --ignore=tests/faults
	$(PYTEST) $(SPREAD) tests/faults

spark: build  ## the tests of lasec.spark: one Spark for all of them, which uses the cores by itself
	$(ONE) $(PYTEST) tests/spark

docs:  ## the site, every warning an error
	$(PYTHON) -m sphinx -W --keep-going -q -b html docs docs/_build/html

FLOOR = 88
coverage: build  ## `make quick` with the coverage of the rooms below the kernel, and a floor
	$(ONE) $(PYTHON) -m pytest -q -r fE -n $(JOBS) -p quick -m "not slow" $(QUICK) \
		--cov --cov-report=term --cov-fail-under=$(FLOOR)

wheel:  ## dist/, with a check of what is in it; TAG=v1.2.3 also checks the version
	rm -rf dist
	PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(PYTHON) -m build --quiet
	$(PYTHON) .ci/wheel.py $(TAG)

OLD ?= main
compare:  ## CPU time of this checkout against another revision: make compare OLD=v0.1.0
	$(PYTHON) -m benchmarks compare $(OLD)

mutate:  ## change the source in one place at a time, and list what no test notices; SAMPLE=100 for a sample
	$(ONE) $(PYTHON) .ci/mutate.py $(if $(SAMPLE),--random $(SAMPLE) --seed $(or $(SEED),1),$(MODULE) $(TESTS))

# The wheel in an environment of its own, with the lowest versions that pyproject.toml declares. Old
# versions warn of what new ones have changed: here warnings are no errors.
lowest: EXTRA = all
lowest: TESTS = tests/docs/test_blocks.py tests/integrations/test_bundled.py -k "README or command or sklearn.md or river.md or bundled"
lowest-spark: EXTRA = spark
lowest-spark: TESTS = tests/spark/test_messages.py tests/spark/test_listener.py tests/spark/test_same.py
lowest lowest-spark: wheel
	rm -rf build
	$(PYTHON) -m venv build/lowest
	$(PYTHON) .ci/lowest.py $(EXTRA) > build/lowest.txt
	$(LOWEST) -m pip install --quiet -c build/lowest.txt "$$(echo dist/*.whl)[$(EXTRA)]" hypothesis pytest-xdist
	$(ONE) $(LOWEST) -m pytest -q -o filterwarnings= $(TESTS)
