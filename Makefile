# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin

DATA ?= data

.PHONY: demo demo-paper test lint format slow package bench studies docs lock locked clean

demo: .venv/installed-cli  ## how far each handwritten digit may turn, and what flips do; ends with a page to look at
	$(BIN)/augnet learn digits --trunk small --by-class --jobs 2 --transforms rotate,horizontal_flip,vertical_flip --out demo-output/digits
	@echo "Look at: the banner (can it be trusted?), the classes (how far each digit may turn, which ones a flip makes of each other),"
	@echo "rotate (samples at the edge of its range and beyond, and the curve), and the gain over plain training."

demo-paper: .venv/installed-cli  ## the paper's first experiment: the frequency shift of noisy sinusoids; ends with its report
	$(BIN)/augnet paper run sinusoids --variant one-layer --out demo-output/runs
	$(BIN)/augnet paper report demo-output/runs --out demo-output
	@echo "Look at: the paper's claims beside what this run says, and the range that was learned (the truth is 0.5 Hz)."

test: lint  ## lint, types and tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 2 --dist loadfile

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

bench: .venv/installed-dev  ## time and memory, about ten minutes on an idle machine: docs/performance.md
	rm -f results/speed.json results/inference.json
	$(BIN)/python benchmarks/speed.py --threads 1
	$(BIN)/python benchmarks/speed.py --threads 2
	$(BIN)/python benchmarks/inference.py --data $(DATA)
	$(BIN)/python benchmarks/performance_page.py

studies: .venv/installed-dev  ## the demo over seeds, and the copies that invariance needs
	$(BIN)/python benchmarks/demo.py
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
	rm -rf .venv .environments .mypy_cache .pytest_cache .ruff_cache .hypothesis demo-output docs/_build docs/gallery
