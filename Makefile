# Needs only make and a python3 (3.11 or later) with its venv module.
PYTHON  ?= python3
VENV    ?= .venv
SAMPLERS ?= .venv-samplers
NEWEST  ?= .venv-newest
DOCS    ?= .venv-docs
BIN     := $(VENV)/bin
STAMP   := $(VENV)/.installed
PIP     := $(BIN)/python -m pip --disable-pip-version-check -qq

WORKERS       ?= 2#     pytest processes; 0 runs the tests in one
PYTEST_ARGS   ?=#       passed on to pytest
FUZZ_EXAMPLES ?= 1000#  examples for each property in `make fuzz`
FUZZ_SEED     ?= random
MUTANTS       ?= 200#   changes tried in `make mutants`
MUTANTS_SEED  ?= 0
MUTANTS_JOBS  ?= 2#     changes tried at once
RELEASE_PYTHONS ?= 3.11 3.13#  oldest and newest for `make release-check`: versions on the path, or paths
RELEASE_ARGS    ?=#            --again: in the environments of the last check

# One BLAS thread for each test process, so that the processes do not fight over the cores.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 VECLIB_MAXIMUM_THREADS=1 MPLBACKEND=Agg
# Most tests compile programs that run once. (This jaxlib's other way to make code takes a sixth off their time; the tests
# of samplers and the pages run as users do.)
QUICK_COMPILER := XLA_FLAGS=--xla_cpu_use_fusion_emitters=false

