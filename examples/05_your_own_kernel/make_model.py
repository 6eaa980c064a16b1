"""Writes a model whose middle operator no framework knows: Conv, com.example.SoftThreshold, Conv."""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def main(path: str) -> None:
    rng = np.random.default_rng(0)
    weights = [rng.standard_normal(shape).astype(np.float32) for shape in [(8, 3, 3, 3), (4, 8, 3, 3)]]
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["image", "w1"], ["a"], name="conv1", pads=[1, 1, 1, 1]),
            helper.make_node(
                "SoftThreshold", ["a"], ["b"], name="shrink", domain="com.example", **{"lambda": 0.25}
            ),
            helper.make_node("Conv", ["b", "w2"], ["scores"], name="conv2", pads=[1, 1, 1, 1]),
        ],
        "with_an_operator_of_ones_own",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 32, 32])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, 4, 32, 32])],
        [numpy_helper.from_array(w, name) for w, name in zip(weights, ["w1", "w2"])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)


if __name__ == "__main__":
    main(sys.argv[1])
