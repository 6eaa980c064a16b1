"""Programs whose sizes are open until they run: many sizes in one session, in any order, against ONNX Runtime.

Covers: bindings/python/ module.cc compile_module.cc
bindings/python/intarsia/ program.py options.py
"""

import random

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


FAMILIES = [perceptron, segmenter, classifier, attention, decoder, recurrence, detector]
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
    if "mask" in given and given["mask"].dtype == bool:
        given["mask"][..., :1] = True
    return given


def save_family(family, folder):
    nodes, inputs, outputs, constants = family()
    ports = [[(name, *port) for name, port in side.items()] for side in (inputs, outputs)]
    return save(
        folder / f"{family.__name__}.onnx", nodes, *ports, list(constants.items()), opsets=(("", 13),)
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
