"""Metadata of an ONNX model that says where its nodes run.

Covers: src/import/ read_annotations.cc write_annotations.cc
src/compile/ annotated_pins.cc annotate_model.cc
"""

import json

import numpy as np
import onnx
import pytest
from cli_models import SOURCE, TensorProto, call, call_json, error_of, helper, save

import intarsia

FLOAT, MICROSOFT = TensorProto.FLOAT, "com.microsoft"
DEVICES = ("-d", "cpu,accel=sim:0", "--backends", "reference,onnxruntime")


@pytest.fixture
def chain(tmp_path):
    """Three nodes; the second has no name, but its output has."""
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], "first"),
        helper.make_node("Exp", ["a"], ["second"]),
        helper.make_node("Neg", ["second"], ["y"], "third"),
    ]
    return save(tmp_path / "model.onnx", nodes, [("x", FLOAT, [4])], [("y", FLOAT, [4])])


def annotate(path, layers=(), stages=(), devices=()):
    """`layers` and `stages` by number of the node."""
    model = onnx.load(path)
    for number, layer in dict(layers).items():
        model.graph.node[number].metadata_props.add(key="author", value="somebody")
        model.graph.node[number].metadata_props.add(key="layer_ann", value=layer)
    for number, stage in dict(stages).items():
        model.graph.node[number].device_configurations.add(configuration_id="two", pipeline_stage=stage)
    if devices:
        model.configuration.add(name="two", num_devices=len(devices), device=devices)
    onnx.save(model, path)


def targets_of(model, *options):
    report = call_json("explain", model, *DEVICES, *options)
    return {node["name"]: (node["target"], node["reason"]) for node in report["nodes"]}


def test_a_layer_names_its_target(chain):
    annotate(chain, layers={0: "onnxruntime@cpu", 1: "@accel", 2: "encoder"})
    assert targets_of(chain) == {
        "first": ("onnxruntime@cpu", "pinned in the model"),
        "second": ("reference@accel", "pinned in the model"),
        "third": ("reference@cpu", "first choice"),  # a name for another tool
    }
    report = call_json("compile", chain, "-o", chain.parent / "p.so", *DEVICES, "--tune", "off")
    told = "the model's metadata names 'encoder' (1 node, first 'third'), which is no target or slot here and means nothing"
    assert report["notes"] == [told]
    text = call("compile", chain, "-o", chain.parent / "p.so", *DEVICES, "--tune", "off").stdout
    assert f"note {told}" in " ".join(text.split())


def test_a_stage_names_its_device(chain):
    annotate(chain, stages={0: 1, 1: 0, 2: 5}, devices=["cpu", "accel"])
    assert {name: target for name, (target, _) in targets_of(chain).items()} == {
        "first": "reference@accel",
        "second": "reference@cpu",
        "third": "reference@cpu",
    }


def test_the_user_overrules(chain):
    annotate(chain, layers={0: "@accel"})
    assert targets_of(chain, "--pin", "first=reference@cpu")["first"] == (
        "reference@cpu",
        "pinned by the user",
    )


def test_a_pin_to_a_slot_takes_any_backend_there(chain):
    assert targets_of(chain, "--pin", "*=@accel", "--pin", "third=@cpu") == {
        "first": ("reference@accel", "pinned by the user"),
        "second": ("reference@accel", "pinned by the user"),
        "third": ("reference@cpu", "pinned by the user"),
    }
    error = error_of("compile", chain, *DEVICES, "--pin", "first=@npu", status=2)
    assert "--pin first=@npu: no such target; there are reference@cpu" in error


def test_a_place_that_cannot_is_an_error(tmp_path):
    nodes = [helper.make_node("QuickGelu", ["x"], ["y"], "gelu", domain=MICROSOFT)]
    model = save(
        tmp_path / "gelu.onnx",
        nodes,
        [("x", FLOAT, [4])],
        [("y", FLOAT, [4])],
        opsets=(("", 18), (MICROSOFT, 1)),
        checked=False,
    )
    annotate(model, layers={0: "reference@accel"})
    message = error_of("compile", model, *DEVICES, "--dry-run", status=1)
    assert (
        "node 'gelu' (QuickGelu): the model's metadata wants it on 'reference@accel', where no backend takes it"
        in message
    )


