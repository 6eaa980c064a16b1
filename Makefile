# make demo   everything a fresh Debian 12 machine needs, then: compile a real model, run it, check it, draw it
# make test   the same setup, then every test
# make soak   what can run for ever, for hours: docs/soak.md
# make bench  the measurements of docs/performance.md and docs/gaps.md
.PHONY: demo test soak bench tools setup configure build models program demo-models clean

# V=1 shows each command of a build.
NINJA_FLAGS = $(if $(V),,-- --quiet)

# What compiling needs, and then all the rest.
tools:
	@scripts/setup.sh build

setup: tools
	@scripts/setup.sh

configure: tools
	@cmake --preset release >build/configure.log || { tail -20 build/configure.log >&2; exit 1; }

build: configure
	@echo "build: compiling the program and its tests; about 10 minutes on two cores (V=1 shows each step)"
	@cmake --build --preset release $(NINJA_FLAGS)

models: setup
	@build/venv/bin/python scripts/make_models.py
	@build/venv/bin/python scripts/make_torch_like_models.py
	@build/venv/bin/python scripts/make_tensorflow_models.py

# The command, its libraries and the Python package, without tests and benchmarks.
program: configure
	@echo "build: compiling the program; about 4 minutes on two cores (V=1 shows each step)"
	@cmake --build --preset release --target intarsia_cli _intarsia tensorflow_op $(NINJA_FLAGS)

demo-models: setup
	@scripts/demo_models.sh

# Wheels are installed and models are made while the program compiles.
demo:
	@$(MAKE) --no-print-directory -j2 program demo-models
	@scripts/demo.sh

test:
	@$(MAKE) --no-print-directory -j2 build models
	@scripts/test.sh

soak: build models
	@build/venv/bin/python scripts/soak.py

bench: build models
	@scripts/bench.sh

clean:
	rm -rf build
