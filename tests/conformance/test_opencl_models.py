"""Whole models on an OpenCL device: the results of ONNX Runtime, and copies only of inputs and outputs. Skipped where there is
no device.

Covers: backends/halide/build/ run_tiles.cc plain_comparisons.cc
"""

import intarsia
import numpy as np
import pytest
from cli_models import call_json, skip_without_device
from model_tools import MODELS

DEVICE = "opencl:0"


@pytest.fixture(scope="module", autouse=True)
def device():
    """Skips all where there is none."""
    skip_without_device(DEVICE)


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
    check_copies(intarsia.load(program), 2)


@pytest.mark.parametrize("name", (DEVICE, "sim:0"))
def test_only_inputs_and_outputs_are_copied(name, tmp_path):
    """On a simulation, too, which has the memory of its own that PoCL has not."""
    options = ("-d", name, "--pin", f"*=halide@{name}", "--tune", "off")
    call_json("compile", MODELS / "mobilenetv2.onnx", "-o", tmp_path / "program.so", *options)
    check_copies(intarsia.load(tmp_path / "program.so"), 3)


def check_copies(program, runs):
    """Of two sessions: constants are uploaded once, then each run uploads its input and downloads its output."""
    [slot] = [slot for slot in program.slots if slot != "cpu"]
    sessions = [program.bind(), program.bind()]
    inputs = {
        argument.name: np.zeros([size or 1 for size in argument.shape], "float32")
        for argument in program.inputs
    }
    before = sessions[0].copy_counts(slot)
    for session in sessions:
        for _ in range(runs):
            session.run(inputs)
    after = sessions[1].copy_counts(slot)
    assert after.uploads - before.uploads == after.downloads - before.downloads == 2 * runs
    sent = sum(value.nbytes for value in inputs.values())
    assert after.uploaded_bytes - before.uploaded_bytes == 2 * runs * sent
    third = program.bind()
    assert third.copy_counts(slot) == after, "its constants are there"
