"""The compile half uses the run half of the process: its code is in one library, its pools of threads are there once.

Covers: registry/ CMakeLists.txt run_exports.map.in compile_exports.map include/intarsia/ intarsia_compile.hpp
"""

import os
import pathlib
import subprocess
import sys

from cli_models import SOURCE, call, save_small

BUILD = pathlib.Path(os.environ.get("INTARSIA_BUILD", SOURCE / "build/release"))
RUN, COMPILE = BUILD / "lib/libintarsia.so.0", BUILD / "lib/libintarsia_compile.so"


def symbols(library, kinds):
    lines = subprocess.run(
        ["nm", "-C", library], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    words = [line.split(maxsplit=2) for line in lines if not line.startswith(" ")]
    return {name.split("@")[0] for _, kind, name in words if kind in kinds and name.startswith("intarsia::")}


def test_no_function_is_in_both_libraries():
    """But those of headers, which are weak; their variables would be in both, so there are none."""
    assert len(symbols(RUN, "T")) > 500
    assert not symbols(RUN, "T") & symbols(COMPILE, "Tt")
    assert not symbols(RUN, "BDVu") & symbols(COMPILE, "BbDdVvu")


THREADS = """
import os, pathlib, sys, threading, time
import intarsia, numpy as np
program, model = sys.argv[1:]
session = intarsia.load(program).bind(threads=2)
session.run({"x": np.zeros((2, 3, 8, 8), np.float32)})
count = lambda: len(os.listdir("/proc/self/task"))
counts, done = [], threading.Event()
def sample():
    while not done.wait(0.0005):
        counts.append(count())
before = count()
sampler = threading.Thread(target=sample)
sampler.start()
intarsia.compile(model, tune="fast", backends=["halide", "reference"], threads=2)
done.set()
sampler.join()
print(before, max(counts))
"""


def test_measuring_uses_the_threads_of_an_open_session(tmp_path):
    model = save_small(tmp_path / "small.onnx")
    call("compile", model, "-o", tmp_path / "small.so", "--tune", "off", "--threads", "2")
    done = subprocess.run(
        [sys.executable, "-c", THREADS, tmp_path / "small.so", model],
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "XDG_CACHE_HOME": str(tmp_path / "cache")},
        check=True, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    before, most = map(int, done.stdout.split())
    assert (before, most) == (2, 3)  # the caller and the worker of its pool; then the sampler
