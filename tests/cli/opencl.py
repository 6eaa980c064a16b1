"""Models on an OpenCL device through the command line: right results, and copies only of inputs and outputs. Skipped where
there is no device.

Covers: backends/halide/target.cc src/measure/ time_device_kernels.cc
"""

import numpy as np
import pytest
from cli_models import TensorProto, call, call_json, error_of, helper, save, skip_without_device

FLOAT = TensorProto.FLOAT
DEVICE = "opencl:0"


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


def test_what_it_has_no_kernel_for_runs_on_the_processor(tmp_path):
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], "relu"),
        helper.make_node("CumSum", ["a", "axis"], ["b"], "sum"),
        helper.make_node("Exp", ["b"], ["y"], "exp"),
    ]
    model = save(
        tmp_path / "model.onnx",
        nodes,
        [("x", FLOAT, [3, 5000])],
        [("y", FLOAT, [3, 5000])],
        [("axis", np.array(1, np.int64))],
    )
    program = tmp_path / "program.so"
    pins = [option for name in ("relu", "exp") for option in ("--pin", f"{name}=halide@{DEVICE}")]
    call("compile", model, "-o", program, "-d", f"{DEVICE},cpu", "--backends", "halide", *pins)
    assert call_json("check", program, "--against", "reference")["ok"]
    refused = error_of(
        "compile", model, "-o", program, "-d", DEVICE, "--pin", f"sum=halide@{DEVICE}", status=2
    )
    assert "CumSum on OpenCL devices along an axis of more than 2048" in refused


def test_a_machine_without_one_says_why():
    def why(**env):
        [found] = [one for one in call_json("devices", env=env)["devices"] if one["name"] == DEVICE]
        return found["description"]

    assert "not available: there is no OpenCL platform" in why(OCL_ICD_VENDORS="/nowhere")
    assert "has no devices" in why(POCL_DEVICES="none", OCL_ICD_VENDORS="/etc/OpenCL/vendors/pocl.icd")


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
    first = call_json("compile", model, "-o", tmp_path / "first.so", *options)["tuning"]
    again = call_json("compile", model, "-o", tmp_path / "again.so", *options)["tuning"]
    assert first["measured"] >= 2 and first["disabled_reason"] is None, (
        "two tiles of the convolution at least"
    )
    assert again["measured"] == 0 and again["remembered"] >= first["measured"]
    on_cpu = call_json("compile", model, "-o", tmp_path / "cpu.so", "--backends", "halide", *options[-2:])
    assert on_cpu["tuning"]["measured"] >= 2, "times of the device are not the processor's"
    assert call_json("check", tmp_path / "first.so", "--against", "reference")["ok"]