# What is built when the library is installed, where there is a C compiler.
NATIVE := hatch_build.py src/vvcv/runtime/native.py $(wildcard src/vvcv/*/*.c)

# PyStan has builds for this processor alone.
STAN := $(if $(filter x86_64,$(shell uname -m)),-r requirements-stan.lock)

# A virtual environment in one folder, with what pip is told to install.
COMMA := ,
define install
	@echo "installing into $(1) (once; takes a minute or more)"
	@$(PYTHON) -m venv $(1)
	@$(1)/bin/python -m pip --disable-pip-version-check -qq install $(2)
endef

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-samplers test-newest docs figures look lint format fuzz mutants bench lock wheel \
	release-check clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: $(STAMP) ## create the virtual environment from the lock file (once)

$(STAMP): pyproject.toml requirements.lock $(NATIVE)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "vvcv needs Python 3.11 or later: make PYTHON=python3.11 ...")'
	@echo "installing into $(VENV) (once; takes a minute or more)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install -r requirements.lock
	@$(PIP) install --no-build-isolation --no-deps --editable .
	@touch $@

demo: $(STAMP) ## run the demonstration
	@$(BIN)/vvcv demo

test: lint ## lint, type check, then run the tests and doctests
	$(ONE_THREAD) $(QUICK_COMPILER) $(BIN)/python -m pytest -q -n $(strip $(WORKERS)) --ignore tests/samplers $(PYTEST_ARGS)

test-samplers: $(SAMPLERS)/.installed ## run the tests of the adapters with the real samplers, in an environment of their own
	$(ONE_THREAD) $(SAMPLERS)/bin/python -m pytest -q -n $(strip $(WORKERS)) --dist loadscope tests/samplers $(PYTEST_ARGS)

$(SAMPLERS)/.installed: pyproject.toml requirements.lock requirements-samplers.lock requirements-stan.lock $(NATIVE)
	$(call install,$(SAMPLERS),-r requirements.lock -r requirements-samplers.lock $(STAN))
	@$(SAMPLERS)/bin/python -m pip --disable-pip-version-check -qq install --no-build-isolation --no-deps --editable .
	@touch $@

test-newest: $(NEWEST)/.installed ## the same, and those of files and tables, with the newest packages there are (PYTHON=python3.13)
	$(ONE_THREAD) $(NEWEST)/bin/python -m pytest -q -n $(strip $(WORKERS)) --dist loadscope \
		tests/samplers tests/interop tests/files tests/estimation/test_summary.py $(PYTEST_ARGS)

$(NEWEST)/.installed: pyproject.toml $(NATIVE)
	$(call install,$(NEWEST),--editable '.[all$(COMMA)test]')
	@touch $@

docs: $(DOCS)/.installed figures ## run the tutorials, build the site into build/site and check its links and names
	rm -rf build/tutorials build/site
	$(ONE_THREAD) $(DOCS)/bin/python -X faulthandler docs/hooks/run_tutorials.py
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --quiet
	$(DOCS)/bin/python docs/hooks/check_site.py build/site

figures: $(DOCS)/.installed ## draw the figures of docs/figures, and the README's table, from recorded results
	$(ONE_THREAD) $(DOCS)/bin/python benchmarks/figures.py
	$(DOCS)/bin/python docs/hooks/recorded_numbers.py

look: ## open the built site in headless Chromium, wide and narrow: screenshots, console errors, requests to outside
	$(DOCS)/bin/python docs/hooks/look_at_site.py build/site build/screenshots

$(DOCS)/.installed: pyproject.toml requirements.lock requirements-docs.lock $(NATIVE)
	$(call install,$(DOCS),-r requirements.lock -r requirements-docs.lock)
	@$(DOCS)/bin/python -m pip --disable-pip-version-check -qq install --no-build-isolation --no-deps --editable .
	@touch $@

lint: $(STAMP) ## ruff check, ruff format --check and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(STAMP) ## rewrite the sources as ruff wants them
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

fuzz: $(STAMP) ## run the property tests alone, with many examples and a fresh seed
	$(ONE_THREAD) VVCV_FUZZ_EXAMPLES=$(strip $(FUZZ_EXAMPLES)) $(BIN)/python -m pytest -q -n $(strip $(WORKERS)) \
		-m hypothesis --hypothesis-seed=$(strip $(FUZZ_SEED)) $(PYTEST_ARGS)

mutants: $(STAMP) ## change the code in small ways and count the changes that no test notices; minutes
	rm -rf build/mutants_calls.json build/mutants_killed
	$(ONE_THREAD) $(BIN)/python -m benchmarks.mutation.run --sample $(strip $(MUTANTS)) --seed $(strip $(MUTANTS_SEED)) \
		--jobs $(strip $(MUTANTS_JOBS))

bench: $(STAMP) ## run the accuracy and speed benchmarks
	$(BIN)/python benchmarks/accuracy.py
	$(BIN)/python benchmarks/speed.py

lock: ## write the lock files anew from the newest versions pyproject.toml allows
	rm -rf build/lock
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install -qq --upgrade pip
	build/lock/bin/python -m pip install -qq --upgrade --upgrade-strategy eager \
		'.[dev,plot,files,arviz,experiments,evidence]' 'setuptools<82'
	{ echo '# Everything the extras need, but for the samplers beside JAX, pinned. Written by `make lock`.'; \
		build/lock/bin/python -m pip freeze --all --exclude pip --exclude vvcv; } > build/requirements.lock
	build/lock/bin/python -m pip install -qq -c build/requirements.lock '.[all]'
	{ echo '# What the extra all needs beyond requirements.lock, for the tests of samplers. Written by `make lock`.'; \
		build/lock/bin/python -m pip freeze --all --exclude pip --exclude vvcv | grep -vxFf build/requirements.lock; \
		} > build/requirements-samplers.lock
	[ -z "$(STAN)" ] || { build/lock/bin/python -m pip install -qq -c build/requirements.lock \
			-c build/requirements-samplers.lock '.[stan]' && { \
		echo '# What the extra stan needs beyond both, where there are builds of it (x86). Written by `make lock`.'; \
		build/lock/bin/python -m pip freeze --all --exclude pip --exclude vvcv \
			| grep -vxFf build/requirements.lock | grep -vxFf build/requirements-samplers.lock; \
		} > build/requirements-stan.lock; mv build/requirements-stan.lock .; }
	$(PYTHON) -m venv --clear build/lock
	build/lock/bin/python -m pip install -qq --upgrade pip
	build/lock/bin/python -m pip install -qq -c build/requirements.lock -r build/requirements.lock '.[docs]'
	{ echo '# What the extra docs needs beyond requirements.lock, for `make docs`. Written by `make lock`.'; \
		build/lock/bin/python -m pip freeze --all --exclude pip --exclude vvcv | grep -vxFf build/requirements.lock; \
		} > build/requirements-docs.lock
	mv build/requirements.lock build/requirements-samplers.lock build/requirements-docs.lock .

wheel: $(STAMP) ## build wheel and sdist into dist/
	$(BIN)/hatchling build -d dist

release-check: $(STAMP) ## install the wheel in bare environments, oldest and newest versions, and run its smoke test
	$(BIN)/python tools/release_check.py $(strip $(RELEASE_PYTHONS)) $(RELEASE_ARGS)

clean: ## remove the virtual environment and everything generated
	rm -rf $(VENV) $(SAMPLERS) $(NEWEST) $(DOCS) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
