"""Which values are copied between devices, and that a program with these copies computes the same.

Covers: src/plan/partition/ elide_copies.cc insert_copies.cc split_branches.cc
"""

import numpy as np
import pytest
from cli_models import TensorProto, call_json, helper, save

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
DEVICES = "cpu,one=sim:0,two=sim:1"


def copies_of(report):
    return sorted((copy["value"], copy["from"], copy["to"]) for copy in report["copies"])


def compile_pinned(model, folder, pins, backend="reference"):
    """Nodes that no pin names run on the CPU."""
    program = folder / "program.so"
    options = [option for glob, slot in pins.items() for option in ("--pin", f"{glob}={backend}@{slot}")]
    report = call_json("compile", model, "-o", program, "-d", DEVICES, "--backends", backend, *options)
    assert call_json("check", program, "--against", "reference")["ok"]
    return copies_of(report)


@pytest.fixture(scope="module")
def diamond(tmp_path_factory):
    """x -> a -> b and c -> d, which reads a constant, too."""
    nodes = [
        helper.make_node("Relu", ["x"], ["va"], "a"),
        helper.make_node("Exp", ["va"], ["vb"], "b"),
        helper.make_node("Neg", ["va"], ["vc"], "c"),
        helper.make_node("Add", ["vb", "vc"], ["sum"], "d"),
        helper.make_node("Mul", ["sum", "k"], ["y"], "e"),
    ]
    return save(
        tmp_path_factory.mktemp("diamond") / "model.onnx",
        nodes,
        [("x", FLOAT, [2, 3])],
        [("y", FLOAT, [2, 3])],
        [("k", np.array([2, 3, 4], np.float32))],
    )


@pytest.mark.parametrize(
    ("pins", "copies"),
    (
        ({"*": "cpu"}, []),
        ({"*": "one"}, [("x", "cpu", "one"), ("y", "one", "cpu")]),
        ({"a": "one"}, [("va", "one", "cpu"), ("x", "cpu", "one")]),  # host to device, and back
        ({"e": "one"}, [("sum", "cpu", "one"), ("y", "one", "cpu")]),  # a constant has no copy
        (
            {"[bc]": "one"},
            [("va", "cpu", "one"), ("vb", "one", "cpu"), ("vc", "one", "cpu")],
        ),  # once a device
        (
            {"b": "one", "c": "two"},  # to two devices, and a diamond
            [("va", "cpu", "one"), ("va", "cpu", "two"), ("vb", "one", "cpu"), ("vc", "two", "cpu")],
        ),
        (
            {"[ab]": "one", "[cde]": "two"},  # from one device to the other
            [("va", "one", "two"), ("vb", "one", "two"), ("x", "cpu", "one"), ("y", "two", "cpu")],
        ),
    ),
)
def test_flows(diamond, tmp_path, pins, copies):
    assert compile_pinned(diamond, tmp_path, pins) == copies


@pytest.fixture(scope="module")
def detector(tmp_path_factory):
    """A body of strided convolutions, a head for boxes and one for scores, decoding by anchors, suppression."""
    random = np.random.default_rng(1)
    classes, cells = 3, 8 * 8
    channels, constants, nodes, value = 3, [], [], "image"
    for i, width in enumerate((8, 16)):
        weights = random.standard_normal((width, channels, 3, 3)).astype(np.float32) / 5
        constants.append((f"w{i}", weights))
        nodes += [
            helper.make_node(
                "Conv", [value, f"w{i}"], [f"conv{i}"], f"body/conv{i}", pads=[1, 1, 1, 1], strides=[2, 2]
            ),
            helper.make_node("Relu", [f"conv{i}"], [f"features{i}"], f"body/relu{i}"),
        ]
        channels, value = width, f"features{i}"
    for name, width in (("boxes", 4), ("classes", classes)):
        constants.append((f"w_{name}", random.standard_normal((width, channels, 1, 1)).astype(np.float32)))
        constants.append((f"shape_{name}", np.array([1, width, cells])))
        nodes += [
            helper.make_node("Conv", [value, f"w_{name}"], [f"map_{name}"], f"body/{name}"),
            helper.make_node(
                "Reshape", [f"map_{name}", f"shape_{name}"], [f"raw_{name}"], f"body/flat_{name}"
            ),
        ]
    centers = (np.stack(np.meshgrid(np.arange(8), np.arange(8)), -1).reshape(1, cells, 2) + 0.5) / 8
    anchors = np.concatenate([centers, np.full((1, cells, 2), 0.2)], -1).astype(np.float32)
    constants += [("anchors", anchors), ("tenth", np.float32(0.1)), ("most", np.array([5]))]
    constants += [("overlap", np.array([0.5], np.float32)), ("least", np.array([0.3], np.float32))]
    nodes += [
        helper.make_node("Transpose", ["raw_boxes"], ["by_cell"], "decode/transpose", perm=[0, 2, 1]),
        helper.make_node("Mul", ["by_cell", "tenth"], ["scaled"], "decode/scale"),
        helper.make_node("Add", ["scaled", "anchors"], ["boxes"], "decode/shift"),
        helper.make_node("Sigmoid", ["raw_classes"], ["scores"], "decode/scores"),
        helper.make_node(
            "NonMaxSuppression",
            ["boxes", "scores", "most", "overlap", "least"],
            ["kept"],
            "suppress",
            center_point_box=1,
        ),
    ]
    return save(
        tmp_path_factory.mktemp("detector") / "model.onnx",
        nodes,
        [("image", FLOAT, [1, 3, 32, 32])],
        [("boxes", FLOAT, [1, cells, 4]), ("kept", INT64, ["detections", 3])],
        constants,
    )


def test_a_detector_crosses_once_for_boxes_and_scores(detector, tmp_path):
    assert compile_pinned(detector, tmp_path, {"body/*": "one"}) == [
        ("image", "cpu", "one"),
        ("raw_boxes", "one", "cpu"),
        ("raw_classes", "one", "cpu"),
    ]


def test_suppression_on_another_device(detector, tmp_path):
    pins = {"body/*": "one", "decode/*": "two"}
    assert compile_pinned(detector, tmp_path, pins) == [
        ("boxes", "two", "cpu"),  # an output, which suppression reads, too
        ("image", "cpu", "one"),
        ("raw_boxes", "one", "two"),
        ("raw_classes", "one", "two"),
        ("scores", "two", "cpu"),
    ]
