"""Whole models on an OpenCL device: the results of ONNX Runtime, and copies only of inputs and outputs. Skipped where there is
no device.

Covers: backends/halide/build/ offload.cc plain_comparisons.cc
"""

import pytest
from cli_models import call_json
from model_tools import MODELS

DEVICE = "opencl:0"


@pytest.fixture(scope="module", autouse=True)
def device():
    """Skips all where there is none."""
    [found] = [device for device in call_json("devices")["devices"] if device["name"] == DEVICE]
    if found["description"].startswith("not available"):
        pytest.skip(found["description"])


@pytest.mark.parametrize("name", ("mobilenetv2", "resnet50"))
def test_a_model_runs_wholly_on_it(name, tmp_path):
    program = tmp_path / "program.so"
    model = MODELS / f"{name}.onnx"
    report = call_json("compile", model, "-o", program, "-d", DEVICE, "--pin", f"*=halide@{DEVICE}")
    inputs = [(copy["from"], copy["to"]) for copy in report["copies"] if copy["to"] == DEVICE]
    outputs = [(copy["from"], copy["to"]) for copy in report["copies"] if copy["from"] == DEVICE]
    assert (inputs, outputs) == ([("cpu", DEVICE)], [(DEVICE, "cpu")])
    checked = call_json("check", program)
    assert checked["ok"], checked
