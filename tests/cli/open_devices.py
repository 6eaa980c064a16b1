"""Sizes that stay open, on devices, on the command line.

Covers: backends/halide/ target.cc
src/runtime/ run_function.cc
"""

import numpy as np
import pytest
from cli_models import TensorProto, call, call_json, helper, save

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


@pytest.mark.parametrize("device", ["sim:0"])
def test_open_sizes_on_a_device(device, tmp_path):
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
