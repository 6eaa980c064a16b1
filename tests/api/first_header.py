"""A C program compiled against the first version of the headers runs with the current libraries.

Covers: src/api/ struct_sizes.h run_api.cc run_api_describe.cc compile_api.cc
"""

import os
import pathlib
import subprocess

from cli_models import SOURCE, save_small

BUILD = pathlib.Path(os.environ.get("INTARSIA_BUILD", SOURCE / "build/release"))


def test_a_caller_of_the_first_header(tmp_path):
    caller = pathlib.Path(os.environ["INTARSIA_CLI"]).parent / "first_header"
    model = save_small(tmp_path / "small.onnx")
    done = subprocess.run(
        [str(caller), str(model), str(tmp_path / "small.so")],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "LD_LIBRARY_PATH": str(BUILD / "lib")},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["1 functions, main, cpu, cpu", "y: rank 2"]
