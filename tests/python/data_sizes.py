"""Sizes that depend on data: what follows an operator that makes them runs in our kernels, against ONNX Runtime.

Covers: src/graph/ data_sizes.cc
backends/halide/canonicalize/ told_sizes.cc
"""

import intarsia
import numpy as np
import onnxruntime
import pytest
from cli_models import TensorProto, helper, save

FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64
RANDOM = np.random.default_rng(3)
node = helper.make_node


def integers(*values):
    return np.array(values, "int64")


def detector():
    """Boxes that are left over, their areas and classes."""
    nodes = [
        node("NonMaxSuppression", ["boxes", "scores", "most", "overlap", "least"], ["picked"]),
        node("Gather", ["picked", "two"], ["which"], axis=1),
        node("Gather", ["places", "which"], ["found"], axis=0),
        node("Squeeze", ["found", "one"], ["corners"]),
        node("Split", ["corners", "each"], ["y1", "x1", "y2", "x2"], axis=1),
        node("Sub", ["y2", "y1"], ["height"]),
        node("Sub", ["x2", "x1"], ["width"]),
        node("Mul", ["height", "width"], ["area"]),
        node("Gather", ["features", "which"], ["rows"], axis=0),
        node("Squeeze", ["rows", "one"], ["row"]),
        node("MatMul", ["row", "weights"], ["logits"]),
        node("Softmax", ["logits"], ["classes"], axis=1),
        node("Mul", ["classes", "area"], ["weighted"]),
        node("ReduceMax", ["weighted", "one"], ["best"], keepdims=0),
    ]
    inputs = [
        ("boxes", FLOAT, [1, 40, 4]),
        ("scores", FLOAT, [1, 1, 40]),
        ("places", FLOAT, [40, 4]),
        ("features", FLOAT, [40, 16]),
    ]
    outputs = [("area", FLOAT, ["n", 1]), ("weighted", FLOAT, ["n", 7]), ("best", FLOAT, ["n"])]
    constants = {
        "most": integers(30),
        "overlap": np.array([0.5], "float32"),
        "least": np.array([0.5], "float32"),
        "two": integers(2),
        "one": integers(1),
        "each": integers(1, 1, 1, 1),
        "weights": RANDOM.standard_normal((16, 7), "float32"),
    }

    def random_inputs(share):
        begin = RANDOM.random((40, 2), "float32")
        boxes = np.concatenate([begin, begin + 0.2 * RANDOM.random((40, 2), "float32")], 1)
        return {
            "boxes": boxes[None],
            "places": boxes,
            "scores": np.float32(0.5 + share / 2) * RANDOM.random((1, 1, 40), "float32"),
            "features": RANDOM.standard_normal((40, 16), "float32"),
        }

    return nodes, inputs, outputs, constants, random_inputs, "NonMaxSuppression"


def positives():
    """Rows of an open batch whose first number is positive, and their places counted from the end."""
    nodes = [
        node("Slice", ["x", "zero", "one", "one"], ["first"]),
        node("Squeeze", ["first", "one"], ["numbers"]),
        node("Greater", ["numbers", "none"], ["is_positive"]),
        node("NonZero", ["is_positive"], ["places"]),
        node("Transpose", ["places"], ["tuples"]),
        node("GatherND", ["x", "tuples"], ["rows"]),
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "zero"], ["batch"]),
        node("Sub", ["batch", "tuples"], ["from_end"]),
        node("Cast", ["from_end"], ["weights"], to=FLOAT),
        node("Mul", ["rows", "weights"], ["y"]),
        node("ReduceSum", ["y", "zero"], ["sums"], keepdims=0),
    ]
    inputs = [("x", FLOAT, ["batch", 6])]
    outputs = [("y", FLOAT, ["n", 6]), ("sums", FLOAT, [6])]
    constants = {"zero": integers(0), "one": integers(1), "none": np.array(0, "float32")}

    def random_inputs(share):
        x = RANDOM.standard_normal((int(1 + 20 * share), 6), "float32")
        return {"x": x - np.float32(10 * (share < 0.1))}

    return nodes, inputs, outputs, constants, random_inputs, "NonZero"


@pytest.mark.parametrize("fallback", ["none", "auto"])
@pytest.mark.parametrize("family", [detector, positives], ids=lambda family: family.__name__)
def test_what_follows_runs_in_our_kernels(tmp_path, family, fallback):
    nodes, inputs, outputs, constants, random_inputs, maker = family()
    model = save(tmp_path / "model.onnx", nodes, inputs, outputs, list(constants.items()))
    program = tmp_path / "model.so"
    intarsia.compile(model, tune="off", fallback=fallback).save(program)
    report = intarsia.explain(program)
    assert maker in [at["op"] for at in report["nodes"]]
    assert {at["target"] for at in report["nodes"]} == {"halide@cpu"}
    assert report["outputs"][0]["shape"][0] is None
    session = intarsia.load(program).bind(threads=2)
    oracle = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    names, sizes = [output.name for output in oracle.get_outputs()], set()
    for i in range(30):
        given = random_inputs(i % 10 / 10)
        want = dict(zip(names, oracle.run(names, given), strict=True))
        got = session.run(given)
        for name, values in want.items():
            assert got[name].shape == values.shape
            np.testing.assert_allclose(got[name], values, rtol=1e-4, atol=1e-5)
        sizes.add(want[names[0]].shape[0])
    assert 0 in sizes and len(sizes) > 5


def test_what_no_input_tells_runs_elsewhere(tmp_path):
    """Rows of two sets in one tensor: neither number of rows is a size of it."""
    nodes = [
        node("NonZero", ["a"], ["i"]),
        node("NonZero", ["b"], ["j"]),
        node("Concat", ["i", "j"], ["both"], axis=1),
        node("Transpose", ["both"], ["t"]),
        node("Cast", ["t"], ["y"], to=FLOAT),
    ]
    model = save(
        tmp_path / "model.onnx",
        nodes,
        [("a", FLOAT, ["n"]), ("b", FLOAT, ["m"])],
        [("y", FLOAT, ["k", 1])],
        [],
    )
    intarsia.compile(model, tune="off", fallback="none").save(tmp_path / "model.so")
    session = intarsia.load(tmp_path / "model.so").bind()
    for a, b in [([1, 0, 2], [0]), ([], [3]), ([0], [0])]:
        got = session.run({"a": np.array(a, "float32"), "b": np.array(b, "float32")})["y"]
        np.testing.assert_array_equal(got[:, 0], [*np.flatnonzero(a), *np.flatnonzero(b)])
