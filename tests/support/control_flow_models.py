"""Models with branches and loops whose conditions and trip counts are inputs."""

import numpy as np
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
