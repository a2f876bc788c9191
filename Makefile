# Everything runs in .venv, which the first command makes with the versions of constraints.txt.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal

.PHONY: demo test fast torture bench lint types docs clean

demo: $(VENV)/ready
	$(BIN)/unpick demo

test: lint types  # pytest builds the documentation, too
	$(PYTEST) --jaxtyping-packages=unpick,beartype.beartype

fast: $(VENV)/ready  # without checks of array shapes, which take a third of the time
	$(PYTEST) -m "not slow"

torture: $(VENV)/ready  # hostile cases by the thousand, for an hour or so; docs/reliability.md
	for each in $$(grep -l __main__ tests/torture/*.py); do PYTHONPATH=tests $(BIN)/python $$each || exit 1; done

lint: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/ready
	$(BIN)/mypy

docs: $(VENV)/ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: $(VENV)/ready
	$(BIN)/python benchmarks/training.py
	$(BIN)/python benchmarks/objectives.py
	$(BIN)/python benchmarks/data.py
	$(BIN)/python benchmarks/geometry.py
	$(BIN)/python benchmarks/information.py
	$(BIN)/python benchmarks/predictability.py

$(VENV)/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[test,docs]"
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis build site src/*.egg-info demo-report
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
