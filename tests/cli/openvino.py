"""OpenVINO as a backend, as a user meets it: whole models, excluded like a framework, and what to do where it is absent.

Covers: registry/ compile_services.cc openvino_target.cc src/api/ all_devices.cc
backends/openvino/ node_rules.cc target.cc
"""

import os

import numpy as np
import pytest
from cli_models import LIGHT_MODELS, call, call_json, error_of, save, save_small

from onnx import TensorProto, helper

ABSENT = {"INTARSIA_OPENVINO": "/nowhere"}


def targets_of(program):
    return {node["target"] for node in call_json("explain", program)["nodes"]}


@pytest.mark.parametrize("name", ("small", "squeezenet"))
def test_a_whole_model(tmp_path, name):
    model = save_small(tmp_path / "small.onnx") if name == "small" else LIGHT_MODELS / "light_squeezenet.onnx"
    program = tmp_path / "program.so"
    call("compile", model, "-o", program, "--backends", "openvino")
    assert targets_of(program) == {"openvino@cpu"}
    report = call_json("check", program, "--model", model, "--against", "reference")
    assert report["ok"]


def test_it_comes_after_the_framework_of_the_model(tmp_path):
    order = [backend["name"] for backend in call_json("devices")["backends"]]
    assert order == ["halide", "onnxruntime", "tensorflow", "openvino", "reference"]


def test_it_is_a_framework(tmp_path):
    model = save_small(tmp_path / "small.onnx")
    message = error_of(
        "compile", model, "--backends", "openvino", "--fallback", "none", "--dry-run", status=2
    )
    assert "contradicts --fallback none: openvino is a framework" in message


def test_it_has_one_core_set_in_a_process(tmp_path):
    core = min(os.sched_getaffinity(0))
    model = save_small(tmp_path / "small.onnx")
    options = ("-d", f"cpu:{core}", "--backends")
    slots = {
        name: call_json("explain", model, *options, name)["slots"] for name in ("openvino", "onnxruntime")
    }
    assert slots["openvino"][0]["cores"] == "per process" and slots["onnxruntime"][0]["cores"] == "exact"
    text = call("explain", model, *options, "openvino").stdout
    assert f"slot   cpu:{core} = cpu:{core} (threads pinned: per process)" in text


def test_its_devices_are_devices(tmp_path):
    """Its CPU stands for those that a machine may have: the same way leads to its GPU."""
    model, program = save_small(tmp_path / "small.onnx"), tmp_path / "small.so"
    report = call_json(
        "compile", model, "-o", program, "-d", "openvino:CPU", "--pin", "*=openvino@openvino:CPU"
    )
    assert [region["target"] for region in report["regions"]] == ["openvino@openvino:CPU"]
    assert report["copies"] == []  # it works in the host's memory
    assert call_json("check", program, "--against", "reference")["ok"]
    both = ("-d", "cpu,openvino:CPU", "--pin", "relu1=halide@cpu", "--pin", "pool1=openvino@openvino:CPU")
    call("compile", model, "-o", program, *both, "--tune", "off")
    assert call_json("check", program, "--against", "reference")["ok"]


def test_its_devices_take_sizes_that_are_open(tmp_path):
    nodes = [
        helper.make_node(op, [f"v{i}"], [f"v{i + 1}"], op) for i, op in enumerate(["Exp", "Sigmoid", "Neg"])
    ]
    v0, v3 = ((name, TensorProto.FLOAT, ["batch", "length", 4]) for name in ("v0", "v3"))
    model = save(tmp_path / "m.onnx", nodes, [v0], [v3])
    program = tmp_path / "m.so"
    pins = ("--pin", "Sigmoid=openvino@openvino:CPU", "--pin", "Neg=halide@cpu")
    report = call_json("compile", model, "-o", program, "-d", "cpu,openvino:CPU", *pins)
    assert "openvino@openvino:CPU" in [region["target"] for region in report["regions"]]
    assert call_json("check", program, "--against", "reference")["ok"]  # at 1, 2 and 7


