"""What the bytes of a program are for, as compile and explain tell it, and programs that are optimized for size.

Covers: src/program/ program_size.cc src/plan/choose/ find_alternatives.cc backends/halide/ memory/plan_memory.cc
tune/choose_schedules.cc
"""

import numpy as np
import pytest
from cli_models import TensorProto, call, call_json, error_of, helper, save, skip_on_a_busy_machine

WEIGHTS = 2 * 64 * 64 * 9 * 4
SLACK = 64 * 1024


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Two convolutions whose images are so large that Winograd's algorithm pays by the formula."""
    random = np.random.default_rng(3)
    weights = [(f"w{i}", random.normal(size=(64, 64, 3, 3)).astype(np.float32)) for i in range(2)]
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["c"], "conv0", pads=[1] * 4),
        helper.make_node("Relu", ["c"], ["r"], "relu"),
        helper.make_node("Conv", ["r", "w1"], ["y"], "conv1", pads=[1] * 4),
    ]
    shape = [1, 64, 56, 56]
    path = tmp_path_factory.mktemp("size") / "net.onnx"
    return save(path, nodes, [("x", TensorProto.FLOAT, shape)], [("y", TensorProto.FLOAT, shape)], weights)


def compile_size(model, program, *options):
    """The report, whose parts are the whole file."""
    report = call_json("compile", model, "-o", program, *options)
    size = report["size"]
    parts = [size["weights_bytes"], size["code_bytes"], size["description_bytes"]]
    parts += [growth["bytes"] for growth in size["growths"]]
    parts += [other["weights_bytes"] for other in size["alternatives"]]
    assert sum(parts) == size["program_bytes"] == program.stat().st_size
    assert call_json("explain", program)["size"] == size
    return report


def test_weights_grow_for_speed_and_that_is_told(model, tmp_path):
    program = tmp_path / "net.so"
    options = ("--backends", "halide", "--tune", "off")
    size = compile_size(model, program, *options)["size"]
    (growth,) = size["growths"]
    assert size["weights_bytes"] == WEIGHTS and growth["why"] == "winograd"
    assert WEIGHTS * 0.7 < growth["bytes"] <= 3 * WEIGHTS
    for text in (
        call("compile", model, "-o", program, *options).stdout,
        call("explain", program).stdout,
    ):
        told = " ".join(text.split())
        assert "of weights, " in told and "more since convolutions keep their weights transformed for" in told


def test_a_program_optimized_for_size_is_as_large_as_weights_and_code(model, tmp_path):
    program = tmp_path / "net.so"
    options = ("--backends", "halide", "--tune", "off", "--optimize", "size")
    size = compile_size(model, program, *options)["size"]
    assert size["growths"] == [] and size["weights_bytes"] == WEIGHTS
    assert size["program_bytes"] < WEIGHTS + size["code_bytes"] + SLACK
    assert call_json("check", program)["ok"]


def test_measured_plans_of_both_kinds_are_kept_apart(model, tmp_path):
    """What was measured of a program with larger weights says nothing of one without, and the other way around."""
    options = ("--backends", "halide,onnxruntime", "--cache", tmp_path / "cache")
    small = (*options, "--optimize", "size")
    skip_on_a_busy_machine(compile_size(model, tmp_path / "net.so", *options))
    assert call_json("explain", model, *options)["plans"] and not call_json("explain", model, *small)["plans"]
    skip_on_a_busy_machine(compile_size(model, tmp_path / "net.so", *small))
    assert call_json("explain", model, *small)["plans"]


def test_no_plan_for_missing_frameworks_but_for_slots(model, tmp_path):
    program = tmp_path / "net.so"
    framework = ("--backends", "onnxruntime,halide", "--tune", "off")
    fast = compile_size(model, program, *framework)
    (other,) = fast["size"]["alternatives"]
    assert other["targets"] == "halide@cpu" and other["weights_bytes"] >= WEIGHTS
    assert "of weights for the alternative on halide@cpu" in fast["size"]["text"]
    small = compile_size(model, program, *framework, "--optimize", "size")
    assert small["alternatives"] == [] and small["size"]["program_bytes"] < WEIGHTS + SLACK
    devices = ("-d", "cpu,accel=sim:0", "--pin", "*=halide@accel", "--also", "cpu", "--optimize", "size")
    asked = compile_size(model, program, *devices, "--tune", "off")
    assert [one["targets"] for one in asked["alternatives"]] == ["halide@cpu"]


def test_another_word_is_refused(model):
    assert "--optimize" in error_of("compile", model, "--optimize", "beauty", status=2)
