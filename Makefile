# Every target sets up what it needs on a bare machine that has Python 3.11, make and a package index.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
PULL := $(BIN)/likely pull smollm2 --quiet
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

.PHONY: demo test lint bench browser clean

demo: $(VENV)/.installed
	$(BIN)/likely pull smollm2
	$(BIN)/likely report smollm2 --preset smoke --out report.html
	@echo "open report.html in a browser"

test: $(VENV)/.dev browser
	$(PULL)
	$(BIN)/python -m pytest -n 2 --dist loadfile

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/generate.py --check

# What we compare with lives in an environment of its own.
bench: .venv-bench/.installed
	$(PULL)
	cd benchmarks && for script in against_*.py within_*.py; do ../.venv-bench/bin/python $$script || exit 1; done

browser:
	@command -v chromium chromium-browser google-chrome >/dev/null 2>&1 || \
	  ($(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq chromium)

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV) || python3 -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install -q -c constraints.txt -e '.[hf,stats]'
	@touch $@

$(VENV)/.dev: $(VENV)/.installed
	$(PIP) install -q -c constraints.txt -e '.[hf,stats,attrib,dev]'
	@touch $@

.venv-bench/.installed: $(VENV)/.installed
	$(PYTHON) -m venv .venv-bench || python3 -m venv .venv-bench
	.venv-bench/bin/python -m pip --disable-pip-version-check install -q -c constraints.txt -e '.[hf,logic]' \
	  'lm-eval==0.4.13' 'problog==2.3.0' 'klaycircuits==0.1.2'
	@touch $@

clean:
	rm -rf $(VENV) .venv-bench report.html .mypy_cache .ruff_cache .pytest_cache .hypothesis
