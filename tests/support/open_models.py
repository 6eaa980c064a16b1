"""Models whose sizes are open, as families: nodes, inputs, outputs and constants."""

import numpy as np
from cli_models import TensorProto, helper

FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64
RANDOM = np.random.default_rng(7)


def weights(*shape):
    return RANDOM.standard_normal(shape, "float32") / np.float32(np.sqrt(shape[0]))


def integers(*values):
    return np.array(values, "int64")


node = helper.make_node


def perceptron():
    """Rows of any number."""
    return (
        [
            node("Gemm", ["x", "w", "b"], ["h"]),
            node("Relu", ["h"], ["r"]),
            node("MatMul", ["r", "v"], ["s"]),
            node("Softmax", ["s"], ["y"], axis=-1),
        ],
        {"x": (FLOAT, ["batch", 16])},
        {"y": (FLOAT, ["batch", 5])},
        {"w": weights(16, 33), "b": weights(33), "v": weights(33, 5)},
    )


def segmenter():
    """Pictures of any height and width, whose result is resized to their size by shape arithmetic."""
    return (
        [
            node("Conv", ["x", "w"], ["a"], pads=[1] * 4, strides=[2, 2]),
            node("Relu", ["a"], ["r"]),
            node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
            node("Conv", ["p", "v"], ["c"], pads=[1] * 4),
            node("Shape", ["x"], ["shape"]),
            node("Slice", ["shape", "two", "four"], ["picture"]),
            node("Shape", ["c"], ["shape_c"]),
            node("Slice", ["shape_c", "zero", "two"], ["first"]),
            node("Concat", ["first", "picture"], ["wanted"], axis=0),
            node("Resize", ["c", "", "", "wanted"], ["y"], mode="nearest"),
        ],
        {"x": (FLOAT, ["batch", 3, "h", "w"])},
        {"y": (FLOAT, ["batch", 4, "h", "w"])},
        {
            "w": weights(8, 3, 3, 3),
            "v": weights(4, 8, 3, 3),
            "zero": integers(0),
            "two": integers(2),
            "four": integers(4),
        },
    )


def classifier():
    """Pictures of one size, any number of them, and a scale that all share."""
    return (
        [
            node("Conv", ["x", "w"], ["a"], pads=[1] * 4),
            node("Mul", ["a", "scale"], ["s"]),
            node("Relu", ["s"], ["r"]),
            node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
            node("Shape", ["p"], ["shape"]),
            node("Slice", ["shape", "zero", "one"], ["rows"]),
            node("Concat", ["rows", "rest"], ["wanted"], axis=0),
            node("Reshape", ["p", "wanted"], ["flat"]),
            node("Gemm", ["flat", "v"], ["y"]),
            node("ReduceMean", ["r"], ["means"], axes=[2, 3], keepdims=0),
        ],
        {"x": (FLOAT, ["batch", 3, 12, 12]), "scale": (FLOAT, [8, 1, 1])},
        {"y": (FLOAT, ["batch", 5]), "means": (FLOAT, ["batch", 8])},
        {
            "w": weights(8, 3, 3, 3),
            "v": weights(288, 5),
            "zero": integers(0),
            "one": integers(1),
            "rest": integers(288),
        },
    )


def attention():
    """Heads by reshapes to sizes from Shape, and a padding mask."""
    return (
        [
            node("Shape", ["x"], ["shape"]),
            node("Slice", ["shape", "zero", "two"], ["rows"]),
            node("Concat", ["rows", "heads"], ["split"], axis=0),
            node("Concat", ["rows", "width"], ["merged"], axis=0),
            *[
                part
                for name in "qkv"
                for part in (
                    node("MatMul", ["x", f"w{name}"], [f"{name}0"]),
                    node("Reshape", [f"{name}0", "split"], [f"{name}1"]),
                    node(
                        "Transpose",
                        [f"{name}1"],
                        [name],
                        perm=[0, 2, 3, 1] if name == "k" else [0, 2, 1, 3],
                    ),
                )
            ],
            node("MatMul", ["q", "k"], ["scores"]),
            node("Unsqueeze", ["mask", "axes"], ["wide"]),
            node("Where", ["wide", "scores", "low"], ["masked"]),
            node("Softmax", ["masked"], ["parts"], axis=-1),
            node("MatMul", ["parts", "v"], ["mixed"]),
            node("Transpose", ["mixed"], ["rows_first"], perm=[0, 2, 1, 3]),
            node("Reshape", ["rows_first", "merged"], ["joined"]),
            node("Add", ["joined", "x"], ["y"]),
        ],
        {"x": (FLOAT, ["batch", "seq", 32]), "mask": (TensorProto.BOOL, ["batch", "seq"])},
        {"y": (FLOAT, ["batch", "seq", 32])},
        {
            "wq": weights(32, 32),
            "wk": weights(32, 32),
            "wv": weights(32, 32),
            "zero": integers(0),
            "two": integers(2),
            "heads": integers(4, 8),
            "width": integers(32),
            "axes": integers(1, 2),
            "low": np.array(-1e4, "float32"),
        },
    )