def test_a_device_that_it_does_not_have(tmp_path):
    model, program = save_small(tmp_path / "small.onnx"), tmp_path / "small.so"
    pin = ("--pin", "*=openvino@openvino:NPU.7")
    refused = error_of("compile", model, "-o", program, "-d", "openvino:NPU.7", *pin, status=2)
    assert "OpenVINO has no device 'NPU.7'; it has CPU" in refused
    call("compile", model, "-o", program, "-d", "openvino:CPU", "--pin", "*=openvino@openvino:CPU")
    missing = error_of("run", program, "--bind", "openvino:CPU=openvino:NPU.7")
    assert "OpenVINO has no device 'NPU.7'; it has CPU" in missing
    assert "want a device of OpenVINO's" in error_of(
        "run", program, "--bind", "openvino:CPU=openvino:g p", status=2
    )


def test_where_it_is_absent(tmp_path):
    model, program = save_small(tmp_path / "small.onnx"), tmp_path / "small.so"
    call("compile", model, "-o", program, "--backends", "openvino")
    assert "INTARSIA_OPENVINO is '/nowhere'" in error_of("run", program, env=ABSENT)
    assert "INTARSIA_OPENVINO is '/nowhere'" in error_of(
        "compile", model, "--backends", "openvino", env=ABSENT
    )
    (entry,) = [one for one in call_json("devices", env=ABSENT)["backends"] if one["name"] == "openvino"]
    assert not entry["present"] and "no OpenVINO can be opened" in entry["why"]
    call("compile", model, "-o", program, env=ABSENT)  # nobody needs it


def refusal(path, op, dtype, **attributes):
    """Why OpenVINO does not take a node of two inputs of that type."""
    node = helper.make_node(op, ["x", "y"], ["z"], **attributes)
    save(path, [node], [("x", dtype, [2, 2]), ("y", dtype, [2, 2])], [("z", dtype, [2, 2])])
    return error_of("compile", path, "--backends", "openvino", "--dry-run")


@pytest.mark.parametrize("op", ("Greater", "GreaterOrEqual", "Mod"))
def test_it_refuses_operators_that_it_computes_otherwise(tmp_path, op):
    message = refusal(tmp_path / "m.onnx", op, TensorProto.FLOAT, **({"fmod": 1} if op == "Mod" else {}))
    assert f"{op} is not among the operators that OpenVINO is used for" in message


@pytest.mark.parametrize("op", ("ReduceMax", "ReduceMin", "GlobalMaxPool"))
def test_it_refuses_extremes_of_what_is_quantized(tmp_path, op):
    grid = [("scale", np.float32(0.03)), ("zero", np.uint8(128))]
    nodes = [
        helper.make_node(op, ["x"], ["largest"]),
        helper.make_node("Relu", ["largest"], ["positive"]),
        helper.make_node("QuantizeLinear", ["positive", "scale", "zero"], ["y"]),
    ]
    save(
        tmp_path / "m.onnx",
        nodes,
        [("x", TensorProto.FLOAT, [1, 3, 4, 4])],
        [("y", TensorProto.UINT8, [1, 3 if op[0] == "G" else 1, 1, 1])],
        grid,
    )
    message = error_of("compile", tmp_path / "m.onnx", "--backends", "openvino", "--dry-run")
    assert f"OpenVINO computes {op} in integers where its result is quantized" in message
    call("compile", tmp_path / "m.onnx", "-o", tmp_path / "m.so", "--backends", "openvino,reference")
    call("check", tmp_path / "m.so")


@pytest.mark.parametrize(
    "dtype", ("INT64", "INT32", "UINT8", "DOUBLE", "FLOAT16", "UINT64"), ids=lambda dtype: dtype.lower()
)
def test_it_refuses_types_that_it_computes_in_another(tmp_path, dtype):
    assert "OpenVINO does not compute Mul in" in refusal(
        tmp_path / "m.onnx", "Mul", getattr(TensorProto, dtype)
    )