def layers_of(model):
    return [
        {entry.key: entry.value for entry in node.metadata_props}.get("layer_ann")
        for node in onnx.load(model, load_external_data=False).graph.node
    ]


def without_layers(path):
    """The model's bytes, but for the entries that say where its nodes run."""
    model = onnx.load(path, load_external_data=False)
    for node in model.graph.node:
        kept = [entry for entry in node.metadata_props if entry.key != "layer_ann"]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    return model.SerializeToString(deterministic=True)


def save_odd(folder):
    """Names of several nodes, none, and of characters that mean something elsewhere."""
    weight = np.random.default_rng(1).standard_normal((4, 4)).astype(np.float32)
    names = ["same", "same", "", "a#b/c", "blöck [1]*=\n'x'", ""]
    ops = ["Relu", "Exp", "Neg", "Sigmoid", "Tanh", "Abs"]
    nodes = [
        helper.make_node(op, [f"v{i}"], [f"v{i + 1}"], name) for i, (op, name) in enumerate(zip(ops, names))
    ]
    nodes.append(helper.make_node("MatMul", ["v6", "w"], ["y"], "product"))
    return save(folder / "odd.onnx", nodes, [("v0", FLOAT, [4, 4])], [("y", FLOAT, [4, 4])], [("w", weight)])


def test_a_plan_in_a_model_gives_the_same_plan(tmp_path):
    model, plan, copy = save_odd(tmp_path), tmp_path / "plan.json", tmp_path / "copy.onnx"
    options = (*DEVICES, "--tune", "off")
    call("compile", model, "-o", tmp_path / "first.so", *options, "--save-plan", plan)
    edited = json.loads(plan.read_text())
    nodes = edited["functions"]["main"]["nodes"]
    for i, name in enumerate(nodes):
        nodes[name] = ["reference@cpu", "reference@accel", "onnxruntime@cpu"][i % 3]
    plan.write_text(json.dumps(edited))
    call("explain", model, *options, "--plan", plan, "--annotate", copy)
    assert layers_of(copy) == list(nodes.values())
    onnx.checker.check_model(str(copy), full_check=True)
    assert without_layers(copy) == without_layers(model)
    planned = call_json("compile", model, "-o", tmp_path / "planned.so", *options, "--plan", plan)
    again = tmp_path / "again.json"
    annotated = call_json("compile", copy, "-o", tmp_path / "copy.so", *options, "--save-plan", again)
    assert json.loads(again.read_text())["functions"]["main"]["nodes"] == nodes
    assert annotated["regions"] == planned["regions"] and annotated["copies"] == planned["copies"]
    x = np.random.default_rng(2).standard_normal((4, 4)).astype(np.float32)
    outputs = [intarsia.load(tmp_path / name)(v0=x) for name in ("planned.so", "copy.so")]
    np.testing.assert_array_equal(*outputs)


def test_other_annotations_stay_and_old_places_go(chain, tmp_path):
    annotate(chain, layers={0: "@accel", 1: "encoder"})
    copy = tmp_path / "copy.onnx"
    intarsia.annotate(chain, copy, backends="reference", devices=["cpu", "accel=sim:0"])
    assert layers_of(copy) == ["reference@accel", "reference@cpu", "reference@cpu"]
    assert without_layers(copy) == without_layers(chain)
    assert [entry.key for entry in onnx.load(copy).graph.node[0].metadata_props] == ["author", "layer_ann"]
    second = tmp_path / "second.onnx"
    intarsia.annotate(copy, second, backends="reference", devices=["cpu", "accel=sim:0"])
    assert second.read_bytes() == copy.read_bytes()


