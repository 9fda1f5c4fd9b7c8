# Every target makes the environment it needs: Python 3.11 to 3.13 and make are enough. `make help` lists them.

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PACKAGERS := $(VENV)/.packagers
DEMO := planner_app/data/demo.keras
WRITTEN := build/demo

# What the caller's shell says about another Python is not meant for this one, and compiling every test anew for each
# process that runs them takes as long as some of them.
unexport PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: lock audit dist dist-test bundle bundle-test icons deb
.PHONY: help run commands test suite lint style types imports format accuracy gallery versions published pictures samples man sharded bench fuzz kills writes soak guards fleet reliability equality disturbances clean distclean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(READY) ## the app on the small model that ships with it; without a screen, its commands and a picture of the window
ifneq ($(or $(DISPLAY),$(WAYLAND_DISPLAY)),)
	$(BIN)/plimsoll $(DEMO)
else
	$(MAKE) --no-print-directory commands
	$(BIN)/plimsoll $(DEMO) --picture $(WRITTEN)/app.png
	@echo && echo "There is no screen here: $(WRITTEN)/app.png shows the window that \`plimsoll $(DEMO)\` opens."
endif

commands: $(READY) ## what plimsoll says about that model on the command line
	$(call on_demo,describe)
	$(call on_demo,estimate,--batch 256 --device "NVIDIA L4")
	$(call on_demo,sweep,--devices "NVIDIA L4")
	$(call on_demo,max-batch,--device "NVIDIA L4")

# A command, and its options, on the demo model: for a person on the terminal, for programs in a file.
define on_demo
	$(BIN)/plimsoll $(1) $(DEMO) $(2)
	@mkdir -p $(WRITTEN)
	@$(BIN)/plimsoll $(1) $(DEMO) $(2) --json > $(WRITTEN)/$(1).json
	@echo && echo "Wrote $(WRITTEN)/$(1).json: the same, for programs."
endef

# Two processes for each core, since tests also wait for each other's children and for timers; up to six, since each may
# hold TensorFlow several times. The tests of a file stay together.
PARALLEL := --numprocesses $(shell echo $$(( $$(nproc) * 2 ))) --maxprocesses 6 --dist loadfile --no-loadscope-reorder

# mypy takes a minute of one core where it has no cache yet, so the tests begin beside it.
test: $(READY) ## lint and the whole test suite
	@$(MAKE) --no-print-directory --jobs 2 lint suite

# Workers may not write what they compile of our code, so each of hundreds would compile it again.
suite: $(READY)
	@$(BIN)/python -m compileall -q planner_app
	$(BIN)/pytest $(PARALLEL)

lint: style types imports ## style, types and import contracts

style: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

imports: $(READY)
	$(BIN)/lint-imports --no-logo

format: $(READY) ## write the code the way lint wants it
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

accuracy: $(READY) ## hold estimates against measurements; the table goes into the README
	$(BIN)/python tests/accuracy
	$(BIN)/python tests/accuracy/compiled.py
	$(BIN)/python tests/accuracy/unseen.py
	$(BIN)/python tests/accuracy/curves.py --most 3

versions: $(READY) ## estimate and measure under TensorFlow 2.16 to 2.21 and Keras 3.5 to 3.15; downloads gigabytes, takes half an hour
	$(BIN)/python tests/versions

published: $(READY) ## hold estimates against figures that others have published from real GPUs; half an hour
	$(BIN)/python tests/published

gallery: $(READY) ## every model of tests/gallery by function, file and live, held against real steps and fit; needs keras-hub
	$(BIN)/python -m tests.gallery

speeds: $(READY) ## fit the speed model to published trainings, and judge it on GPUs that were left out; minutes
	$(BIN)/python tests/speeds

pictures: $(READY) ## every panel as the tests draw it, in build/pictures; those of README and guide from there
	$(BIN)/pytest -q tests/gui -k pictures
	$(BIN)/python packaging/copy_pictures.py

samples: $(READY) ## run the commands that README and guide show, and say what has changed
	$(BIN)/python tests/tools/samples.py

man: $(READY) ## the man page, from the command line itself
	$(BIN)/python -m planner_app.commands.help.reference > packaging/plimsoll.1.new
	mv packaging/plimsoll.1.new packaging/plimsoll.1

sharded: $(READY) ## hold sharded state against real fits on simulated devices, and 7 billion parameters against 3 GiB and 10 minutes; needs keras-hub
	$(BIN)/python -m tests.sharding.truth
	$(BIN)/python -m tests.sharding.seven_billion

