"""Writes a small image classifier with an open batch size."""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def main(path: str) -> None:
    rng = np.random.default_rng(0)
    weights = {
        "w1": rng.standard_normal((16, 3, 3, 3)) / 5,
        "b1": rng.standard_normal(16),
        "w2": rng.standard_normal((16, 10)) / 4,
    }
    graph = helper.make_graph(
        [
            helper.make_node(
                "Conv", ["image", "w1", "b1"], ["c"], name="conv", pads=[1, 1, 1, 1], strides=[2, 2]
            ),
            helper.make_node("Relu", ["c"], ["r"], name="relu"),
            helper.make_node("GlobalAveragePool", ["r"], ["p"], name="pool"),
            helper.make_node("Flatten", ["p"], ["f"], name="flatten"),
            helper.make_node("MatMul", ["f", "w2"], ["scores"], name="classify"),
        ],
        "small_classifier",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 3, 32, 32])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", 10])],
        [numpy_helper.from_array(w.astype(np.float32), name) for name, w in weights.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


if __name__ == "__main__":
    main(sys.argv[1])
