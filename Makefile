# make demo   everything a fresh Debian 12 machine needs, then: compile a real model, run it, check it, draw it
# make test   the same setup, then every test
# make bench  the measurements of docs/performance.md and docs/gaps.md
.PHONY: demo test bench configure build models setup clean

setup:
	@scripts/setup.sh

configure: setup
	@cmake --preset release >build/configure.log || { tail -20 build/configure.log >&2; exit 1; }

build: configure
	@cmake --build --preset release

models: setup
	@build/venv/bin/python scripts/make_models.py
	@build/venv/bin/python scripts/make_torch_like_models.py
	@build/venv/bin/python scripts/make_tensorflow_models.py

# The command, its libraries and the Python package, without tests and benchmarks.
demo: configure
	@cmake --build --preset release --target intarsia_cli _intarsia
	@scripts/demo.sh

test: build models
	@scripts/test.sh

bench: build models
	@scripts/bench.sh

clean:
	rm -rf build
