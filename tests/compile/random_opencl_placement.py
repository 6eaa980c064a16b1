"""Random graphs with random pins to the host, two OpenCL devices, a simulation and a plug-in's device give what the reference
backend gives.

Each graph comes from its seed alone; a failure names it: pytest tests/compile/random_opencl_placement.py -k seed_17. Skipped
where there is no device.

Covers: src/device/opencl/ executor.cc space.cc
src/runtime/ run_function.cc
"""

import os
import pathlib

os.environ["POCL_DEVICES"] = "basic basic"
os.environ["OCL_ICD_VENDORS"] = "/etc/OpenCL/vendors/pocl.icd"

import intarsia
import numpy as np
import onnx
import pytest
from cli_models import SOURCE, helper, skip_without_device
from random_placement import RandomGraph, assert_same
from rounds import ROUNDS

PLUGINS = pathlib.Path(os.environ.get("INTARSIA_TEST_PLUGINS", SOURCE / "build/release/test_plugins"))
DEVICES = ["c=cpu:0", "a=opencl:0", "b=opencl:1", "s=sim:0", "n=toy_npu:0"]
TARGETS = [f"halide@{slot}" for slot in "caabbs"] + [f"reference@{slot}" for slot in "cs"]
UNKNOWN = ("TopK",)  # to halide


class GraphWithConvolutions(RandomGraph):
    """The toy NPU has no other operator."""

    KINDS = (*RandomGraph.KINDS, "convolution", "convolution")

    def convolution(self, name):
        value, (rows, columns) = self.pick()
        image = self.constant(np.array([1, 1, rows, columns], np.int64))
        matrix = self.constant(np.array([rows, columns], np.int64))
        self.nodes.append(helper.make_node("Reshape", [value, image], [f"{name}_image"], f"{name}_to_image"))
        inputs = [f"{name}_image", self.weight((1, 1, 3, 3))]
        self.nodes.append(helper.make_node("Conv", inputs, [f"{name}_conv"], name, pads=[1] * 4))
        self.add("Reshape", f"{name}_to_matrix", [f"{name}_conv", matrix], [(rows, columns)])


@pytest.fixture(scope="module", autouse=True)
def device():
    """Skips all where there are not two."""
    skip_without_device("opencl:0")
    skip_without_device("opencl:1")
    intarsia.load_plugin(PLUGINS / "libtoy_npu.so")


def random_pins(graph, path):
    """About three quarters of the nodes. Those of constants are folded, and have no place."""
    placed = {node["name"] for node in intarsia.explain(path)["nodes"]}
    pins = {}
    for node in graph.nodes:
        if node.name not in placed:
            continue
        on_plugin = node.op_type == "Conv" and graph.random.random() < 0.6
        target = "toy_npu@n" if on_plugin else str(graph.random.choice(TARGETS))
        if graph.random.random() < 0.75 and not (node.op_type in UNKNOWN and target.startswith("halide")):
            pins[node.name] = target
    return pins


@pytest.mark.parametrize("seed", range(12 * ROUNDS), ids=lambda seed: f"seed_{seed}")
def test_random_placement(seed, tmp_path):
    graph = GraphWithConvolutions(seed)
    path = tmp_path / "model.onnx"
    onnx.save(graph.model(), path)
    inputs, pins = graph.feed(), random_pins(graph, path)
    want = intarsia.compile(path, backends=["reference"]).load().bind().run(inputs)
    compiled = intarsia.compile(
        path,
        backends=["toy_npu", "halide", "reference"],
        fallback="none",
        devices=DEVICES,
        pins=pins,
        tune="off",
    )
    program = compiled.load()
    for bindings in ({}, {"a": "opencl:1", "b": "opencl:0"}, {"b": "opencl:0"}):
        session = program.bind(bindings)
        session.run(inputs)
        assert_same(session.run(inputs), want, graph, seed)
