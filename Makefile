# Everything runs in .venv, which is made on first use. Needs Python >= 3.11 and nothing else.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
USABLE := .venv/.usable
READY := .venv/.ready
# The tests start many processes, and each would compile all that it imports.
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo test mine soak wheel-test lint bench reproduce proved docs pages stages pictures notes venv clean

demo: $(USABLE)  ## five processes, a lock, a semaphore, a witness; then a holder is killed
	$(BIN)/soloist demo

# One more than there are processors: many tests wait for other processes.
test: venv  ## all tests
	$(BIN)/pytest -q -n $$($(BIN)/python -c 'import os; print((os.cpu_count() or 1) + 1)') --dist worksteal --durations=10

mine: venv  ## the tests about one algorithm: make mine NAME=raymond-tree
	$(BIN)/pytest -q -k '$(NAME)'

soak: venv  ## the largest configurations, an hour of load, ten minutes of nemesis (SOLOIST_NEMESIS_MINUTES)
	$(BIN)/pytest -q -m soak

wheel-test:  ## the wheel and the sdist, and the wheel in an empty environment of each Python that is here
	.ci/wheel 3.11 3.12 3.13

lint: venv  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: venv  ## our speed beside that of others
	$(BIN)/soloist bench start
	$(BIN)/soloist bench simulator
	$(BIN)/soloist bench checker
	$(BIN)/soloist bench locks
	$(BIN)/soloist bench recovery
	$(BIN)/soloist bench leases
	$(BIN)/soloist bench clients
	$(BIN)/soloist bench page

reproduce: venv  ## what a paper claims, measured again: make reproduce PAPER=survey
	$(BIN)/soloist reproduce $(PAPER)

proved: venv  ## which code the declarations of the algorithms have been proved for
	$(BIN)/pytest -q tests/check/test_proved.py --rewrite

pages: venv  ## what comes from the code: the pages of algorithms and errata, the picture, the catalogue's list
	$(BIN)/python -c 'from soloist.cli.catalogue import write; write()'
	$(BIN)/python docs/generate.py

stages: venv  ## the stage of every algorithm, as the picture of its page; needs Chromium
	$(BIN)/python docs/stages.py

pictures: venv  ## the page of a run in light and dark, a puzzle and the dashboard, as pictures for the docs; needs Chromium
	$(BIN)/python docs/pictures.py
	SOLOIST_PICTURE=docs/watch-dashboard.png $(BIN)/pytest -q tests/watch/test_dashboard.py

notes: venv  ## the lecture notes and their pictures, into teaching/notes
	$(BIN)/python teaching/make_notes.py

docs: venv  ## the documentation site, into site/; a warning is an error
	$(BIN)/sphinx-build -q -W --keep-going -E -b html -d build/docs docs site

venv: $(READY)

PIP_INSTALL = $(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt

# What users have: so the demo need not wait for what only developers need.
$(USABLE): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "make: no Python >= 3.11 found; set PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(PIP_INSTALL) -e '.[fast,watch]'
	@touch $(USABLE)

$(READY): $(USABLE)
	$(PIP_INSTALL) -e '.[dev]'
	@touch $(READY)

clean:
	rm -rf .venv build dist site .mypy_cache .ruff_cache .pytest_cache
