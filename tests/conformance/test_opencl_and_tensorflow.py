"""TensorFlow and an OpenCL driver in one process, in both orders: each has an LLVM of its own. Skipped where there is no device.

Covers: src/device/opencl/ api.cc
"""

import subprocess
import sys

import numpy as np
import pytest
from cli_models import TensorProto, call, call_json, helper, save

DEVICE = "opencl:0"
TENSORFLOW = "import tensorflow; tensorflow.function(lambda x: x + 1, jit_compile=True)(tensorflow.ones([2]))"
OPENCL = (
    "import intarsia, numpy, sys; "
    "y = intarsia.load(sys.argv[1])(x=numpy.full([3, 5], 2, 'float32')); "
    "assert (y == 6).all(), y"
)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    [found] = [device for device in call_json("devices")["devices"] if device["name"] == DEVICE]
    if found["description"].startswith("not available"):
        pytest.skip(found["description"])
    folder = tmp_path_factory.mktemp("both")
    model = save(
        folder / "model.onnx",
        [helper.make_node("Mul", ["x", "k"], ["y"], "mul")],
        [("x", TensorProto.FLOAT, [3, 5])],
        [("y", TensorProto.FLOAT, [3, 5])],
        [("k", np.array([3], np.float32))],
    )
    call("compile", model, "-o", folder / "program.so", "-d", DEVICE, "--pin", f"*=halide@{DEVICE}")
    return folder / "program.so"


@pytest.mark.parametrize(
    "steps",
    ((TENSORFLOW, OPENCL), (OPENCL, TENSORFLOW), ("import tensorflow", OPENCL, TENSORFLOW, OPENCL)),
    ids=("tensorflow_first", "opencl_first", "in_turns"),
)
def test_both_run(program, steps):
    done = subprocess.run([sys.executable, "-c", "\n".join(steps), program], capture_output=True, text=True)
    assert done.returncode == 0, f"status {done.returncode}: {done.stderr[-2000:]}"
