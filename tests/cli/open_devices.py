"""Sizes that stay open, on devices, on the command line.

Covers: backends/halide/ target.cc
src/runtime/ run_function.cc
"""

import numpy as np
import pytest
from cli_models import TensorProto, call, call_json, error_of, helper, save, skip_without_device

FLOAT = TensorProto.FLOAT


def save_rows(path):
    """A model of every kind of node that a device computes for open sizes: products, sums over rows of known and
    of open length, elementwise and moved ones."""
    random = np.random.default_rng(1)
    return save(
        path,
        [
            helper.make_node("MatMul", ["x", "w"], ["p"], "product"),
            helper.make_node("Relu", ["p"], ["r"], "relu"),
            helper.make_node("Softmax", ["r"], ["s"], "softmax", axis=1),
            helper.make_node("ReduceSum", ["s", "rows"], ["all"], "sum"),
            helper.make_node("Add", ["s", "all"], ["a"], "add"),
            helper.make_node("Transpose", ["a"], ["t"], "transpose", perm=[1, 0]),
            helper.make_node("MatMul", ["a", "t"], ["y"], "square"),
        ],
        [("x", FLOAT, ["N", 3])],
        [("y", FLOAT, ["N", "N"])],
        [("w", random.standard_normal((3, 21)).astype(np.float32)), ("rows", np.array([0], np.int64))],
    )


@pytest.mark.parametrize("device", ["sim:0", "opencl:0", "cuda:0"])
def test_open_sizes_on_a_device(device, tmp_path):
    if device != "sim:0":
        skip_without_device(device)
    model, program = save_rows(tmp_path / "rows.onnx"), tmp_path / "rows.so"
    options = ("-d", f"cpu,accel={device}", "--pin", "*=halide@accel", "--shape", "x=Nx3", "--tune", "off")
    call("compile", model, "-o", program, *options)
    report = call_json("explain", program)
    assert [size["symbol"] for size in report["open_sizes"]] == ["N"]
    assert {region["target"] for region in report["regions"]} == {"halide@accel"}
    for rows in (0, 1, 2, 7, 130):
        x = tmp_path / f"{rows}.npy"
        np.save(x, np.random.default_rng(rows).standard_normal((rows, 3)).astype(np.float32))
        assert call_json("run", program, f"--input=x={x}")["outputs"][0]["shape"] == [rows, rows]
        checked = call_json("check", program, f"--input=x={x}")
        assert checked["ok"], checked


@pytest.mark.parametrize("device", ["sim:0", "opencl:0", "cuda:0"])
def test_sizes_stay_open_by_default(device, tmp_path):
    if device != "sim:0":
        skip_without_device(device)
    model, program = save_rows(tmp_path / "rows.onnx"), tmp_path / "rows.so"
    call(
        "compile",
        model,
        "-o",
        program,
        "-d",
        f"cpu,accel={device}",
        "--pin",
        "*=halide@accel",
        "--tune",
        "off",
    )
    assert [size["symbol"] for size in call_json("explain", program)["open_sizes"]] == ["N"]


def test_sizes_that_depend_on_data_are_refused(tmp_path):
    skip_without_device("opencl:0")
    model = save(
        tmp_path / "places.onnx",
        [helper.make_node("NonZero", ["x"], ["p"], "places"), helper.make_node("Neg", ["p"], ["y"], "neg")],
        [("x", FLOAT, [5])],
        [("y", TensorProto.INT64, [1, "n"])],
    )
    options = (
        "-o",
        tmp_path / "places.so",
        "-d",
        "cpu,accel=opencl:0",
        "--pin",
        "neg=halide@accel",
        "--tune",
        "off",
    )
    message = " ".join(error_of("compile", model, *options, status=2).split())
    assert "depends on data, and 'opencl:0' takes memory before a run" in message
