"""Metadata of an ONNX model that says where its nodes run.

Covers: src/import/ read_annotations.cc
src/compile/ annotated_pins.cc
"""

import pytest
from cli_models import TensorProto, call_json, error_of, helper, save

import onnx

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
