"""Whole models on an OpenCL device: the results of ONNX Runtime, and copies only of inputs and outputs. Skipped where there is
no device.

Covers: backends/halide/build/ run_tiles.cc plain_comparisons.cc
"""

import subprocess
import sys

import intarsia
import numpy as np
import onnx
import pytest
from cli_models import SOURCE, call_json, skip_without_device
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
    options = ("-d", DEVICE, "--pin", f"*=halide@{DEVICE}", "--tune", "off")
    report = call_json("compile", model, "-o", program, *options)
    inputs = [(copy["from"], copy["to"]) for copy in report["copies"] if copy["to"] == DEVICE]
    outputs = [(copy["from"], copy["to"]) for copy in report["copies"] if copy["from"] == DEVICE]
    loaded = intarsia.load(program)
    assert inputs == [("cpu", DEVICE)] * len(loaded.inputs)
    assert outputs == [(DEVICE, "cpu")] * len(loaded.outputs)
    checked = call_json("check", program)
    assert checked["ok"], checked
    check_copies(loaded, 2)


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
        argument.name: np.zeros([max(size or 1, 1) for size in argument.shape], "float32")
        for argument in program.inputs
    }
    before = sessions[0].copy_counts(slot)
    for session in sessions:
        for _ in range(runs):
            session.run(inputs)
    after = sessions[1].copy_counts(slot)
    assert after.uploads - before.uploads == 2 * runs * len(inputs)
    assert after.downloads - before.downloads == 2 * runs * len(program.outputs)
    sent = sum(value.nbytes for value in inputs.values())
    assert after.uploaded_bytes - before.uploaded_bytes == 2 * runs * sent
    third = program.bind()
    assert third.copy_counts(slot) == after, "its constants are there"


@pytest.fixture(scope="module")
def detectors(tmp_path_factory):
    folder = tmp_path_factory.mktemp("detectors")
    subprocess.run([sys.executable, SOURCE / "scripts/make_detectors.py", folder], check=True)
    return folder


def body_of_ssd(nodes):
    """To the values of all heads side by side."""
    return nodes[: next(i for i, node in enumerate(nodes) if node.op_type == "Softmax")]


def body_of_yolo(nodes):
    return nodes[: max(i for i, node in enumerate(nodes) if node.op_type == "Conv") + 1]


@pytest.mark.parametrize("device", (DEVICE, "sim:0"))
@pytest.mark.parametrize(
    "name, body_of", (("ssdlite_mobilenetv2", body_of_ssd), ("yolov3_tiny", body_of_yolo))
)
def test_a_detector_crosses_once_for_each_head(name, body_of, device, detectors, tmp_path):
    """Its body on the device; boxes are decoded and suppressed on the host."""
    model, program = detectors / f"{name}.onnx", tmp_path / "program.so"
    nodes = onnx.load(model).graph.node
    body = body_of(nodes)
    pins = [option for node in body for option in ("--pin", f"{node.name}=halide@{device}")]
    report = call_json("compile", model, "-o", program, "-d", f"cpu,{device}", "--tune", "off", *pins)
    made = {output for node in body for output in node.output}
    read = {value for node in nodes[len(body) :] for value in node.input}
    copies = [(copy["value"], copy["from"], copy["to"]) for copy in report["copies"]]
    assert copies[0] == ("image", "cpu", device)
    assert sorted(copies[1:]) == sorted((value, device, "cpu") for value in made & read)
    assert len(copies) == 3
    checked = call_json("check", program)
    assert checked["ok"], checked
