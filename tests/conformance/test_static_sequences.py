"""Sequences whose elements and positions are known at compile time, in our compiler alone, against ONNX Runtime: random chains of operators on
sequences; and those that depend on data, which stay in ONNX Runtime.

Covers: src/passes/resolve_sequences.cc
"""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import intarsia


class Writer:
    """A model that is written node by node. `lengths` has the number of elements of each sequence."""

    def __init__(self, seed, opset):
        self.random, self.opset = np.random.default_rng(seed), opset
        self.nodes, self.constants, self.lengths = [], [], {}

    def add(self, op, inputs, **attributes):
        name = f"{op}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        return name

    def constant(self, array):
        self.constants.append(numpy_helper.from_array(np.asarray(array), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def place(self, least, most):
        dtype = self.random.choice((np.int32, np.int64))
        return self.constant(self.random.integers(least, most + 1, dtype=dtype))

    def split(self, size):
        """Cuts x along its axis of `size`."""
        form = self.random.integers(4)
        if form == 0:
            return self.keep(self.add("SplitToSequence", ["x"], axis=1), size)
        if form == 1:
            part = int(self.random.integers(1, size + 2))
            return self.keep(
                self.add("SplitToSequence", ["x", self.constant(np.int64(part))], axis=-2), -(-size // part)
            )
        first = int(self.random.integers(1, size))
        lengths = self.constant(np.array([first, size - first], np.int64))
        # Sizes that are given keep the axis.
        return self.keep(self.add("SplitToSequence", ["x", lengths], axis=1, keepdims=int(form == 2)), 2)

    def keep(self, sequence, length):
        self.lengths[sequence] = length
        return sequence

    def step(self):
        sequence = str(self.random.choice(list(self.lengths)))
        length = self.lengths[sequence]
        op = self.random.choice(("insert", "erase", "at", "make", "alias"))
        if op == "insert":
            places = [self.place(-length, length)] if self.random.random() < 0.7 else []
            self.keep(self.add("SequenceInsert", [sequence, "z", *places]), length + 1)
        elif op == "erase" and length > 1:
            places = [self.place(-length, length - 1)] if self.random.random() < 0.7 else []
            self.keep(self.add("SequenceErase", [sequence, *places]), length - 1)
        elif op == "at":
            element = self.add("SequenceAt", [sequence, self.place(-length, length - 1)])
            self.keep(self.add("SequenceConstruct", [element, "z", self.add("Neg", [element])]), 3)
        elif op == "make":
            empty = self.add("SequenceEmpty", [], dtype=TensorProto.FLOAT)
            self.keep(self.add("SequenceInsert", [empty, "z"]), 1)
        elif self.opset >= 14:
            self.keep(self.add("Identity", [sequence]), length)

    def model(self, outputs, inputs):
        graph = helper.make_graph(
            self.nodes,
            "graph",
            [helper.make_tensor_value_info(name, kind, sizes) for name, (kind, sizes) in inputs.items()],
            [onnx.ValueInfoProto(name=name) for name in outputs],
            self.constants,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)


def theirs(model, inputs, outputs):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return dict(zip(outputs, session.run(outputs, inputs), strict=True))


@pytest.mark.parametrize("opset", (11, 17))
@pytest.mark.parametrize("seed", range(6))
def test_chains(seed, opset, tmp_path):
    w = Writer(seed, opset)
    w.split(5)
    w.split(5)
    for _ in range(8):
        w.step()
    outputs = []
    for sequence, length in list(w.lengths.items())[-5:]:
        outputs.append(w.add("ConcatFromSequence", [sequence], axis=1))
        outputs.append(w.add("Neg", [w.add("SequenceAt", [sequence, w.place(-length, length - 1)])]))
        outputs.append(w.add("SequenceLength", [sequence]))
    alike = w.keep(w.add("SequenceConstruct", ["x", "x", w.add("Neg", ["x"])]), 3)
    outputs += [w.add("ConcatFromSequence", [alike], axis=axis, new_axis=1) for axis in (0, -1, 2)]
    rows = w.add("SplitToSequence", ["x"], axis=2, keepdims=0)
    outputs.append(w.add("ConcatFromSequence", [rows], axis=-1, new_axis=1))
    outputs.append(w.add("Neg", [w.add("SequenceAt", [rows, w.place(0, 3)])]))
    model = w.model(outputs, {"x": (TensorProto.FLOAT, ["n", 5, 4]), "z": (TensorProto.FLOAT, ["n", 2, 4])})
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    compiled = intarsia.compile(path, tune="off", fallback="none", backends=["halide"])
    assert {region["target"] for region in compiled.report["regions"]} == {"halide@cpu"}
    session = compiled.load().bind()
    for batch in (1, 3):
        x, z = w.random.random((batch, 5, 4), "float32"), w.random.random((batch, 2, 4), "float32")
        got = session.run({"x": x, "z": z})
        for name, value in theirs(model, {"x": x, "z": z}, outputs).items():
            np.testing.assert_array_equal(got[name], value, strict=True)


def test_what_depends_on_data_stays(tmp_path):
    """The place is an input, and the number of parts a size: ONNX Runtime has these, and our compiler what is known beside them."""
    w = Writer(1, 17)
    pair = w.add("SequenceConstruct", ["x", "y"])
    at = w.add("SequenceAt", [pair, "place"])
    known = w.add("SequenceAt", [pair, w.constant(np.int64(1))])
    parts = w.add("SplitToSequence", ["x"], axis=0)
    outputs = [w.add("Neg", [at]), w.add("Abs", [known]), w.add("SequenceLength", [parts])]
    floats = (TensorProto.FLOAT, ["n", 3])
    model = w.model(outputs, {"x": floats, "y": floats, "place": (TensorProto.INT64, [])})
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    compiled = intarsia.compile(path, tune="off", backends=["halide", "onnxruntime"])
    targets = {region["target"] for region in compiled.report["regions"]}
    assert targets == {"halide@cpu", "onnxruntime@cpu"}
    session = compiled.load().bind()
    for rows, place in ((2, 0), (4, 1)):
        inputs = {name: w.random.standard_normal((rows, 3)).astype("float32") for name in "xy"}
        inputs["place"] = np.array(place)
        got = session.run(inputs)
        for name, value in theirs(model, inputs, outputs).items():
            np.testing.assert_array_equal(got[name], value, strict=True)


def test_a_place_outside_is_told(tmp_path):
    w = Writer(1, 17)
    pair = w.add("SequenceConstruct", ["x", "x"])
    outputs = [w.add("SequenceAt", [pair, w.constant(np.int64(2))])]
    path = tmp_path / "model.onnx"
    onnx.save(w.model(outputs, {"x": (TensorProto.FLOAT, [3])}), path)
    with pytest.raises(intarsia.Error, match="SequenceAt"):
        intarsia.compile(path, tune="off", fallback="none", backends=["halide"])
