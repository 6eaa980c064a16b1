"""Quantized models: regions of ONNX Runtime compute in the integers that the model has, as ONNX Runtime does by itself.

Covers: src/onnx/ unfold_constants.cc
"""

import numpy as np
import pytest
from cli_models import TensorProto, call_json, helper, save


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """x[1,8,12,12] -> two convolutions of i8 by QDQ, weights by channel, a transposed product -> y, quantized between."""
    random = np.random.default_rng(5)
    nodes, constants = [], [("s", np.float32(0.05)), ("z", np.int8(3))]

    def requantize(value):
        nodes.append(
            helper.make_node("QuantizeLinear", [value, "s", "z"], [f"{value}_q"], f"{value}_quantize")
        )
        nodes.append(
            helper.make_node("DequantizeLinear", [f"{value}_q", "s", "z"], [f"{value}_d"], f"{value}_back")
        )
        return f"{value}_d"

    def weights(name, shape):
        scale = (random.random(shape[0]) * 0.01 + 0.001).astype(np.float32)
        constants.append((f"{name}_q", random.integers(-127, 128, shape).astype(np.int8)))
        constants.append((f"{name}_s", scale))
        constants.append((f"{name}_z", np.zeros(shape[0], np.int8)))
        inputs = [f"{name}_q", f"{name}_s", f"{name}_z"]
        nodes.append(helper.make_node("DequantizeLinear", inputs, [name], f"{name}_real", axis=0))
        return name

    value = requantize("x")
    for i in range(2):
        nodes.append(
            helper.make_node(
                "Conv", [value, weights(f"w{i}", (8, 8, 3, 3))], [f"c{i}"], f"conv{i}", pads=[1] * 4
            )
        )
        value = requantize(f"c{i}")
    nodes.append(helper.make_node("Transpose", [weights("m", (10, 12))], ["mt"], "transpose", perm=[1, 0]))
    nodes.append(helper.make_node("MatMul", [value, "mt"], ["p"], "product"))
    requantize("p")
    nodes[-1].output[0] = "y"
    shape = [1, 8, 12, 12]
    path = tmp_path_factory.mktemp("quantized") / "qdq.onnx"
    return save(
        path, nodes, [("x", TensorProto.FLOAT, shape)], [("y", TensorProto.FLOAT, [1, 8, 12, 10])], constants
    )


def test_it_is_what_onnxruntime_computes(model):
    exact = ("--rtol", "0", "--atol", "0")
    report = call_json("check", model, "--backends", "onnxruntime", *exact, "--against", "onnxruntime")
    assert report["ok"], report