bench: $(READY) ## how time and memory grow with a model's size
	@set -e; for script in tests/benchmarks/*.py; do echo "$$script"; $(BIN)/python $$script; done

fuzz: $(READY) ## minutes of changed files, through everything that reads what others wrote; finds are kept in build/fuzz
	@$(BIN)/python -m pip install --quiet atheris || echo "atheris has no build for this Python: changes are made at random only"
	$(BIN)/python tests/fuzz --seconds 20 --atheris 10

kills: $(READY) ## 200 workers killed at random moments; half an hour
	$(BIN)/python tests/reliability/kills.py

writes: $(READY) ## the app killed 50 times while it writes, and a fault at every call of every write; minutes
	$(BIN)/python tests/reliability/writes.py

soak: $(READY) ## hundreds of random operations on the app without a screen; nothing may grow; half an hour
	$(BIN)/python tests/reliability/soak.py

guards: $(READY) ## each guard of SECURITY.md switched off in a copy: the tests must notice; ten minutes
	$(BIN)/python tests/reliability/guards.py

fleet: $(READY) ## measurements on a real Ray cluster on this machine while nodes are killed, and a plan trained by Ray Train; half an hour
	@$(BIN)/python -m pip install --quiet "ray[train]>=2.48,<3"
	$(BIN)/python tests/fleet/proof.py
	$(BIN)/python tests/fleet/train_proof.py
	$(BIN)/python tests/reliability/report.py

reliability: $(READY) ## the README's table of long runs, out of tests/reliability/results
	$(BIN)/python tests/reliability/report.py

equality: $(READY) ## training under plans held against Keras' fit, in every way that counts; minutes
	$(BIN)/python tests/train/equality.py
	$(BIN)/python tests/train/training_report.py

disturbances: $(READY) ## training that runs out of memory or is killed, at every moment, under plimsoll run; minutes
	$(BIN)/python tests/train/disturbances.py
	$(BIN)/python tests/train/training_report.py

dist: $(PACKAGERS) ## wheel and source archive, with a list of what they are made of (CycloneDX), in dist/
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python packaging/make_sbom.py dist/plimsoll-*.whl

lock: $(READY) ## packaging/requirements.lock: what the tests run with, by version and hash
	$(BIN)/python packaging/make_lock.py

audit: $(PACKAGERS) ## ask whether any package of that lock has a hole that is known
	@$(BIN)/python -m pip install --quiet pip-audit
	$(BIN)/pip-audit --require-hashes --disable-pip -r packaging/requirements.lock

dist-test: dist ## install the wheel in a clean environment and use it
	$(BIN)/pytest -q tests/packaging/built_dist.py

icons: $(READY) ## the icon in every size, in build/icons
	$(BIN)/python packaging/make_icons.py

bundle: $(PACKAGERS) icons ## the app as a folder that brings its own Python, without TensorFlow: build/bundle/plimsoll
	$(BIN)/python -m PyInstaller --clean --noconfirm --log-level ERROR --distpath build/bundle --workpath build/pyinstaller \
		packaging/plimsoll.spec
	@echo "Wrote build/bundle/plimsoll: run build/bundle/plimsoll/plimsoll."

bundle-test: bundle ## start the bundle, the AppDir and the Debian package made of it, without a screen
	$(BIN)/python packaging/make_deb.py
	sh packaging/make_appdir.sh
	$(BIN)/pytest -q tests/packaging/built_bundle.py tests/packaging/built_linux.py

deb: bundle ## a Debian package of the bundle, in dist/
	$(BIN)/python packaging/make_deb.py

$(PACKAGERS): $(READY)
	@$(BIN)/python -m pip install --quiet --group packaging
	@touch $@

clean: ## remove what was built and cached, but not the environment
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find planner_app tests packaging -name __pycache__ -prune -exec rm -rf {} +

distclean: clean ## remove the environment too
	rm -rf $(VENV)

# An environment that works is kept and brought up to date; pip reads dependency groups since 25.1.
$(READY): pyproject.toml
	@$(SUITABLE) $(BIN)/python 2>/dev/null || { $(FIND_PYTHON) && "$$python" -m venv --clear $(VENV); }
	@echo "Installing what plimsoll needs into $(VENV); TensorFlow is large, so the first time takes minutes."
	@$(BIN)/python -m pip install --quiet "pip>=25.1"
	@$(BIN)/python -m pip install --quiet --editable ".[app,tensorflow,legacy,xla-gpu]" --group dev
	@touch $@

# A Python that can be started, is of a version that TensorFlow has wheels for, and can make environments.
SUITABLE := suits() { "$$1" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))'; }; suits
FIND_PYTHON = for python in $(or $(PYTHON),python3 python3.13 python3.12 python3.11 python); do \
	suits "$$python" 2>/dev/null && break; python=; done; \
	test -n "$$python" || { \
	echo "Found no Python 3.11, 3.12 or 3.13 that can make environments$(if $(PYTHON), at $(PYTHON)): install one" \
	"(Debian and Ubuntu: with its venv package), or name one: make $(or $(MAKECMDGOALS),test) PYTHON=/path/to/python3.12" >&2; \
	exit 1; }
