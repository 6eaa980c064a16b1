"""Models with branches and loops."""

import numpy as np
import onnx
from cli_models import TensorProto, helper, save
from onnx import numpy_helper

FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
node = helper.make_node
info = helper.make_tensor_value_info


def body(name, nodes, inputs, outputs, constants=()):
    """A subgraph; inputs and outputs are (name, type, shape), constants are (name, array)."""
    tensors = [numpy_helper.from_array(value, at) for at, value in constants]
    return helper.make_graph(
        nodes, name, [info(*one) for one in inputs], [info(*one) for one in outputs], tensors
    )


def save_decoder(path, seed=5, width=64, words=256, length=64):
    """Greedy decoding: steps, first -> tokens. An attention layer over a cache of fixed size, and a layer of products."""
    random = np.random.default_rng(seed)

    def weights(*shape):
        return random.standard_normal(shape, "float32") / np.float32(np.sqrt(shape[0]))

    constants = [
        ("words", random.standard_normal((words, width), "float32")),
        *[(name, weights(width, width)) for name in ("wq", "wk", "wv", "wo")],
        ("w1", weights(width, 4 * width)),
        ("w2", weights(4 * width, width)),
        ("out", weights(width, words)),
        ("places", np.arange(length, dtype="int64")[:, None]),
        ("scale", np.array(1 / np.sqrt(width), "float32")),
        ("never", np.array(-1e9, "float32")),
    ]
    step = [
        node("Gather", ["words", "token"], ["x"]),
        node("MatMul", ["x", "wq"], ["q"]),
        node("MatMul", ["x", "wk"], ["k"]),
        node("MatMul", ["x", "wv"], ["v"]),
        node("Equal", ["places", "step"], ["is_here"]),
        node("Where", ["is_here", "k", "keys"], ["keys_out"]),
        node("Where", ["is_here", "v", "values"], ["values_out"]),
        node("Transpose", ["keys_out"], ["columns"], perm=[1, 0]),
        node("MatMul", ["q", "columns"], ["products"]),
        node("Mul", ["products", "scale"], ["scores"]),
        node("Greater", ["places", "step"], ["is_later"]),
        node("Transpose", ["is_later"], ["is_masked"], perm=[1, 0]),
        node("Where", ["is_masked", "never", "scores"], ["masked"]),
        node("Softmax", ["masked"], ["shares"], axis=-1),
        node("MatMul", ["shares", "values_out"], ["mixed"]),
        node("MatMul", ["mixed", "wo"], ["attended"]),
        node("Add", ["x", "attended"], ["h"]),
        node("MatMul", ["h", "w1"], ["wide"]),
        node("Relu", ["wide"], ["active"]),
        node("MatMul", ["active", "w2"], ["narrow"]),
        node("Add", ["h", "narrow"], ["y"]),
        node("MatMul", ["y", "out"], ["logits"]),
        node("ArgMax", ["logits"], ["token_out"], axis=-1, keepdims=0),
        node("Identity", ["go_on"], ["go_on_out"]),
        node("Identity", ["token_out"], ["said"]),
    ]
    cache = [length, width]
    loop = body(
        "decode",
        step,
        [
            ("step", INT, []),
            ("go_on", BOOL, []),
            ("token", INT, [1]),
            ("keys", FLOAT, cache),
            ("values", FLOAT, cache),
        ],
        [
            ("go_on_out", BOOL, []),
            ("token_out", INT, [1]),
            ("keys_out", FLOAT, cache),
            ("values_out", FLOAT, cache),
            ("said", INT, [1]),
        ],
    )
    nodes = [
        node(
            "Loop",
            ["steps", "", "first", "empty", "empty"],
            ["last", "k", "v", "tokens"],
            "decode",
            body=loop,
        )
    ]
    return save(
        path,
        nodes,
        [("steps", INT, []), ("first", INT, [1])],
        [("tokens", INT, ["n", 1])],
        [*constants, ("empty", np.zeros(cache, "float32"))],
    )


def save_fixed(path, nodes, inputs, outputs, constants):
    """A model whose sizes do not depend on data."""
    made = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "model", inputs, outputs, made)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def values_of(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape, "float32")


