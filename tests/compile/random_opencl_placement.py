"""Random graphs with random pins to the host, two OpenCL devices and a simulation give what the reference backend gives.

Each graph comes from its seed alone; a failure names it: pytest tests/compile/random_opencl_placement.py -k seed_17. Skipped
where there is no device.

Covers: src/device/ opencl_executor.cc opencl_space.cc
src/runtime/ prepared_function.cc
"""

import os

os.environ["POCL_DEVICES"] = "basic basic"
os.environ["OCL_ICD_VENDORS"] = "/etc/OpenCL/vendors/pocl.icd"

import intarsia
import onnx
import pytest
from cli_models import skip_without_device
from random_placement import RandomGraph, assert_same
from rounds import ROUNDS

DEVICES = ["c=cpu:0", "a=opencl:0", "b=opencl:1", "s=sim:0"]
TARGETS = [f"halide@{slot}" for slot in "caabbs"] + [f"reference@{slot}" for slot in "cs"]
UNKNOWN = ("TopK",)  # to halide


@pytest.fixture(scope="module", autouse=True)
def device():
    """Skips all where there are not two."""
    skip_without_device("opencl:0")
    skip_without_device("opencl:1")


def random_pins(graph):
    """About three quarters of the nodes."""
    pins = {}
    for node in graph.nodes:
        target = str(graph.random.choice(TARGETS))
        if graph.random.random() < 0.75 and not (node.op_type in UNKNOWN and target.startswith("halide")):
            pins[node.name] = target
    return pins


@pytest.mark.parametrize("seed", range(50 * ROUNDS), ids=lambda seed: f"seed_{seed}")
def test_random_placement(seed, tmp_path):
    graph = RandomGraph(seed)
    path = tmp_path / "model.onnx"
    onnx.save(graph.model(), path)
    inputs, pins = graph.feed(), random_pins(graph)
    want = intarsia.compile(path, backends=["reference"]).load().bind().run(inputs)
    compiled = intarsia.compile(
        path, backends=["halide", "reference"], fallback="none", devices=DEVICES, pins=pins, tune="off"
    )
    program = compiled.load()
    for bindings in ({}, {"a": "opencl:1", "b": "opencl:0"}, {"b": "opencl:0"}):
        session = program.bind(bindings)
        session.run(inputs)
        assert_same(session.run(inputs), want, graph, seed)
