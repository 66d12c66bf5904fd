# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint format slow package bench docs lock locked clean

demo: .venv/installed-cli  ## learn the frequency shift of noisy sinusoids; ends with a page to look at
	$(BIN)/augnet paper run sinusoids --variant one-layer --out demo-output/runs
	$(BIN)/augnet paper report demo-output/runs --out demo-output

test: lint  ## lint, types and tests
	$(BIN)/python -m pytest

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

slow: .venv/installed-dev  ## the tests that take minutes
	$(BIN)/python -m pytest -m slow

package: .venv/installed-dev  ## the wheel and the sdist, in an environment of their own
	$(BIN)/python -m pytest -m slow tests/test_packages.py

bench: .venv/installed-dev  ## what the documented results were made with
	$(BIN)/python benchmarks/demo.py
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/copies.py

docs: .venv/installed-docs  ## the site, with every example run; any warning is an error
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs docs/_build
	@echo "The site is in docs/_build/index.html"

# A stamp per extra: installed once, and again only when the requirements change.
.venv/installed-%: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[$*]"
	touch $@

lock:  ## requirements.lock: the SHA-256 of each file that constraints.txt stands for
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --dry-run --ignore-installed --only-binary :all: \
		-c constraints.txt --report .venv/report.json hatchling editables ".[dev,docs]"
	$(BIN)/python .ci/lock.py .venv/report.json requirements.lock

# Instead of the stamps above, which `make test` then finds. Nothing is fetched without its SHA-256.
locked:  ## .venv with exactly the files of requirements.lock; then make test, docs, ...
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: \
		--require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch .venv/installed-cli .venv/installed-dev .venv/installed-docs

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis demo-output docs/_build docs/gallery
