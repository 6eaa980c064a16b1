"""Models on an OpenCL device through the command line: right results, and copies only of inputs and outputs. Skipped where
there is no device.

Covers: backends/halide/target.cc src/measure/ time_device_kernels.cc
"""

import json
import os
import subprocess

import numpy as np
import pytest
from cli_models import (
    TensorProto,
    call,
    call_json,
    error_of,
    helper,
    save,
    skip_on_a_busy_machine,
    skip_without_device,
)
from trace_events import read_trace

FLOAT = TensorProto.FLOAT
DEVICE = "opencl:0"


def as_if(devices):
    """The environment in which the machine's devices are such (tests/support/opencl_faults.h)."""
    return {"OPENCL_LAYERS": os.environ["OPENCL_FAULTS_LAYER"], "OPENCL_FAULTS": devices}


@pytest.fixture(scope="module", autouse=True)
def device():
    """Skips all where there is none."""
    skip_without_device(DEVICE)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A convolution, a pool, a product and a softmax."""
    rng = np.random.default_rng(1)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], "conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"], "relu"),
        helper.make_node("MaxPool", ["b"], ["c"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["c"], ["d"], "flatten"),
        helper.make_node("MatMul", ["d", "m"], ["e"], "product"),
        helper.make_node("Softmax", ["e"], ["y"], "softmax", axis=1),
    ]
    return save(
        tmp_path_factory.mktemp("opencl") / "model.onnx",
        nodes,
        [("x", FLOAT, [1, 3, 10, 12])],
        [("y", FLOAT, [1, 7])],
        [
            ("w", rng.standard_normal((9, 3, 3, 3)).astype(np.float32)),
            ("m", rng.standard_normal((270, 7)).astype(np.float32)),
        ],
    )


def test_a_model_runs_on_it(model, tmp_path):
    program = tmp_path / "program.so"
    report = call_json("compile", model, "-o", program, "-d", DEVICE, "--pin", f"*=halide@{DEVICE}")
    assert [(copy["value"], copy["from"], copy["to"]) for copy in report["copies"]] == [
        ("x", "cpu", DEVICE),
        ("y", DEVICE, "cpu"),
    ]
    assert call_json("check", program, "--against", "reference")["ok"]


def test_the_next_compile_gives_the_same_program(model, tmp_path):
    programs = [tmp_path / "first.so", tmp_path / "second.so"]
    for program in programs:
        call("compile", model, "-o", program, "-d", DEVICE, "--pin", f"*=halide@{DEVICE}", "--tune", "off")
    assert programs[0].read_bytes() == programs[1].read_bytes()


def test_recurrent_layers_run_on_it(tmp_path):
    """An LSTM in both directions, then a GRU."""
    rng = np.random.default_rng(2)
    steps, batch, depth, hidden = 5, 2, 6, 20

    def weights(directions, gates, columns):
        return (rng.standard_normal((directions, gates * hidden, columns)) / 4).astype(np.float32)

    nodes = [
        helper.make_node(
            "LSTM", ["x", "w", "r"], ["a"], "lstm", hidden_size=hidden, direction="bidirectional"
        ),
        helper.make_node("Transpose", ["a"], ["b"], "transpose", perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["b", "shape"], ["c"], "reshape"),
        helper.make_node("GRU", ["c", "gw", "gr"], ["", "y"], "gru", hidden_size=hidden),
    ]
    model = save(
        tmp_path / "model.onnx",
        nodes,
        [("x", FLOAT, [steps, batch, depth])],
        [("y", FLOAT, [1, batch, hidden])],
        [
            ("w", weights(2, 4, depth)),
            ("r", weights(2, 4, hidden)),
            ("shape", np.array([steps, batch, 2 * hidden], np.int64)),
            ("gw", weights(1, 3, 2 * hidden)),
            ("gr", weights(1, 3, hidden)),
        ],
    )
    program = tmp_path / "program.so"
    report = call_json("compile", model, "-o", program, "-d", DEVICE, "--pin", f"*=halide@{DEVICE}")
    assert [copy["value"] for copy in report["copies"]] == ["x", "y"]
    assert call_json("check", program)["ok"]


def test_a_device_is_asked_for_f64(tmp_path):
    nodes = [helper.make_node("Exp", ["x"], ["y"], "exp")]
    double = TensorProto.DOUBLE
    model = save(tmp_path / "model.onnx", nodes, [("x", double, [3, 5])], [("y", double, [3, 5])])
    program = tmp_path / "program.so"
    options = ("compile", model, "-o", program, "--pin", "exp=halide@a", "-d")
    call(*options, f"a={DEVICE}")
    assert call_json("check", program, "--against", "reference")["ok"]
    refused = error_of(*options, "a=opencl:999", status=2)
    assert "f64, which 'opencl:999' does not have" in refused
    refused = error_of(*options, f"a={DEVICE}", status=2, env=as_if("lacks_f64=1"))
    assert f"f64, which '{DEVICE}' does not have" in refused


def test_too_little_memory_is_told_in_bytes(tmp_path):
    model = save(
        tmp_path / "model.onnx",
        [helper.make_node("MatMul", ["x", "w"], ["y"], "product")],
        [("x", FLOAT, [1, 1024])],
        [("y", FLOAT, [1, 1024])],
        [("w", np.ones((1024, 1024), np.float32))],
    )
    program = tmp_path / "program.so"
    call("compile", model, "-o", program, "-d", DEVICE, "--pin", f"*=halide@{DEVICE}", "--tune", "off")
    refused = error_of("run", program, env=as_if("memory_bytes=1048576"))
    assert (
        f"cannot allocate 4.0 MB on {DEVICE} (1.0 MB free): bind another device or pass --memory" in refused
    )


def test_what_it_has_no_kernel_for_runs_on_the_processor(tmp_path):
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], "relu"),
        helper.make_node("TopK", ["a", "k"], ["b", "i"], "top", axis=1),
        helper.make_node("Exp", ["b"], ["y"], "exp"),
    ]
    model = save(
        tmp_path / "model.onnx",
        nodes,
        [("x", FLOAT, [3, 50])],
        [("y", FLOAT, [3, 7])],
        [("k", np.array([7], np.int64))],
    )
    program = tmp_path / "program.so"
    pins = [option for name in ("relu", "exp") for option in ("--pin", f"{name}=halide@{DEVICE}")]
    call("compile", model, "-o", program, "-d", f"{DEVICE},cpu", "--backends", "halide,reference", *pins)
    assert call_json("check", program, "--against", "reference")["ok"]
    refused = error_of(
        "compile", model, "-o", program, "-d", DEVICE, "--pin", f"top=halide@{DEVICE}", status=2
    )
    assert "TopK, which only processors run" in refused


def test_a_machine_without_one_says_why(tmp_path):
    def why(**env):
        [found] = [one for one in call_json("devices", env=env)["devices"] if one["name"] == DEVICE]
        return found["description"]

    assert "not available: there is no OpenCL platform" in why(OCL_ICD_VENDORS="/nowhere")
    pocl = {"OCL_ICD_VENDORS": "/etc/OpenCL/vendors/pocl.icd"}
    assert "has no devices" in why(POCL_DEVICES="none", **pocl)
    assert "has no devices" in why(POCL_CACHE_DIR="/proc/not-writable", **pocl)
    loader = tmp_path / "libOpenCL.so.1"
    loader.write_text("not a library")
    assert "OpenCL cannot be opened" in why(LD_LIBRARY_PATH=str(tmp_path))
    subprocess.run(["cc", "-shared", "-x", "c", "/dev/null", "-o", loader], check=True)
    assert "has no clGetPlatformIDs" in why(LD_LIBRARY_PATH=str(tmp_path))


def test_a_trace_has_the_times_of_kernels(model, tmp_path):
    """One after the other, within their region."""
    program, trace = tmp_path / "program.so", tmp_path / "trace.json"
    call("compile", model, "-o", program, "-d", DEVICE, "--pin", f"*=halide@{DEVICE}", "--tune", "off")
    call("run", program, "--trace", trace)
    read_trace(trace)
    events = [event for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] == "X"]
    [region] = [event for event in events if event["cat"] == "region"]
    kernels = sorted((event for event in events if event["cat"] == "kernel"), key=lambda event: event["ts"])
    assert len(kernels) >= 3
    ends = [kernel["ts"] + kernel["dur"] for kernel in kernels]
    assert region["ts"] <= kernels[0]["ts"] and ends[-1] <= region["ts"] + region["dur"] + 1
    assert all(end <= kernel["ts"] + 1 for end, kernel in zip(ends, kernels[1:]))
    assert all(kernel["dur"] > 0 for kernel in kernels)


def test_a_trace_shows_a_copy_beside_a_kernel(tmp_path):
    """By the devices' own times: while one computes, 64 MB go to the other."""
    rng = np.random.default_rng(3)
    size = 512
    model = save(
        tmp_path / "model.onnx",
        [
            helper.make_node("MatMul", ["x", "w"], ["a"], "product"),
            helper.make_node("MatMul", ["a", "w"], ["y"], "product2"),
            helper.make_node("ReduceMax", ["z", "axis"], ["m"], "largest", keepdims=0),
        ],
        [("x", FLOAT, [size, size]), ("z", FLOAT, [4096, 4096])],
        [("y", FLOAT, [size, size]), ("m", FLOAT, [4096])],
        [
            ("w", rng.standard_normal((size, size)).astype(np.float32)),
            ("axis", np.array([1], np.int64)),
        ],
    )
    env = {"POCL_DEVICES": "pthread pthread", "OCL_ICD_VENDORS": "/etc/OpenCL/vendors/pocl.icd"}
    program, trace = tmp_path / "program.so", tmp_path / "trace.json"
    pins = [f"--pin={name}=halide@{slot}" for name, slot in (("product*", "a"), ("largest", "b"))]
    call("compile", model, "-o", program, "-d", "a=opencl:0,b=opencl:1", "--tune", "off", *pins, env=env)
    call("run", program, "--runs", "30", "--trace", trace, env=env)
    read_trace(trace)
    events = [event for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] == "X"]
    copies = [event for event in events if event["cat"] == "copy" and "'z'" in event["name"]]
    kernels = [event for event in events if event["cat"] == "kernel" and "product" in event["name"]]
    assert len(copies) >= 30 and len(kernels) >= 60
    assert any(
        copy["ts"] < kernel["ts"] + kernel["dur"] and kernel["ts"] < copy["ts"] + copy["dur"]
        for copy in copies
        for kernel in kernels
    )