def test_nodes_in_subgraphs_and_folded_ones_have_no_place(tmp_path):
    branch = [
        helper.make_graph(
            [helper.make_node(op, ["x"], [f"{op}_y"], f"in_{op}")],
            op,
            [],
            [helper.make_tensor_value_info(f"{op}_y", FLOAT, [4])],
        )
        for op in ("Relu", "Neg")
    ]
    nodes = [
        helper.make_node("Add", ["one", "one"], ["two"], "folded"),
        helper.make_node("If", ["c"], ["z"], "choice", then_branch=branch[0], else_branch=branch[1]),
        helper.make_node("Mul", ["z", "two"], ["y"], "last"),
    ]
    inputs = [("c", TensorProto.BOOL, []), ("x", FLOAT, [4])]
    model = save(tmp_path / "if.onnx", nodes, inputs, [("y", FLOAT, [4])], [("one", np.ones(4, np.float32))])
    copy = tmp_path / "copy.onnx"
    call("explain", model, "--annotate", copy)
    folded, choice, last = layers_of(copy)
    assert folded is None and choice == "control_flow@cpu" and last.endswith("@cpu")
    assert without_layers(copy) == without_layers(model)
    assert call_json("compile", copy, "--dry-run", "--tune", "off")["regions"]


def save_call(folder):
    """A function of two nodes, which no backend knows as a whole."""
    body = [helper.make_node("Relu", ["a"], ["b"], "inner1"), helper.make_node("Exp", ["b"], ["c"], "inner2")]
    function = helper.make_function("own", "Block", ["a"], ["c"], body, [helper.make_opsetid("", 18)])
    nodes = [
        helper.make_node("Block", ["x"], ["z"], "call", domain="own"),
        helper.make_node("Neg", ["z"], ["y"]),
    ]
    return save(
        folder / "call.onnx", nodes, [("x", FLOAT, [4])], [("y", FLOAT, [4])],
        opsets=(("", 18), ("own", 1)), functions=[function], checked=False,
    )  # fmt: skip


def test_a_call_has_one_place(tmp_path):
    model, copy = save_call(tmp_path), tmp_path / "copy.onnx"
    call("explain", model, *DEVICES, "--pin", "call*=reference@accel", "--annotate", copy)
    assert layers_of(copy) == ["reference@accel", "reference@cpu"]
    places = targets_of(copy)
    assert [target for target, _ in places.values()] == [
        "reference@accel",
        "reference@accel",
        "reference@cpu",
    ]
    message = error_of(
        "explain",
        model,
        *DEVICES,
        "--pin",
        "*inner1=reference@accel",
        "--annotate",
        tmp_path / "none.onnx",
        status=2,
    )
    assert "nodes of the function that 'call' calls run on reference@accel and on reference@cpu" in message
    assert "--save-plan" in message and not (tmp_path / "none.onnx").exists()


def test_weights_in_files_stay_there(tmp_path):
    source = onnx.load(save_odd(tmp_path))
    model, copy = tmp_path / "model.onnx", tmp_path / "copy.onnx"
    onnx.save(source, model, save_as_external_data=True, location="weights.bin", size_threshold=0)
    weights = (tmp_path / "weights.bin").read_bytes()
    call("explain", model, *DEVICES, "--annotate", copy)
    assert without_layers(copy) == without_layers(model)
    assert call_json("compile", copy, *DEVICES, "--dry-run", "--tune", "off")["regions"]
    (tmp_path / "other").mkdir()
    message = error_of("explain", model, *DEVICES, "--annotate", tmp_path / "other/copy.onnx", status=2)
    assert "its weights are in files beside it" in message
    assert "weights.bin" in error_of("explain", model, "--annotate", tmp_path / "weights.bin", status=2)
    assert (tmp_path / "weights.bin").read_bytes() == weights


def test_what_cannot_be_annotated(chain, tmp_path):
    program, copy = tmp_path / "model.so", tmp_path / "copy.onnx"
    call("compile", chain, "-o", program, *DEVICES, "--tune", "off")
    assert "name its model" in error_of("explain", program, "--annotate", copy, status=2)
    before = chain.read_bytes()
    error_of("explain", chain, "--annotate", chain, status=2)
    assert chain.read_bytes() == before
    message = error_of("explain", chain, "--annotate", copy, "--dot", copy, status=2)
    assert "--dot and --annotate name the same file" in message
    saved_model = SOURCE / "build/models/tensorflow/detector_head"
    if saved_model.exists():
        message = error_of("explain", saved_model, "--annotate", copy, status=2)
        assert "is TensorFlow's and has no place for a plan" in message and "--save-plan" in message
    assert not copy.exists()
