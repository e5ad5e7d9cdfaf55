# Everything needs only Python (3.10 to 3.12), pip and make; the first target that is asked for creates .venv.
# The first that runs and fits: a name on the PATH may be a pyenv shim for a version that is not there.
FITS := import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 12))
PYTHON ?= $(shell for p in python3.11 python3.12 python3.10 python3; do \
	$$p -c "$(FITS)" 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test test-slow test-hostile test-scale test-next lint format bench bench-quality wheel browser report-picture clean help

help:
	@echo "make demo       train on the default data set and show the result"
	@echo "make test       the quick tests        make test-slow  the others"
	@echo "make test-scale  grids on Ray and SLURM, in one machine (installs Ray and submitit)"
	@echo "make test-hostile  200 calls that nobody means well"
	@echo "make test-next  the tests of models, training and grids with the newest TensorFlow (constraints-next.txt)"
	@echo "make lint       ruff and mypy          make format     let ruff rewrite the code"
	@echo "make bench      time a training step   make wheel      build dist/*.whl"
	@echo "make bench-quality  time to the quality of the paper's settings (hours)"
	@echo "make browser    Debian's Chromium, in which the tests open the page of gpcnoise report (needs root)"
	@echo "make report-picture  the page of results/ and its picture, docs/images/report.png"
	@echo "make clean      remove caches and builds (keeps .venv and runs)"

$(STAMP): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "gpcnoise needs Python 3.10, 3.11 or 3.12: make PYTHON=/path/to/python3.11" >&2; exit 2; }
	@test -x $(BIN)/python || { echo "creating $(VENV) with $(PYTHON)"; "$(PYTHON)" -m venv $(VENV); }
	@echo "installing into $(VENV): a few minutes the first time (TensorFlow is large)"
	@rm -f $(VENV)/failed; \
	{ $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e ".[dev]" 2>&1 \
		|| touch $(VENV)/failed; } | tee $(VENV)/install.log | while IFS= read -r line; do case "$$line" in \
			Collecting*) set -- $$line; echo "  $$2" ;; \
			Installing\ collected*) echo "  unpacking" ;; \
		esac; done; \
	if test -e $(VENV)/failed; then tail -n 20 $(VENV)/install.log >&2; exit 1; fi
	@touch $@

demo: $(STAMP)
	$(BIN)/gpcnoise train

# A file's tests share what they have trained, so a file stays with one process.
PYTEST := $(BIN)/python -m pytest -n logical --maxprocesses 4 --dist loadfile

test: $(STAMP)
	$(PYTEST) -m "not slow and not scale"

test-slow: $(STAMP)
	$(PYTEST) -m "slow and not scale"

# One process: a cluster on two cores has no room for another.
test-scale: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev,ray,slurm]"
	$(BIN)/python -m pytest -m scale

test-hostile: $(STAMP)
	$(BIN)/python -m pytest tests/cli/test_hostile.py

# The newest TensorFlow in a virtual environment of its own, one process: constraints.txt but for what differs.
NEXT := .venv-next
NEXT_ROOMS := tests/likelihoods tests/models tests/training tests/methods tests/runs tests/estimator tests/grid

$(NEXT)/.installed: pyproject.toml constraints.txt constraints-next.txt
	@test -n "$(PYTHON)" || { echo "gpcnoise needs Python 3.10, 3.11 or 3.12: make PYTHON=/path/to/python3.11" >&2; exit 2; }
	@test -x $(NEXT)/bin/python || "$(PYTHON)" -m venv $(NEXT)
	@awk -F'==' 'NR == FNR { pinned[$$1] = 1; print; next } !($$1 in pinned)' constraints-next.txt constraints.txt \
		> $(NEXT)/constraints.txt
	$(NEXT)/bin/python -m pip install --quiet --disable-pip-version-check -c $(NEXT)/constraints.txt -e ".[dev]"
	@touch $@

test-next: $(NEXT)/.installed
	$(NEXT)/bin/python -m pytest -m "not slow" $(NEXT_ROOMS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP)
	$(BIN)/gpcnoise bench

# Hours; what is measured is kept in results/bench, and the next call continues.
bench-quality: $(STAMP)
	$(BIN)/gpcnoise bench quality

wheel: $(STAMP)
	$(BIN)/python -m build --wheel --no-isolation

browser:
	@command -v chromium || { apt-get update && apt-get install -y --no-install-recommends chromium; }

report-picture: $(STAMP)
	@command -v chromium >/dev/null || { echo "there is no Chromium; get it by: make browser" >&2; exit 2; }
	$(BIN)/gpcnoise report results --out build-report.html
	mkdir -p docs/images
	chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1280,1460 \
		--screenshot=docs/images/report.png "file://$(CURDIR)/build-report.html" 2>/dev/null
	@rm -f build-report.html
	@ls -l docs/images/report.png

clean:
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
	find gpcnoise_cli tests -name __pycache__ -type d -prune -exec rm -rf {} +
