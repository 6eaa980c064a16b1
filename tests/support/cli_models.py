"""Models, inputs and calls of the command line for its tests."""

import json
import os
import pathlib
import signal
import re
import subprocess
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
INTARSIA = os.environ.get("INTARSIA_CLI", str(SOURCE / "build/bin/intarsia"))
LIGHT_MODELS = pathlib.Path(onnx.__file__).parent / "backend/test/data/light"


def call(*arguments, status=0, env=None, timeout=300, **options):
    """Runs a command. One that fails says why in exactly one line."""
    done = subprocess.run(
        [INTARSIA, *map(str, arguments)],
        capture_output=True,
        text=True,
        errors="replace",
        env={**os.environ, **(env or {})},
        timeout=timeout,
        **options,
    )
    assert done.returncode == status, f"{arguments}: status {done.returncode}\n{done.stdout}\n{done.stderr}"
    if status != 0:
        lines = [line for line in done.stderr.splitlines() if not line.startswith("progress: ")]
        assert len(lines) == 1 and lines[0].startswith("error: "), done.stderr
    return done


def call_json(*arguments, status=0, **options):
    return json.loads(call(*arguments, "--json", status=status, **options).stdout)


def skip_on_a_busy_machine(report):
    """Skips the rest of a test that is about times which a compile keeps: those of a busy machine are not kept."""
    tuning = report["tuning"]
    if tuning["disturbed"] or tuning["disturbed_boundaries"] or (report["plan"] or {}).get("unsure"):
        pytest.skip("other work on this machine took cores from what was timed")


def skip_without_device(name):
    """Skips the test where the machine lacks a device that `devices` always lists, and says why."""
    [found] = [device for device in call_json("devices")["devices"] if device["name"] == name]
    if found["description"].startswith("not available"):
        pytest.skip(found["description"])


def skip_where_the_emulator_failed(log):
    if "decode_save_opc: Assertion" in log:
        pytest.skip("QEMU 7.2 ends where two conversions of RISC-V's vectors (vfcvt.rtz) follow each other")


def without_progress(text):
    """What was printed, without the lines that depend on how long the machine takes."""
    return re.sub(r"^progress: .*\n", "", text, flags=re.M)


def error_of(*arguments, status=1, **options):
    """What a command that fails says, without the progress that a busy machine lets it report."""
    lines = call(*arguments, status=status, **options).stderr.strip().splitlines()
    return "\n".join(line for line in lines if not line.startswith("progress: "))


def kill_at_first_file(folder, *arguments):
    """Starts a command and kills it in the middle of its work: when it has a temporary file, for which it gets the
    folder."""
    folder.mkdir()
    process = subprocess.Popen(
        [INTARSIA, *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(folder)},
    )
    while process.poll() is None and not any(folder.iterdir()):
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


def save(path, nodes, inputs, outputs, constants=(), opsets=(("", 18),), functions=(), checked=True):
    """inputs and outputs are (name, type, shape); constants are (name, array)."""
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info(*one) for one in inputs],
        [helper.make_tensor_value_info(*one) for one in outputs],
        [
            one if isinstance(one, onnx.TensorProto) else numpy_helper.from_array(one[1], one[0])
            for one in constants
        ],
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid(*one) for one in opsets], functions=functions
    )
    model.ir_version = 9
    if checked:
        onnx.checker.check_model(model)
    onnx.save(model, path)
    return path


def save_small(path, scale=1.0, batch=2):
    """x[batch,3,8,8] -> y[batch,5]: convolution, pooling, product."""
    random = np.random.default_rng(7)
    return save(
        path,
        [
            helper.make_node("Conv", ["x", "w"], ["c"], "conv1", pads=[1, 1, 1, 1]),
            helper.make_node("Relu", ["c"], ["r"], "relu1"),
            helper.make_node("GlobalAveragePool", ["r"], ["p"], "pool1"),
            helper.make_node("Flatten", ["p"], ["f"], "flatten1"),
            helper.make_node("Gemm", ["f", "m", "b"], ["y"], "gemm1"),
        ],
        [("x", TensorProto.FLOAT, [batch, 3, 8, 8])],
        [("y", TensorProto.FLOAT, [batch, 5])],
        [
            ("w", random.normal(size=(4, 3, 3, 3)).astype(np.float32) * np.float32(scale)),
            ("m", random.normal(size=(4, 5)).astype(np.float32)),
            ("b", np.zeros(5, np.float32)),
        ],
    )


def save_relu(path, dtype=TensorProto.FLOAT, shape=(2, 3), op="Relu"):
    return save(
        path,
        [helper.make_node(op, ["x"], ["y"], "node1")],
        [("x", dtype, list(shape))],
        [("y", dtype, list(shape))],
    )


def compile_small(folder, *options, **model):
    """A program of the reference backend, which every build has."""
    source = save_small(folder / "small.onnx", **model)
    program = folder / "small.so"
    call("compile", source, "-o", program, "--backends", "reference", *options)
    return program


KERNEL = """
#include <intarsia/kernel.h>
static int infer(const intarsia_kernel_node* node, const intarsia_kernel_tensor* in, size_t n, intarsia_kernel_tensor* out, size_t m,
                 intarsia_kernel_message* message) { out[0] = in[0]; out[0].data = 0; return 0; }
static int run(const intarsia_kernel_node* node, const intarsia_kernel_tensor* in, size_t n, const intarsia_kernel_tensor* out, size_t m,
               intarsia_kernel_message* message) {
  size_t count = 1;
  for (int i = 0; i < in[0].rank; ++i) count *= in[0].sizes[i];
  for (size_t i = 0; i < count; ++i) {
    const float x = ((const float*)in[0].data)[i];
    ((float*)out[0].data)[i] = EXPRESSION;
  }
  return 0;
}
static const intarsia_kernel kernel = {sizeof(kernel), "DOMAIN", "OPERATOR", infer, run};
static const intarsia_kernel* const kernels[] = {&kernel};
static const intarsia_kernel_library library = {sizeof(library), INTARSIA_KERNEL_ABI, 1, kernels};
const intarsia_kernel_library* intarsia_kernels(void) { return &library; }
"""


def build_kernel(folder, domain, operator, expression):
    """A library with a user's kernel of one float tensor, whose elements become an expression in C of `x`."""
    source, library = folder / "kernel.c", folder / "libkernel.so"
    text = KERNEL.replace("DOMAIN", domain).replace("OPERATOR", operator)
    source.write_text(text.replace("EXPRESSION", expression))
    subprocess.run(
        ["cc", "-shared", "-fPIC", f"-I{SOURCE}/include", source, "-o", library], check=True, timeout=60
    )
    return library
