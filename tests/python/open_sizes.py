"""Programs whose sizes are open until they run: many sizes in one session, in any order, against ONNX Runtime.

Covers: bindings/python/ module.cc compile_module.cc
bindings/python/intarsia/ program.py options.py
"""

import random
from concurrent.futures import ThreadPoolExecutor

import intarsia
import numpy as np
import onnxruntime
import pytest
from cli_models import SOURCE, TensorProto, helper, save
from rounds import ROUNDS

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


def save_family(family, folder):
    nodes, inputs, outputs, constants = family()
    ports = [[(name, *port) for name, port in side.items()] for side in (inputs, outputs)]
    return save(
        folder / f"{family.__name__}.onnx",
        nodes,
        *ports,
        list(constants.items()),
        opsets=(("", 20 if family in (encoder, language) else 13),),
    )


def compile_open(model, family, folder, **options):
    _, inputs, _, _ = family()
    shapes = {
        name: [None if isinstance(size, str) else size for size in shape]
        for name, (_, shape) in inputs.items()
    }
    path = folder / f"{family.__name__}.so"
    intarsia.compile(model, tune="off", shapes=shapes, **options).save(path)
    return intarsia.load(path)


@pytest.mark.parametrize("fallback", ["auto", "none"])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_random_sizes(tmp_path, family, fallback):
    model = save_family(family, tmp_path)
    program = compile_open(model, family, tmp_path, fallback=fallback)
    assert sorted(program.open_sizes) == sizes_of(family)
    oracle = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    names = [output.name for output in oracle.get_outputs()]
    sessions = [program.bind(threads=threads) for threads in (1, 2)]
    choices = random.Random(11)
    for _ in range(20 * ROUNDS):
        sizes = {name: choices.choice([1, 1, 2, 3, 7, 8, 13, 17]) for name in sizes_of(family)}
        for name, least in SMALLEST.items():
            if name in sizes:
                sizes[name] = least + sizes[name] - 1
        given = random_inputs(family, sizes)
        want = dict(zip(names, oracle.run(names, given), strict=True))
        for session in sessions:
            got = session.run(given)
            for name in names:
                assert got[name].shape == want[name].shape, (sizes, name)
                np.testing.assert_allclose(
                    got[name], want[name], rtol=1e-4, atol=1e-5, err_msg=f"{sizes} {name}"
                )


EXPORTS = sorted((SOURCE / "build/models/torch_like").glob("*.onnx"))
NUMPY = {
    "tensor(float)": "float32",
    "tensor(int64)": "int64",
    "tensor(int32)": "int32",
    "tensor(bool)": "bool",
}


def random_values(dtype, shape):
    if dtype == "float32":
        return RANDOM.standard_normal(shape, "float32")
    return RANDOM.integers(0, 2, shape).astype(dtype)


@pytest.mark.skipif(not EXPORTS, reason="make models")
@pytest.mark.parametrize("model", EXPORTS, ids=lambda model: model.stem)
def test_exports_of_pytorch(tmp_path, model):
    """Sizes that ONNX Runtime refuses are not sizes of the model."""
    oracle = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    inputs = {one.name: (NUMPY[one.type], one.shape) for one in oracle.get_inputs()}
    shapes = {
        name: [None if isinstance(size, str) else size for size in shape]
        for name, (_, shape) in inputs.items()
    }
    intarsia.compile(model, tune="off", shapes=shapes).save(tmp_path / "open.so")
    session = intarsia.load(tmp_path / "open.so").bind()
    choices, compared = random.Random(5), 0
    for _ in range(20 * ROUNDS):
        sizes = {
            size: choices.choice([1, 2, 3, 5, 8])
            for _, shape in inputs.values()
            for size in shape
            if isinstance(size, str)
        }
        given = {
            name: random_values(dtype, [sizes.get(size, size) for size in shape])
            for name, (dtype, shape) in inputs.items()
        }
        try:
            want = oracle.run(None, given)
        except Exception:
            continue
        got = session.run(given)
        for output, values in zip(oracle.get_outputs(), want, strict=True):
            assert got[output.name].shape == values.shape, (sizes, output.name)
            np.testing.assert_allclose(got[output.name], values, rtol=1e-3, atol=1e-4, err_msg=f"{sizes}")
        compared += 1
    assert compared > 0


@pytest.mark.parametrize(
    "family", [attention, encoder, language, segmenter], ids=lambda family: family.__name__
)
def test_models_run_in_our_kernels(tmp_path, family):
    """At all sizes, in one region, also what computes from sizes alone."""
    model = save_family(family, tmp_path)
    compile_open(model, family, tmp_path, fallback="none")
    report = intarsia.explain(tmp_path / f"{family.__name__}.so")
    assert [region["target"] for region in report["regions"]] == ["halide@cpu"]


