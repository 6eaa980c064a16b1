"""An operator that only ONNX Runtime has, at every kind of place in a real model: right results, fewest regions.

Covers: src/plan/partition/ join_regions.cc partition_graph.cc src/plan/place/ place_nodes.cc backends/onnxruntime/ load.cc
"""

import numpy as np
import onnx
import pytest
from model_tools import MICROSOFT, MODELS, assert_close, insert_foreign, random_inputs, run_onnxruntime

import intarsia


@pytest.fixture
def resnet():
    return onnx.load(MODELS / "resnet50.onnx")


def outputs_of(model, op):
    return [node.output[0] for node in model.graph.node if node.op_type == op]


def compile_and_check(model, folder, regions):
    """`regions`: backends in order of execution."""
    path = folder / "model.onnx"
    onnx.save(model, path)
    inputs = random_inputs(model)
    compiled = intarsia.compile(path, backends=["halide", "onnxruntime"], tune="off")
    assert_close(compiled.load().bind().run(inputs), run_onnxruntime(path, inputs))
    assert [region["target"].split("@")[0] for region in compiled.report["regions"]] == regions
    return compiled


def test_in_the_middle(resnet, tmp_path):
    relus = outputs_of(resnet, "Relu")
    insert_foreign(resnet, relus[len(relus) // 2])
    compile_and_check(resnet, tmp_path, ["halide", "onnxruntime", "halide"])


def test_on_a_branch(resnet, tmp_path):
    """The other branch's value bypasses the foreign region."""
    readers = {}
    for node in resnet.graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    value, nodes = next(
        (v, nodes) for v, nodes in readers.items() if {n.op_type for n in nodes} == {"Conv", "Add"}
    )
    reader = next(node for node in nodes if node.op_type == "Add")
    insert_foreign(resnet, value, only_reader=reader.name)
    compile_and_check(resnet, tmp_path, ["halide", "onnxruntime", "halide"])


def test_at_the_input(resnet, tmp_path):
    insert_foreign(resnet, "image")
    compile_and_check(resnet, tmp_path, ["onnxruntime", "halide"])


def test_at_the_output(resnet, tmp_path):
    insert_foreign(resnet, resnet.graph.output[0].name)
    compile_and_check(resnet, tmp_path, ["halide", "onnxruntime"])


def test_fifty_times(resnet, tmp_path):
    """After each of the 49 activations, which are one after the other, and at the output."""
    values = [*outputs_of(resnet, "Relu"), resnet.graph.output[0].name]
    assert len(values) == 50
    for value in values:
        insert_foreign(resnet, value)
    compile_and_check(resnet, tmp_path, ["halide", "onnxruntime"] * 50)


def test_values_that_only_pass_through(resnet, tmp_path):
    """An input as an output, and a foreign region's input as one."""
    value = outputs_of(resnet, "Relu")[20]
    insert_foreign(resnet, value)
    copied = onnx.helper.make_node("Identity", ["image"], ["same_image"], "pass_through")
    resnet.graph.node.insert(0, copied)
    resnet.graph.output.extend(
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None)
        for name in ("same_image", value)
    )
    compile_and_check(resnet, tmp_path, ["halide", "onnxruntime", "halide"])


# Five nodes, B and D foreign: node -> what it reads.
CHAIN = {"A": ["x"], "B": ["A"], "C": ["B"], "D": ["C"], "E": ["D", "A"]}
DIAMOND = {"A": ["x"], "B": ["A"], "C": ["A"], "D": ["C"], "E": ["D", "A"]}


def five_nodes(edges):
    def node(name, reads):
        if name in "BD":
            return onnx.helper.make_node("QuickGelu", reads, [name], name, domain=MICROSOFT)
        return onnx.helper.make_node("Add", [*reads, "w"][:2], [name], name)

    info = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [4, 8]) for name in "xEB"]
    weight = onnx.numpy_helper.from_array(np.linspace(-1, 1, 8, dtype=np.float32), "w")
    graph = onnx.helper.make_graph(
        [node(*one) for one in edges.items()], "five", info[:1], info[1:], [weight]
    )
    opsets = [onnx.helper.make_opsetid("", 18), onnx.helper.make_opsetid(MICROSOFT, 1)]
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=9)


@pytest.mark.parametrize(
    "edges, regions",
    (
        (
            CHAIN,
            ["halide", "onnxruntime", "halide", "onnxruntime", "halide"],
        ),  # A and E together would be a cycle
        (DIAMOND, ["halide", "onnxruntime", "halide"]),  # {A, C}, {B, D}, {E}
    ),
    ids=("chain", "diamond"),
)
def test_two_of_five(edges, regions, tmp_path):
    compile_and_check(five_nodes(edges), tmp_path, regions)


def test_without_a_framework_the_error_names_the_operator(resnet, tmp_path):
    name = insert_foreign(resnet, outputs_of(resnet, "Relu")[20])
    onnx.save(resnet, tmp_path / "model.onnx")
    with pytest.raises(intarsia.Error, match=f"com.microsoft.*QuickGelu.*{name}"):
        intarsia.compile(tmp_path / "model.onnx", fallback="none")


def slot_of_value(model, nodes):
    """{value: slot of its producer}; inputs are on the host."""
    slots = {info.name: "cpu" for info in model.graph.input}
    placed = {node["name"]: node["target"].split("@")[1] for node in nodes}
    for node in model.graph.node:
        slots.update((name, placed[node.name]) for name in node.output if node.name in placed)
    return slots, placed


def expected_copies(model, nodes):
    """Every value once per slot that reads it and does not have it."""
    slots, placed = slot_of_value(model, nodes)
    reads = [
        (name, placed[node.name]) for node in model.graph.node if node.name in placed for name in node.input
    ]
    reads += [(output.name, "cpu") for output in model.graph.output]
    return {(name, slots[name], slot) for name, slot in reads if name in slots and slots[name] != slot}


@pytest.mark.parametrize("backend", ("halide", "onnxruntime"))
def test_two_simulated_devices(backend, tmp_path):
    """Blocks 3 to 8 on one device, 9 to 14 on another."""
    path = MODELS / "mobilenetv2.onnx"
    model = onnx.load(path)
    pins = {f"*block_{i}_*": f"{backend}@{'a' if i < 9 else 'b'}" for i in range(3, 15)}
    devices = ["cpu", "a=sim:0", "b=sim:1"]
    inputs = random_inputs(model)
    compiled = intarsia.compile(path, devices=devices, pins=pins, tune="off")
    assert_close(compiled.load().bind().run(inputs), run_onnxruntime(path, inputs))
    nodes = intarsia.explain(path, devices=devices, pins=pins)["nodes"]
    copies = [(copy["value"], copy["from"], copy["to"]) for copy in compiled.report["copies"]]
    assert len(copies) == len(set(copies)) and set(copies) == expected_copies(model, nodes)
    slots = {region["target"].split("@")[1] for region in compiled.report["regions"]}
    assert slots == {"cpu", "a", "b"}