def save_branch(path):
    """y = x @ w if sum(x) > 0, else relu(x) @ v + 1; the result is used, and so is the input."""
    then = helper.make_graph([node("MatMul", ["x", "w"], ["a"])], "then", [], [info("a", FLOAT, [3, 4])])
    other = helper.make_graph(
        [
            node("Relu", ["x"], ["r"]),
            node("MatMul", ["r", "v"], ["m"]),
            node("Add", ["m", "one"], ["b"]),
        ],
        "else",
        [],
        [info("b", FLOAT, [3, 4])],
    )
    nodes = [
        node("ReduceSum", ["x"], ["sum"], keepdims=0),
        node("Greater", ["sum", "zero"], ["above"]),
        node("If", ["above"], ["chosen"], then_branch=then, else_branch=other),
        node("Add", ["chosen", "one"], ["y"]),
    ]
    constants = {
        "w": values_of(1, 5, 4),
        "v": values_of(2, 5, 4),
        "one": np.array(1, np.float32),
        "zero": np.array(0, np.float32),
    }
    return save_fixed(path, nodes, [info("x", FLOAT, [3, 5])], [info("y", FLOAT, [3, 4])], constants)


def save_loop(path, trips, checks=False, counts=True):
    """Two carried values, one made from the other, a tensor of all iterations, and, with `checks`, a condition."""
    nodes = [
        node("MatMul", ["state", "w"], ["product"]),
        node("Cast", ["i"], ["number"], to=FLOAT),
        node("Add", ["product", "number"], ["moved"]),
        node("Tanh", ["moved"], ["next"]),
        node("Add", ["total", "next"], ["sum"]),
        node("ReduceMax", ["sum"], ["largest"], keepdims=0),
        node("Less", ["largest", "limit"], ["more"]) if checks else node("Identity", ["go"], ["more"]),
        node("Identity", ["next"], ["one"]),
    ]
    results = [info("next", FLOAT, [2, 4]), info("sum", FLOAT, [2, 4])]
    body = helper.make_graph(
        nodes,
        "body",
        [
            info("i", INT, []),
            info("go", BOOL, []),
            info("state", FLOAT, [2, 4]),
            info("total", FLOAT, [2, 4]),
        ],
        [info("more", BOOL, []), *results] + ([info("one", FLOAT, [2, 4])] if counts else []),
    )
    outputs = ["last", "all_of_it"] + (["each"] if counts else [])
    shapes = [[2, 4], [2, 4], [trips, 2, 4]]
    constants = {
        "w": values_of(1, 4, 4),
        "trips": np.array(trips),
        "limit": np.array(1.5, np.float32),
        "start": np.zeros((2, 4), np.float32),
        "true": np.array(True),
    }
    loop = node("Loop", ["trips", "true", "x", "start"], outputs, body=body)
    made = [info(name, FLOAT, shape) for name, shape in zip(outputs, shapes)]
    return save_fixed(path, [loop], [info("x", FLOAT, [2, 4])], made, constants)


def save_scan(path):
    """A running sum of rows of x, seen through a branch in the body, and what each iteration had."""
    then = helper.make_graph([node("Neg", ["row"], ["n"])], "then", [], [info("n", FLOAT, [4])])
    other = helper.make_graph([node("Exp", ["row"], ["e"])], "else", [], [info("e", FLOAT, [4])])
    nodes = [
        node("ReduceSum", ["row"], ["s"], keepdims=0),
        node("Greater", ["s", "zero"], ["above"]),
        node("If", ["above"], ["part"], then_branch=then, else_branch=other),
        node("Add", ["total", "part"], ["next"]),
        node("Mul", ["next", "row"], ["each"]),
    ]
    body = helper.make_graph(
        nodes,
        "body",
        [info("total", FLOAT, [4]), info("row", FLOAT, [4])],
        [info("next", FLOAT, [4]), info("each", FLOAT, [4])],
    )
    scan = node("Scan", ["start", "x"], ["last", "all"], body=body, num_scan_inputs=1)
    constants = {"start": np.zeros(4, np.float32), "zero": np.array(0, np.float32)}
    made = [info("last", FLOAT, [4]), info("all", FLOAT, [6, 4])]
    return save_fixed(path, [scan], [info("x", FLOAT, [6, 4])], made, constants)