def test_threads_run_different_sizes(tmp_path):
    """Sessions of one program share its code, and what it keeps for sizes that it saw."""
    model = save_family(encoder, tmp_path)
    program = compile_open(model, encoder, tmp_path, fallback="none")
    oracle = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    names = [output.name for output in oracle.get_outputs()]
    cases = [
        (given, oracle.run(names, given))
        for given in (random_inputs(encoder, {"batch": 1 + i % 3, "seq": 1 + i}) for i in range(20))
    ]

    def run_all(start):
        session = program.bind(threads=1)
        for i in range(60):
            given, want = cases[(start + 7 * i) % len(cases)]
            got = session.run(given)
            for name, values in zip(names, want, strict=True):
                np.testing.assert_allclose(got[name], values, rtol=1e-4, atol=1e-5)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run_all, range(4)))


def test_positions_beyond_the_table_are_an_error(tmp_path):
    model = save_family(encoder, tmp_path)
    session = compile_open(model, encoder, tmp_path, fallback="none").bind()
    with pytest.raises(intarsia.Error, match="batch = 1, seq = 21.*the model does not work with these sizes"):
        session.run(random_inputs(encoder, {"batch": 1, "seq": 21}))
    assert session.run(random_inputs(encoder, {"batch": 1, "seq": 20}))["y"].shape == (1, 9)


def test_a_language_model_writes_the_same_words(tmp_path):
    """64 words, each the one of the highest score, with keys and values of the words before."""
    model = save_family(language, tmp_path)
    session = compile_open(model, language, tmp_path, fallback="none").bind()
    oracle = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    names = [output.name for output in oracle.get_outputs()]

    def write(run):
        past, words, given = np.zeros((1, 4, 0, 8), "float32"), [], [3, 1, 4, 1, 5]
        keys = values = past
        for _ in range(64):
            got = run({"ids": np.array([given]), "layer_past_keys": keys, "layer_past_values": values})
            keys, values = got["layer_keys"], got["layer_values"]
            given = [int(got["y"][0, -1].argmax())]
            words += given
        return words

    want = write(lambda given: dict(zip(names, oracle.run(names, given), strict=True)))
    assert write(lambda given: {name: np.array(value) for name, value in session.run(given).items()}) == want
    assert len(set(want)) > 3


@pytest.mark.parametrize("family", [perceptron, classifier], ids=lambda family: family.__name__)
def test_open_batches_run_in_our_kernels(tmp_path, family):
    """One region for any number of rows, also for none."""
    model = save_family(family, tmp_path)
    program = compile_open(model, family, tmp_path, backends=["halide", "reference"])
    report = intarsia.explain(tmp_path / f"{family.__name__}.so")
    assert [region["target"] for region in report["regions"]] == ["halide@cpu"]
    for batch in (0, 3):
        got = program.run(random_inputs(family, {"batch": batch}))
        assert {values.shape[0] for values in got.values()} == {batch}


def test_errors_name_sizes_and_leave_the_session_usable(tmp_path):
    model = save_family(attention, tmp_path)
    path = tmp_path / "attention.so"
    shapes = {"x": ("1..4", "S", 32), "mask": (None, None)}
    intarsia.compile(model, tune="off", shapes=shapes).save(path)
    program = intarsia.load(path)
    assert program.open_sizes == {"S": (0, 10**9), "batch": (1, 4)}
    assert [str(argument) for argument in program.inputs] == [
        "x: float32[batch, S, 32]",
        "mask: bool[batch, S]",
    ]
    session = program.bind()
    good = {"x": np.ones((2, 3, 32), "float32"), "mask": np.ones((2, 3), bool)}
    first = session.run(good)["y"].copy()
    for change, words in [
        ({"x": np.ones((5, 3, 32), "float32")}, "'batch' is 5, want 1 to 4"),
        (
            {"x": np.ones((2, 4, 32), "float32")},
            r"input 'mask' has shape 2x3, want size 4 on axis 1: it is S",
        ),
        ({"x": np.ones((2, 3, 31), "float32")}, "has shape 2x3x31, want"),
        ({"x": np.ones((2, 3), "float32")}, "has rank 2"),
    ]:
        with pytest.raises(intarsia.InvalidArgumentError, match=words):
            session.run(good | change)
        np.testing.assert_array_equal(session.run(good)["y"], first)


def test_wrong_shapes_are_refused(tmp_path):
    model = save_family(perceptron, tmp_path)
    for sizes, words in [
        ((3, "N"), "fixes size 1 to 16"),
        (("8..1", 16), "ends swapped; want 1..8"),
        (("1..4:9", 16), "size 9 of the list '9' is not in 1..4"),
        (("N-1", 16), "is not a shape"),
    ]:
        with pytest.raises(intarsia.InvalidArgumentError, match=words):
            intarsia.compile(model, tune="off", shapes={"x": sizes})
