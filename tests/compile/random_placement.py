"""Random graphs with random pins to two core sets and two devices, and in OpenVINO, give what the reference backend
gives, and limits of memory hold.

Each graph comes from its seed alone; a failure names it: pytest tests/compile/random_placement.py -k seed_17

Covers: src/compile/ build_function.cc choose_targets.cc compile_model.cc compile_regions.cc emit_program.cc
pass_runner.cc
src/plan/partition/ insert_copies.cc partition_graph.cc
src/plan/place/ place_nodes.cc
src/device/sim/ executor.cc
"""

import os

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from rounds import ROUNDS

import intarsia

GRAPHS = 24 * ROUNDS
NODES = (4, 24)
CORES = sorted(os.sched_getaffinity(0))
DEVICES = [f"c=cpu:{CORES[0]}", f"d=cpu:{CORES[-1]}", "a=sim:0", "b=sim:1?direct=1"]
TARGETS = [f"{backend}@{slot}" for backend in ("halide", "reference") for slot in "cdab"]
UNARY = ("Relu", "Tanh", "Neg", "Abs", "Sigmoid", "Identity")
BINARY = ("Add", "Sub", "Mul", "Max")


class RandomGraph:
    """Values are f32 of shape [rows, columns]; any earlier value may be read again. Some are computed in fewer bits."""

    # Methods that add a node, or several.
    KINDS = ("unary", "binary", "concat", "split", "product", "reduce", "top", "quantized", "dynamic", "half")

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.values, self.constants = [], [], []
        self.few_bits = set()  # names of nodes with numbers of fewer bits than those of f32
        self.inputs = [self.add_value(f"x{i}", self.shape()) for i in range(self.number(1, 3))]
        while len(self.nodes) < self.random.integers(*NODES):
            make = self.KINDS[self.random.integers(len(self.KINDS))]
            getattr(self, make)(f"n{len(self.nodes)}")
        self.add_outputs()

    def number(self, low, high):
        return int(self.random.integers(low, high + 1))

    def shape(self):
        return self.number(1, 5), self.number(2, 9)

    def add_value(self, name, shape):
        self.values.append((name, shape))
        return name, shape

    def pick(self):
        return self.values[self.random.integers(len(self.values))]

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def weight(self, shape):
        return self.constant(self.random.uniform(-1, 1, shape).astype(np.float32))

    def add(self, op, name, inputs, shapes, **attributes):
        outputs = [f"{name}_{i}" for i in range(len(shapes))]
        self.nodes.append(helper.make_node(op, inputs, outputs, name, **attributes))
        for output, shape in zip(outputs, shapes):
            self.add_value(output, shape)

    def unary(self, name):
        value, shape = self.pick()
        self.add(self.random.choice(UNARY), name, [value], [shape])

    def binary(self, name):
        """With a value of the same shape if there is one, or a constant row."""
        value, shape = self.pick()
        same = [other for other, s in self.values if s == shape and other != value]
        other = self.random.choice(same) if same else self.weight((1, shape[1]))
        self.add(self.random.choice(BINARY), name, [value, other], [shape])

    def concat(self, name):
        value, (rows, columns) = self.pick()
        parts = [v for v, s in self.values if s[0] == rows][:2]
        widths = [s[1] for v, s in self.values if v in parts]
        self.add("Concat", name, [value, *parts], [(rows, columns + sum(widths))], axis=1)

    def split(self, name):
        value, (rows, columns) = self.pick()
        if columns < 2:
            return self.unary(name)
        first = self.number(1, columns - 1)
        sizes = self.constant(np.array([first, columns - first], np.int64))
        return self.add("Split", name, [value, sizes], [(rows, first), (rows, columns - first)], axis=1)

    def product(self, name):
        value, (rows, columns) = self.pick()
        width = self.number(2, 9)
        self.add("MatMul", name, [value, self.weight((columns, width))], [(rows, width)])

    def reduce(self, name):
        value, (rows, _) = self.pick()
        op = self.random.choice(["ReduceMax", "ReduceMean"])
        axes = self.constant(np.array([1], np.int64))
        self.add(op, name, [value, axes], [(rows, 1)], keepdims=1)

    def top(self, name):
        """Of the two results only the values are read: equal ones have no defined order."""
        value, (rows, columns) = self.pick()
        count = self.number(1, columns)
        self.add(
            "TopK", name, [value, self.constant(np.array([count], np.int64))], [(rows, count), None], axis=1
        )
        self.values.pop()

    def link(self, op, name, *inputs, count=1):
        """Adds a node whose outputs only the caller knows."""
        outputs = [f"{name}_{op}{len(self.nodes)}_{i}" for i in range(count)]
        self.nodes.append(helper.make_node(op, inputs, outputs, f"{name}_{len(self.nodes)}"))
        self.few_bits |= {name, self.nodes[-1].name}
        return outputs if count > 1 else outputs[0]

    def scale(self, shape=()):
        return self.constant(self.random.uniform(0.01, 0.03, shape).astype(np.float32))

    def integers(self, dtype, shape=()):
        limits = np.iinfo(dtype)
        return self.constant(self.random.integers(limits.min, limits.max + 1, shape).astype(dtype))

    def quantized(self, name):
        """A product between QuantizeLinear and DequantizeLinear: u8 or i8, per tensor or per channel."""
        value, (rows, columns) = self.pick()
        width, dtype = self.number(2, 9), self.random.choice([np.uint8, np.int8])
        channels = (width,) if self.random.random() < 0.5 else ()
        weight = self.constant(self.random.integers(-127, 128, (columns, width)).astype(np.int8))
        of_weight = self.scale(channels), self.constant(np.zeros(channels, np.int8))
        for operand in ("x", "y"):
            grid = self.scale(), self.integers(dtype)
            steps = self.link("QuantizeLinear", name, value, *grid)
            value = self.link("DequantizeLinear", name, steps, *grid)
            if operand == "x":
                numbers = self.link("DequantizeLinear", name, weight, *of_weight)
                value = self.link("MatMul", name, value, numbers)
        self.add_value(value, (rows, width))

    def dynamic(self, name):
        value, (rows, columns) = self.pick()
        width = self.number(2, 9)
        steps, scale, zero = self.link("DynamicQuantizeLinear", name, value, count=3)
        sums = self.link("MatMulInteger", name, steps, self.integers(np.int8, (columns, width)), zero)
        numbers = self.link("Cast", name, sums)
        self.nodes[-1].attribute.append(helper.make_attribute("to", TensorProto.FLOAT))
        self.add("Mul", name, [numbers, self.link("Mul", name, scale, self.scale())], [(rows, width)])

    def half(self, name):
        """A product and a sum in f16 or bf16."""
        value, (rows, columns) = self.pick()
        dtype = int(self.random.choice([TensorProto.FLOAT16, TensorProto.BFLOAT16]))
        width = self.number(2, 9)
        operands = [value, self.weight((columns, width)), self.weight((width,))]
        for i, operand in enumerate(operands):
            operands[i] = self.link("Cast", name, operand)
            self.nodes[-1].attribute.append(helper.make_attribute("to", dtype))
        total = self.link("Add", name, self.link("MatMul", name, *operands[:2]), operands[2])
        self.add("Cast", name, [total], [(rows, width)], to=TensorProto.FLOAT)

    def add_outputs(self):
        """Values that nothing reads, one value that others read, an input, and a constant."""
        read = {name for node in self.nodes for name in node.input}
        outputs = [value for value in self.values if value[0] not in read or self.random.random() < 0.1]
        if self.random.random() < 0.5:
            outputs.append((self.weight((2, 3)), (2, 3)))
        self.outputs = list(dict.fromkeys(outputs)) or [self.values[-1]]

    def model(self):
        def infos(values):
            return [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in values]

        graph = helper.make_graph(
            self.nodes, "random", infos(self.inputs), infos(self.outputs), self.constants
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
        onnx.checker.check_model(model)
        return model

    def feed(self):
        return {name: self.random.uniform(-2, 2, shape).astype(np.float32) for name, shape in self.inputs}


def random_pins(graph, path):
    """About half of the nodes, each to a target that runs it. Those of constants are folded, and have no place."""
    refused = {node["name"]: " ".join(node["refusals"]) for node in intarsia.explain(path)["nodes"]}
    pins = {}
    for node in graph.nodes:
        target = str(graph.random.choice(TARGETS))
        if node.name not in refused:
            continue
        if graph.random.random() < 0.5 and target.split("@")[0] not in refused.get(node.name, ""):
            pins[node.name] = target
    return pins


def assert_same(got, want, graph, seed):
    """A number half-way between two steps is rounded to either, and what follows differs, too: few numbers do."""
    assert set(got) == set(want) == {name for name, _ in graph.outputs}
    for name, expected in want.items():
        if graph.few_bits:
            errors = np.abs(got[name] - expected) / max(1, np.abs(expected).max())
            assert errors.max() < 0.2, f"seed {seed}, {name}"
            assert (errors < 0.01).mean() > 0.7, f"seed {seed}, {name}"
            continue
        np.testing.assert_allclose(
            got[name],
            expected,
            rtol=1e-4,
            atol=1e-4 * max(1, np.abs(expected).max()),
            err_msg=f"seed {seed}, {name}",
        )


@pytest.mark.parametrize("seed", range(GRAPHS), ids=lambda seed: f"seed_{seed}")
def test_random_placement(seed, tmp_path):
    graph = RandomGraph(seed)
    path = tmp_path / "model.onnx"
    onnx.save(graph.model(), path)
    inputs = graph.feed()
    pins = random_pins(graph, path)
    want = intarsia.compile(path, backends=["reference"]).load().bind().run(inputs)
    compiled = intarsia.compile(
        path, backends=["halide", "reference"], fallback="none", devices=DEVICES, pins=pins, tune="off"
    )
    session = compiled.load().bind()
    session.run(inputs)
    got = session.run(inputs)
    assert_same(got, want, graph, seed)


@pytest.mark.parametrize("seed", range(GRAPHS // 4), ids=lambda seed: f"seed_{seed}")
def test_memory_limits(seed, tmp_path):
    """Everything would be on a device. Whatever it has room for, there is a plan, as the host takes all nodes."""
    graph = RandomGraph(seed)
    path = tmp_path / "model.onnx"
    onnx.save(graph.model(), path)
    options = {
        "backends": ["halide", "reference"], "fallback": "none", "devices": ["a=sim:0", "cpu"], "tune": "off"
    }  # fmt: skip

    def bytes_on_device(compiled):
        memory = next(slot["memory"] for slot in compiled.report["slots"] if slot["name"] == "a")
        return memory["constants_bytes"] + memory["arena_bytes"]

    free = intarsia.compile(path, **options)
    inputs = graph.feed()
    want = free.load().bind().run(inputs)
    limit = 1 + int(bytes_on_device(free) * graph.random.random())
    limited = intarsia.compile(path, memory={"a": limit}, **options)
    assert bytes_on_device(limited) <= limit
    assert_same(limited.load().bind().run(inputs), want, graph, seed)


@pytest.mark.parametrize("seed", range(GRAPHS // 4), ids=lambda seed: f"seed_{seed}")
def test_in_openvino(seed, tmp_path):
    """What nothing computes (an Identity, a Split into parts that are outputs) its optimizer removes."""
    graph = RandomGraph(seed)
    path = tmp_path / "model.onnx"
    onnx.save(graph.model(), path)
    want = intarsia.compile(path, backends=["reference"]).load().bind()
    session = intarsia.compile(path, backends=["openvino", "reference"], tune="off").load().bind()
    for _ in range(3):
        inputs = graph.feed()
        assert_same(session.run(inputs), want.run(inputs), graph, seed)
