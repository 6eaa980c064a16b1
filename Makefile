# make demo   everything a fresh Debian 12 machine needs, then: compile a real model, run it, check it, draw it
# make test   the same set-up, then every test
# make bench  the measured figures of docs/performance.md and docs/gaps.md
.PHONY: demo test bench build models setup clean

setup:
	@scripts/setup.sh

build: setup
	@cmake --preset release >build/configure.log || { tail -20 build/configure.log >&2; exit 1; }
	@cmake --build --preset release

models: setup
	@build/venv/bin/python scripts/make_models.py
	@build/venv/bin/python scripts/make_torch_like_models.py
	@build/venv/bin/python scripts/make_tensorflow_models.py

demo: build
	@scripts/demo.sh

test: build models
	@scripts/test.sh

bench: build models
	@scripts/bench.sh

clean:
	rm -rf build
