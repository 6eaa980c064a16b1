"""Writes the two halves of a small classifier: a backbone, and a head over its features."""

import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FEATURES = [1, 64, 14, 14]


def save(path: pathlib.Path, nodes: list, x: tuple, y: tuple, weights: dict) -> None:
    graph = helper.make_graph(
        nodes,
        path.stem,
        [helper.make_tensor_value_info(x[0], TensorProto.FLOAT, x[1])],
        [helper.make_tensor_value_info(y[0], TensorProto.FLOAT, y[1])],
        [numpy_helper.from_array(w.astype(np.float32), name) for name, w in weights.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def main(folder: pathlib.Path) -> None:
    rng = np.random.default_rng(0)
    nodes, weights, channels = [], {}, [3, 16, 32, 64, 64]
    for i, (before, after) in enumerate(zip(channels, channels[1:])):
        weights[f"w{i}"] = rng.standard_normal((after, before, 3, 3)) / np.sqrt(9 * before)
        x, y = "image" if i == 0 else f"r{i - 1}", "features" if i == 3 else f"r{i}"
        nodes.append(
            helper.make_node("Conv", [x, f"w{i}"], [f"c{i}"], f"conv{i}", pads=[1] * 4, strides=[2, 2])
        )
        nodes.append(helper.make_node("Relu", [f"c{i}"], [y], f"relu{i}"))
    save(folder / "backbone.onnx", nodes, ("image", [1, 3, 224, 224]), ("features", FEATURES), weights)

    weights = {"w": rng.standard_normal((256, 64, 3, 3)) / 24, "classify": rng.standard_normal((256, 10)) / 4}
    nodes = [
        helper.make_node("Conv", ["features", "w"], ["c"], "conv", pads=[1] * 4),
        helper.make_node("Relu", ["c"], ["r"], "relu"),
        helper.make_node("GlobalAveragePool", ["r"], ["p"], "pool"),
        helper.make_node("Flatten", ["p"], ["f"], "flatten"),
        helper.make_node("MatMul", ["f", "classify"], ["scores"], "classify"),
    ]
    save(folder / "head.onnx", nodes, ("features", FEATURES), ("scores", [1, 10]), weights)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
