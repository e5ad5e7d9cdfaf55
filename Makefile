# Everything needs only Python (3.10 to 3.12), pip and make; the first target that is asked for creates .venv.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test test-slow lint format bench wheel clean help

help:
	@echo "make demo       train on the default data set and show the result"
	@echo "make test       the quick tests        make test-slow  the long ones"
	@echo "make lint       ruff and mypy          make format     let ruff rewrite the code"
	@echo "make bench      time a training step   make wheel      build dist/*.whl"
	@echo "make clean      remove caches and builds (keeps .venv and runs)"

$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || { echo "creating $(VENV) with $(PYTHON)"; "$(PYTHON)" -m venv $(VENV); }
	@echo "installing into $(VENV) (TensorFlow is large: this takes a few minutes the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --progress-bar on -c constraints.txt -e ".[dev]"
	@touch $@

demo: $(STAMP)
	$(BIN)/gpcnoise train

test: $(STAMP)
	$(BIN)/python -m pytest -m "not slow"

test-slow: $(STAMP)
	$(BIN)/python -m pytest -m slow

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP)
	$(BIN)/gpcnoise bench

wheel: $(STAMP)
	$(BIN)/python -m build --wheel --no-isolation

clean:
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
	find gpcnoise_cli tests -name __pycache__ -type d -prune -exec rm -rf {} +