def block(name, x, scores_to_masked, width=32, heads=4, past=False):
    """A transformer's layer over %x: its nodes, its constants and the names of its result and its keys and values."""
    at, made = f"{name}_", {}
    parts = []
    for kind in "qkv":
        parts += [
            node("MatMul", [x, f"{at}w{kind}"], [f"{at}{kind}0"]),
            node("Add", [f"{at}{kind}0", f"{at}b{kind}"], [f"{at}{kind}1"]),
            node("Reshape", [f"{at}{kind}1", "split"], [f"{at}{kind}2"]),
            node("Transpose", [f"{at}{kind}2"], [f"{at}{kind}3"], perm=[0, 2, 1, 3]),
        ]
        made |= {f"{at}w{kind}": weights(width, width), f"{at}b{kind}": weights(width)}
    keys, values = f"{at}k3", f"{at}v3"
    if past:
        keys, values = f"{at}keys", f"{at}values"
        parts += [
            node("Concat", [f"{at}past_keys", f"{at}k3"], [keys], axis=2),
            node("Concat", [f"{at}past_values", f"{at}v3"], [values], axis=2),
        ]
    parts += [
        node("Transpose", [keys], [f"{at}columns"], perm=[0, 1, 3, 2]),
        node("MatMul", [f"{at}q3", f"{at}columns"], [f"{at}scores"]),
        node("Mul", [f"{at}scores", "scale"], [f"{at}scaled"]),
        *scores_to_masked(f"{at}scaled", f"{at}masked"),
        node("Softmax", [f"{at}masked"], [f"{at}parts"], axis=-1),
        node("MatMul", [f"{at}parts", values], [f"{at}mixed"]),
        node("Transpose", [f"{at}mixed"], [f"{at}rows"], perm=[0, 2, 1, 3]),
        node("Reshape", [f"{at}rows", "merged"], [f"{at}joined"]),
        node("MatMul", [f"{at}joined", f"{at}wo"], [f"{at}out"]),
        node("Add", [f"{at}out", x], [f"{at}sum"]),
        node("LayerNormalization", [f"{at}sum", f"{at}g", f"{at}h"], [f"{at}norm"]),
        node("MatMul", [f"{at}norm", f"{at}w1"], [f"{at}wide"]),
        node("Gelu", [f"{at}wide"], [f"{at}gelu"]),
        node("MatMul", [f"{at}gelu", f"{at}w2"], [f"{at}narrow"]),
        node("Add", [f"{at}narrow", f"{at}norm"], [f"{at}y"]),
    ]
    made |= {
        f"{at}wo": weights(width, width),
        f"{at}g": weights(width) + 1,
        f"{at}h": weights(width),
        f"{at}w1": weights(width, 2 * width),
        f"{at}w2": weights(2 * width, width),
    }
    common = {
        "heads": integers(heads, width // heads),
        "width": integers(width),
        "scale": np.array(0.35, "float32"),
        "zero": integers(0),
        "two": integers(2),
    }
    sizes = [
        node("Shape", ["ids"], ["shape"]),
        node("Concat", ["shape", "heads"], ["split"], axis=0),
        node("Concat", ["shape", "width"], ["merged"], axis=0),
    ]
    return sizes, parts, common | made


def encoder():
    """Words and their positions, a padding mask, two layers, and the first word's result."""
    masked = lambda scores, to: [node("Add", [scores, "penalty"], [to])]
    sizes, first, constants = block("first", "x", masked)
    _, second, more = block("second", "first_y", masked)
    return (
        [
            *sizes,
            node("Gather", ["words", "ids"], ["word"]),
            node("Gather", ["shape", "one"], ["length"]),
            node("Slice", ["positions", "zero", "length", "zero"], ["position"]),
            node("Add", ["word", "position"], ["x"]),
            node("Unsqueeze", ["mask", "axes"], ["wide"]),
            node("Cast", ["wide"], ["kept"], to=FLOAT),
            node("Sub", ["ones", "kept"], ["lost"]),
            node("Mul", ["lost", "low"], ["penalty"]),
            *first,
            *second,
            node("Gather", ["second_y", "start"], ["cls"], axis=1),
            node("Gemm", ["cls", "wp"], ["pooled"]),
            node("Tanh", ["pooled"], ["y"]),
        ],
        {"ids": (INT, ["batch", "seq"]), "mask": (INT, ["batch", "seq"])},
        {"second_y": (FLOAT, ["batch", "seq", 32]), "y": (FLOAT, ["batch", 9])},
        constants
        | more
        | {
            "words": weights(40, 32),
            "positions": weights(20, 32),
            "one": integers(1),
            "start": np.array(0, "int64"),
            "axes": integers(1, 2),
            "ones": np.array(1, "float32"),
            "low": np.array(-1e4, "float32"),
            "wp": weights(32, 9),
        },
    )


def language():
    """A language model: words so far as keys and values, the next word's scores."""

    def masked(scores, to):
        return [node("Where", ["seen", scores, "low"], [to])]

    sizes, layer, constants = block("layer", "x", masked, past=True)
    return (
        [
            *sizes,
            node("Shape", ["layer_past_keys"], ["shape_past"]),
            node("Gather", ["shape_past", "axis"], ["past"]),
            node("Gather", ["shape", "one"], ["new"]),
            node("Add", ["past", "new"], ["all"]),
            node("Range", ["past", "all", "one"], ["rows"]),
            node("Range", ["start", "all", "one"], ["columns"]),
            node("Unsqueeze", ["rows", "first_axis"], ["row"]),
            node("LessOrEqual", ["columns", "row"], ["seen"]),
            node("Gather", ["words", "ids"], ["word"]),
            node("Gather", ["positions", "rows"], ["position"]),
            node("Add", ["word", "position"], ["x"]),
            *layer,
            node("MatMul", ["layer_y", "to_words"], ["y"]),
        ],
        {
            "ids": (INT, ["batch", "seq"]),
            "layer_past_keys": (FLOAT, ["batch", 4, "past", 8]),
            "layer_past_values": (FLOAT, ["batch", 4, "past", 8]),
        },
        {
            "y": (FLOAT, ["batch", "seq", 40]),
            "layer_keys": (FLOAT, ["batch", 4, "past + seq", 8]),
            "layer_values": (FLOAT, ["batch", 4, "past + seq", 8]),
        },
        constants
        | {
            "words": weights(40, 32),
            "positions": weights(80, 32),
            "to_words": weights(32, 40) * 3,
            "axis": np.array(2, "int64"),
            "one": np.array(1, "int64"),
            "start": np.array(0, "int64"),
            "first_axis": integers(1),
            "low": np.array(-1e4, "float32"),
        },
    )


def decoder():
    """Keys so far, to which a step adds its own."""
    return (
        [
            node("MatMul", ["x", "w"], ["key"]),
            node("Concat", ["past", "key"], ["present"], axis=1),
            node("Transpose", ["present"], ["columns"], perm=[0, 2, 1]),
            node("MatMul", ["x", "columns"], ["scores"]),
            node("Add", ["scores", "mask"], ["masked"]),
            node("Softmax", ["masked"], ["parts"], axis=-1),
            node("MatMul", ["parts", "present"], ["y"]),
        ],
        {
            "x": (FLOAT, ["batch", "seq", 8]),
            "past": (FLOAT, ["batch", "past", 8]),
            "mask": (FLOAT, ["batch", 1, "past + seq"]),
        },
        {"y": (FLOAT, ["batch", "seq", 8]), "present": (FLOAT, ["batch", "past + seq", 8])},
        {"w": weights(8, 8)},
    )


def recurrence():
    """Sequences of any length, as many as there are."""
    return (
        [node("LSTM", ["x", "w", "r"], ["y", "last"], hidden_size=6)],
        {"x": (FLOAT, ["length", "batch", 4])},
        {"y": (FLOAT, ["length", 1, "batch", 6]), "last": (FLOAT, [1, "batch", 6])},
        {"w": weights(1, 24, 4), "r": weights(1, 24, 6)},
    )


def tagger():
    """Sentences of any length, of which each ends somewhere: both directions, two layers, the last states."""
    return (
        [
            node("Gather", ["words", "ids"], ["word"]),
            node("Transpose", ["word"], ["x"], perm=[1, 0, 2]),
            node("Cast", ["mask"], ["kept"], to=TensorProto.INT32),
            node("ReduceSum", ["kept", "one"], ["lengths"], keepdims=0),
            node(
                "LSTM",
                ["x", "w1", "r1", "b1", "lengths", "h0", "c0"],
                ["first", "h", "c"],
                hidden_size=20,
                direction="bidirectional",
            ),
            node("Transpose", ["first"], ["rows"], perm=[0, 2, 1, 3]),
            node("Reshape", ["rows", "joined"], ["second"]),
            node("GRU", ["second", "w2", "r2", "b2"], ["third", "last"], hidden_size=16),
            node("Squeeze", ["third", "one"], ["steps"]),
            node("CumSum", ["steps", "zero"], ["sums"]),
            node("MatMul", ["sums", "v"], ["y"]),
        ],
        {
            "ids": (INT, ["batch", "seq"]),
            "mask": (INT, ["batch", "seq"]),
            "h0": (FLOAT, [2, "batch", 20]),
            "c0": (FLOAT, [2, "batch", 20]),
        },
        {
            "y": (FLOAT, ["seq", "batch", 5]),
            "h": (FLOAT, [2, "batch", 20]),
            "c": (FLOAT, [2, "batch", 20]),
            "last": (FLOAT, [1, "batch", 16]),
        },
        {
            "words": weights(40, 12),
            "w1": weights(2, 80, 12) / 4,
            "r1": weights(2, 80, 20) / 4,
            "b1": weights(2, 160) / 4,
            "w2": weights(1, 48, 40) / 4,
            "r2": weights(1, 48, 16) / 4,
            "b2": weights(1, 96) / 4,
            "v": weights(16, 5),
            "joined": integers(0, 0, 40),
            "one": integers(1),
            "zero": np.array(0, "int64"),
        },
    )


def detector():
    """Work on as many rows as pass a test of the data."""
    return (
        [
            node("ReduceMax", ["x"], ["best"], axes=[1], keepdims=0),
            node("Greater", ["best", "limit"], ["passes"]),
            node("NonZero", ["passes"], ["which"]),
            node("Squeeze", ["which", "zero"], ["rows"]),
            node("Gather", ["x", "rows"], ["boxes"]),
            node("MatMul", ["boxes", "w"], ["moved"]),
            node("Tanh", ["moved"], ["y"]),
        ],
        {"x": (FLOAT, ["anchors", 6])},
        {"y": (FLOAT, ["boxes", 4])},
        {"w": weights(6, 4), "limit": np.array(0.8, "float32"), "zero": integers(0)},
    )


FAMILIES = [
    perceptron,
    segmenter,
    classifier,
    attention,
    encoder,
    language,
    decoder,
    recurrence,
    tagger,
    detector,
]
SMALLEST = {"past": 0, "h": 8, "w": 8}


def sizes_of(family):
    _, inputs, _, _ = family()
    return sorted(
        {size for _, shape in inputs.values() for size in shape if isinstance(size, str) and "+" not in size}
    )


def random_inputs(family, sizes):
    _, inputs, _, _ = family()
    given = {}
    for name, (dtype, shape) in inputs.items():
        numbers = [eval(str(size), {}, sizes) for size in shape]
        values = RANDOM.standard_normal(numbers).astype("float32")
        given[name] = values > -1 if dtype == TensorProto.BOOL else values
        if dtype == INT:
            given[name] = RANDOM.integers(0, 2 if name == "mask" else 40, numbers)
    if "mask" in given and given["mask"].dtype != np.float32:
        given["mask"][..., :1] = True
    return given
