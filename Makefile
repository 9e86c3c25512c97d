# `make demo` and `make test` need Python 3.10 or newer (3.11 preferred), git and make: each first
# creates a virtual environment in .venv and installs everything into it, unless that was done.

PYTHON ?= $(shell for p in python3.11 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && echo $$p && break; done)
VENV ?= .venv
PYTEST_ARGS ?= -n auto --dist worksteal
PIP_FLAGS ?= --quiet --quiet
# https://download.pytorch.org/whl/cpu spares Linux users torch's CUDA libraries.
TORCH_INDEX ?=

BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

COMPILED := build/compiled
SANITIZED := build/sanitized
DEBUGGED := build/debugged
DEBUG_PYTHON ?= python3-dbg
, := ,
IN_C := $(wildcard shapecheck/runtime/naming/*.[ch])
BESIDE := tests stubs docs examples benchmarks hatch_build.py pyproject.toml Makefile \
	README.md CONTRIBUTING.md CHANGELOG.md
TESTS_COMPILED := tests/test_compiled.py \
	$(addprefix tests/,dims shapes spec ops signatures analysis engine project cli runtime named)

TESTS_SANITIZED := $(addprefix tests/,runtime named first_class systems mixups/test_same_names.py)

TESTS_DEBUGGED := $(addprefix tests/,runtime/naming first_class)

ON_A_DEVICE := $(addprefix tests/,runtime named first_class systems mixups ops/patterns)

.DEFAULT_GOAL := help
.PHONY: help install demo test lint typecheck unit gpu compiled test-compiled sanitized debugged wheels torches conformance agreement originals bench soak corpus libraries same messages docs settings picture structure mutants survivors fuzz interrupted edits planted annotated models posted vsix clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(INSTALLED) ## Create the virtual environment and install everything into it

demo: $(INSTALLED) ## Watch mypy and @shapecheck find shape bugs in the example models
	$(BIN)/python examples/demo.py

test: lint typecheck unit ## Run every check: ruff, mypy --strict, pytest

lint: $(INSTALLED) ## Run ruff check and ruff format --check
	$(BIN)/ruff check
	$(BIN)/ruff format --check

typecheck: $(INSTALLED) ## Run mypy --strict over shapecheck/, with its own plugin on
	$(BIN)/mypy --strict shapecheck

# Each process takes half a gigabyte of the device for itself.
gpu: $(INSTALLED) ## Run the run-time suite with tensors on the CUDA device, and print what it costs there
	$(BIN)/python -m pytest --device cuda --maxprocesses 8 $(PYTEST_ARGS) $(ON_A_DEVICE)
	$(BIN)/python benchmarks/device.py

unit: $(INSTALLED) ## Run pytest on all cores (make unit PYTEST_ARGS="-k spec")
	$(BIN)/python -m pytest $(PYTEST_ARGS)

vsix: ## Build the extension for VS Code, test it, and pack it into editors/vscode/*.vsix
	cp LICENSE editors/vscode/
	cd editors/vscode && npm ci && npm run compile && npm test && \
		npx @vscode/vsce package --no-dependencies --allow-missing-repository

compiled: $(INSTALLED) ## Build a wheel into dist/ in which mypyc has compiled the analysis (takes minutes)
	SHAPECHECK_COMPILE=1 $(BIN)/python -m build --wheel --no-isolation --outdir dist

# The tests run beside the package of the wheel, where nothing of the working tree is imported.
test-compiled: compiled ## Run the tests of what is compiled against that wheel
	rm -rf $(COMPILED)
	$(BIN)/python -m pip install $(PIP_FLAGS) --no-deps --target $(COMPILED) \
		"$$(ls -t dist/torch_shapecheck-*.whl | head -n 1)"
	cp -R $(BESIDE) $(COMPILED)
	cd $(COMPILED) && PYTHONPATH=$(abspath $(COMPILED)) SHAPECHECK_COMPILED=1 \
		$(abspath $(BIN))/python -m pytest $(PYTEST_ARGS) $(TESTS_COMPILED)

# A copy of the package in the folder $(1), whose C part is built for the Python $(2) with the flags $(3).
define BUILT_BESIDE
	rm -rf $(1) && mkdir -p $(1)
	cp -R shapecheck $(BESIDE) $(1)
	rm -f $(1)/shapecheck/runtime/naming/_lookup.*.so
	cd $(1)/shapecheck/runtime/naming && gcc -O1 -g -Wall -Wextra -Werror -fPIC -shared $(3) \
		$$($(2) -c 'import sysconfig as s; \
			print("-I" + s.get_path("include"), *"_lookup.c _readings.c -o".split(), \
				"_lookup" + s.get_config_var("EXT_SUFFIX"))')
endef

# Python and torch keep what they allocate until the end, so that leaks are not for these to find.
sanitized: $(INSTALLED) ## Run the run-time tests with the C part under AddressSanitizer and UBSan
	$(call BUILT_BESIDE,$(SANITIZED),$(abspath $(BIN))/python,\
		-fsanitize=address$(,)undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
	cd $(SANITIZED) && PYTHONPATH=. ASAN_OPTIONS=detect_leaks=0 \
		LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
		$(abspath $(BIN))/python -m pytest $(PYTEST_ARGS) $(TESTS_SANITIZED)

# It has the version of that in $(VENV): Debian's python3.11-dbg, say. What it asserts ends it.
debugged: $(INSTALLED) ## Run the tests of the C part with a debug build of Python: DEBUG_PYTHON=python3.11-dbg
	$(call BUILT_BESIDE,$(DEBUGGED),$(DEBUG_PYTHON))
	cd $(DEBUGGED) && PYTHONPATH=.:$$($(abspath $(BIN))/python -c \
		'import sysconfig; print(sysconfig.get_path("purelib"))') \
		$(DEBUG_PYTHON) -m pytest $(PYTEST_ARGS) $(TESTS_DEBUGGED)

wheels: $(INSTALLED) ## Build what is released into dist/, and try it where neither torch nor a compiler is (WHEELS_ARGS="--help")
	$(BIN)/python release/wheels.py dist $(WHEELS_ARGS)

# Each has a virtual environment of its own in build/, which the next run uses again.
torches: $(INSTALLED) ## Run what runs at run time with the oldest torch, 2.13 and the newest: TORCHES="2.4.* 2.13.0 >=2.13"
	$(BIN)/python release/torches.py $(TORCHES)

conformance: $(INSTALLED) ## Judge the op rules by torch's own test database; writes docs/developers/conformance.md
	PYTHONPATH=tests $(BIN)/python -m conformance.report

agreement: $(INSTALLED) ## Print which seeded bugs mypy, @shapecheck and torch alone find
	$(BIN)/python benchmarks/agreement.py --mypy
	$(BIN)/python benchmarks/origins.py

originals: $(INSTALLED) ## Run the tests of the systems that this comes from: ORIGINALS=folder/of/checkouts
	PYTHONPATH=tests $(BIN)/python -m systems.originals $(ORIGINALS) $(ORIGINALS_ARGS)

bench: $(INSTALLED) ## Run the benchmarks
	$(BIN)/python benchmarks/static.py
	$(BIN)/python benchmarks/scaling.py
	$(BIN)/python benchmarks/loading.py
	$(BIN)/python benchmarks/annotate.py again $(sort $(filter-out examples/demo.py,$(wildcard examples/*.py)))
	$(BIN)/python benchmarks/annotate.py record
	$(BIN)/python benchmarks/runtime.py

soak: $(INSTALLED) ## Run millions of calls and ops with names, and compare the memory on the way (SOAK_ARGS="--help")
	$(BIN)/python benchmarks/soak.py $(SOAK_ARGS)

corpus: $(INSTALLED) ## Fetch public repositories, and run mypy and the analysis over them
	$(BIN)/python benchmarks/corpus/run.py --fetch --page benchmarks/corpus/results.md $(CORPUS_ARGS)

libraries: $(INSTALLED) ## Check programs over real libraries: LIBRARIES=path/to/python of an environment with them
	$(BIN)/python benchmarks/libraries/run.py $(LIBRARIES)

same: $(INSTALLED) ## Compare what the working tree says of all programs with what a commit says
	$(BIN)/python benchmarks/same.py $(SAME_ARGS)

messages: $(INSTALLED) ## Write docs/messages.md anew, with what is said of common mistakes
	PYTHONPATH=benchmarks $(BIN)/python -m messages.page

docs: ## Build the site of the documentation into build/site, where a broken link is an error
	$(PYTHON) -m venv build/docs
	build/docs/bin/python -m pip install $(PIP_FLAGS) "mkdocs>=1.6,<2" "mkdocs-material>=9.6,<10"
	NO_MKDOCS_2_WARNING=1 build/docs/bin/python -m mkdocs build --quiet --strict --site-dir build/site

settings: $(INSTALLED) ## Write the tables of docs/settings.md anew, where a setting or an argument has changed
	$(BIN)/python benchmarks/settings_page.py

picture: $(INSTALLED) ## Draw the picture in README anew, where what it shows is said in another way
	$(BIN)/python benchmarks/readme_picture.py

structure: $(INSTALLED) ## Count circles of imports, ladders of isinstance and the like (STRUCTURE_ARGS="--help")
	$(BIN)/python benchmarks/structure.py $(STRUCTURE_ARGS)

mutants: $(INSTALLED) ## Break the examples in one place at a time, and count what is found
	$(BIN)/python benchmarks/mutate.py --missed $(MUTANTS_ARGS)

survivors: $(INSTALLED) ## Break shapecheck's own source in one place at a time, and print what no test notices (SURVIVORS_ARGS="--help")
	PYTHONPATH=benchmarks $(BIN)/python -m survivors $(SURVIVORS_ARGS)

fuzz: $(INSTALLED) ## Draw new programs, and look for what the tool can't stand (FUZZ_ARGS="--help")
	PYTHONPATH=tests $(BIN)/python -m fuzz $(FUZZ_ARGS)

interrupted: $(INSTALLED) ## Kill what writes files at random moments, and count what is lost (INTERRUPTED_ARGS="--help")
	$(BIN)/python benchmarks/interrupted.py $(INTERRUPTED_ARGS)

edits: $(INSTALLED) ## Draw edits, and compare the daemon, warm and cold runs after each (EDITS_ARGS="--help")
	PYTHONPATH=benchmarks $(BIN)/python -m edits $(EDITS_ARGS)

planted: $(INSTALLED) ## Plant mistakes in public repositories, count which are found: PLANTED=folder/of/checkouts
	$(BIN)/python benchmarks/planted/run.py $(PLANTED) $(PLANTED_ARGS)

annotated: $(INSTALLED) ## Annotate public repositories, and count what gets a shape: ANNOTATED=folder/of/checkouts
	$(BIN)/python benchmarks/annotated/run.py $(ANNOTATED) $(ANNOTATED_ARGS)

models: $(INSTALLED) ## Run models of other libraries with names and without: MODELS="timm vit_pytorch", MODELS_PYTHON=python that has them
	PYTHONPATH=.:benchmarks $(or $(MODELS_PYTHON),$(BIN)/python) benchmarks/models/run.py $(or $(MODELS),transformers timm torchvision vit_pytorch) $(MODELS_ARGS)

posted: $(INSTALLED) ## Print how many of the bugs that people posted are found (ASIDE=1: those kept aside too)
	PYTHONPATH=tests $(BIN)/python benchmarks/posted_shares.py $(if $(ASIDE),--aside)

clean: ## Remove the virtual environment, caches and built files
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
	rm -f shapecheck/runtime/naming/_lookup.*.so shapecheck/runtime/naming/_lookup.*.pyd
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): pyproject.toml constraints-dev.txt hatch_build.py $(IN_C)
	@if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
		if [ -z "$(PYTHON)" ]; then \
			echo "No Python 3.10 or newer found: install one, or name it: make PYTHON=/path/to/python" >&2; \
			exit 1; \
		fi; \
		"$(PYTHON)" -m venv $(VENV); \
	fi
	@echo "Installing torch, mypy and the development tools into $(VENV) (takes minutes the first time)"
	@$(BIN)/python -m pip install $(PIP_FLAGS) --disable-pip-version-check --no-input \
		$(addprefix --extra-index-url=,$(TORCH_INDEX)) \
		--constraint constraints-dev.txt --editable '.[dev]'
	@touch $@