def test_two_of_a_platform_copy_to_each_other(model, tmp_path):
    env = {"POCL_DEVICES": "basic basic", "OCL_ICD_VENDORS": "/etc/OpenCL/vendors/pocl.icd"}
    program = tmp_path / "program.so"
    pins = [
        option
        for name, slot in (("conv", "a"), ("relu", "a"), ("pool", "b"), ("flatten", "b"), ("product", "b"), ("softmax", "a"))
        for option in ("--pin", f"{name}=halide@{slot}")
    ]  # fmt: skip
    report = call_json("compile", model, "-o", program, "-d", "a=opencl:0,b=opencl:1", *pins, env=env)
    assert [(copy["from"], copy["to"]) for copy in report["copies"]] == [
        ("cpu", "a"),
        ("a", "b"),
        ("b", "a"),
        ("a", "cpu"),
    ]
    assert call_json("check", program, "--against", "reference", env=env)["ok"]


def test_kernels_are_timed_on_it(model, tmp_path):
    options = ("-d", DEVICE, "--pin", f"*=halide@{DEVICE}", "--cache", tmp_path / "cache")
    report = call_json("compile", model, "-o", tmp_path / "first.so", *options)
    first = report["tuning"]
    assert first["measured"] >= 2 and first["disabled_reason"] is None, (
        "two tiles of the convolution at least"
    )
    skip_on_a_busy_machine(report)
    again = call_json("compile", model, "-o", tmp_path / "again.so", *options)["tuning"]
    assert again["measured"] == 0 and again["remembered"] >= first["measured"]
    on_cpu = call_json("compile", model, "-o", tmp_path / "cpu.so", "--backends", "halide", *options[-2:])
    assert on_cpu["tuning"]["measured"] >= 2, "times of the device are not the processor's"
    assert call_json("check", tmp_path / "first.so", "--against", "reference")["ok"]
