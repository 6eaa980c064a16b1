"""Small models whose kernels are of many forms, for programs that run elsewhere."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def save(path, nodes, inputs, outputs, constants, domains=()):
    graph = helper.make_graph(
        nodes,
        "model",
        [helper.make_tensor_value_info(name, dtype, shape) for name, dtype, shape in inputs],
        [helper.make_tensor_value_info(name, dtype, *(shape or [None])) for name, dtype, *shape in outputs],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17), *(helper.make_opsetid(domain, 1) for domain in domains)]
    onnx.save(
        onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=opsets, ir_version=8)), path
    )
    return path


def random(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def convolutions(path):
    """Winograd, depthwise, pointwise and strided convolutions, pooling, a product, softmax and the largest scores."""
    nodes = [
        helper.make_node("Conv", ["x", "w3"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "wd"], ["c"], pads=[1, 1, 1, 1], group=24),
        helper.make_node("Clip", ["c", "low", "high"], ["d"]),
        helper.make_node("Conv", ["d", "w1"], ["e"], strides=[2, 2]),
        helper.make_node("MaxPool", ["e"], ["f"], kernel_shape=[3, 3], strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["f"], ["g"]),
        helper.make_node("Flatten", ["g"], ["h"]),
        helper.make_node("Gemm", ["h", "wm", "bm"], ["i"], transB=1),
        helper.make_node("Softmax", ["i"], ["y"]),
        helper.make_node("TopK", ["i", "k"], ["best", "places"]),
    ]
    constants = {
        "w3": random(1, 24, 5, 3, 3),
        "wd": random(2, 24, 1, 3, 3),
        "w1": random(3, 19, 24, 1, 1),
        "wm": random(4, 13, 19),
        "bm": random(5, 13),
        "low": np.float32(0),
        "high": np.float32(6),
        "k": np.array([3]),
    }
    outputs = [("y", TensorProto.FLOAT), ("best", TensorProto.FLOAT), ("places", TensorProto.INT64)]
    save(path, nodes, [("x", TensorProto.FLOAT, [2, 5, 27, 27])], outputs, constants)


def functions(path):
    """Functions of single elements, sums, maxima and a normalization, whose code is mathematics of Halide's."""
    names = ("Exp", "Tanh", "Sigmoid", "Erf", "Softplus", "Sin", "Round", "Sqrt")
    nodes = [helper.make_node("Abs", ["x"], ["p"])]
    nodes += [helper.make_node(name, ["p" if name == "Sqrt" else "x"], [name]) for name in names]
    nodes += [helper.make_node("Add", [names[0], names[1]], ["s1"])]
    for i, name in enumerate(names[2:]):
        nodes.append(helper.make_node("Add", [f"s{i + 1}", name], [f"s{i + 2}"]))
    nodes += [
        helper.make_node("LayerNormalization", [f"s{len(names) - 1}", "scale"], ["y"]),
        helper.make_node("ReduceMax", ["y"], ["most"], axes=[0]),
    ]
    outputs = [("y", TensorProto.FLOAT), ("most", TensorProto.FLOAT)]
    save(path, nodes, [("x", TensorProto.FLOAT, [7, 33])], outputs, {"scale": random(6, 33)})


def attention(path):
    nodes = [
        helper.make_node("MatMul", ["x", "wq"], ["q"]),
        helper.make_node("MatMul", ["x", "wk"], ["k"]),
        helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["q", "kt"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["parts"]),
        helper.make_node("MatMul", ["parts", "x"], ["y"]),
    ]
    constants = {"wq": random(7, 40, 24), "wk": random(8, 40, 24)}
    save(path, nodes, [("x", TensorProto.FLOAT, [2, 17, 40])], [("y", TensorProto.FLOAT)], constants)


def quantized(path):
    """Convolutions of 3x3 taps, of each channel and of an odd number of channels, and a product."""
    numbers = np.random.default_rng(9)
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q0"])]
    constants = {"s": np.float32(0.05), "z": np.uint8(117), "ws": np.float32(0.002), "wz": np.int8(0)}
    sizes = [(36, 8, 3, 1), (36, 1, 3, 36), (21, 36, 1, 1), (40, 21, 3, 1)]
    for i, (after, before, taps, groups) in enumerate(sizes):
        constants[f"w{i}"] = numbers.integers(-127, 128, (after, before, taps, taps)).astype(np.int8)
        inputs = [f"q{i}", "s", "z", f"w{i}", "ws", "wz", "s", "z"]
        pads = [taps // 2] * 4
        nodes.append(helper.make_node("QLinearConv", inputs, [f"q{i + 1}"], pads=pads, group=groups))
    constants["m"] = numbers.integers(-127, 128, (14, 70)).astype(np.int8)
    inputs = [f"q{len(sizes)}", "s", "z", "m", "ws", "wz", "s", "z"]
    nodes.append(helper.make_node("QLinearMatMul", inputs, ["p"]))
    nodes.append(helper.make_node("DequantizeLinear", ["p", "s", "z"], ["y"]))
    save(path, nodes, [("x", TensorProto.FLOAT, [1, 8, 14, 14])], [("y", TensorProto.FLOAT)], constants)


def lstm(path):
    nodes = [helper.make_node("LSTM", ["x", "w", "r"], ["y", "h"], hidden_size=12)]
    constants = {"w": 0.3 * random(10, 1, 48, 9), "r": 0.3 * random(11, 1, 48, 12)}
    outputs = [("y", TensorProto.FLOAT), ("h", TensorProto.FLOAT)]
    save(path, nodes, [("x", TensorProto.FLOAT, [5, 2, 9])], outputs, constants)
