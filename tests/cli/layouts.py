"""A model cut into regions of our backend computes what it computes uncut, in the same kernels, and what passes between
regions is shown as the model has it.

Covers: src/plan/partition/ boundary_layouts.cc src/runtime/ source_layout.cc backends/halide/layout/ choose_layouts.cc
"""

import numpy as np
import pytest
from cli_models import TensorProto, call, call_json, helper, save

FLOAT = TensorProto.FLOAT
NODES = ("conv1", "relu1", "conv2", "add", "relu2", "pool", "conv3", "flat")


@pytest.fixture(scope="module")
def residual(tmp_path_factory):
    """Convolutions with a residual connection, a pooling, and a Reshape at the end."""
    random = np.random.default_rng(5)
    weights = {"w1": (16, 3, 3, 3), "w2": (16, 16, 3, 3), "w3": (32, 16, 1, 1)}
    same = {"pads": [1, 1, 1, 1]}
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["c1"], "conv1", **same),
        helper.make_node("Relu", ["c1"], ["r1"], "relu1"),
        helper.make_node("Conv", ["r1", "w2"], ["c2"], "conv2", **same),
        helper.make_node("Add", ["c2", "r1"], ["s"], "add"),
        helper.make_node("Relu", ["s"], ["r2"], "relu2"),
        helper.make_node("MaxPool", ["r2"], ["p"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["p", "w3"], ["c3"], "conv3"),
        helper.make_node("Flatten", ["c3"], ["y"], "flat"),
    ]
    return save(
        tmp_path_factory.mktemp("residual") / "model.onnx",
        nodes,
        [("x", FLOAT, [1, 3, 12, 10])],
        [("y", FLOAT, [1, 960])],
        [(name, random.standard_normal(size).astype(np.float32) / 4) for name, size in weights.items()],
    )


def compile_cut(model, program, devices, slots, *options):
    """Slots of the nodes by number; the texts of what halide made, and the report."""
    pins = [
        option
        for node, slot in zip(NODES, slots, strict=True)
        for option in ("--pin", f"{node}=halide@{devices[slot].split('=')[0]}")
    ]
    return call_json(
        *("compile", model, "-o", program, "-d", ",".join(devices), "--tune", "off", *pins, *options)
    )


def run(program, folder, *options):
    return call_json("run", program, "-o", folder, *options)


@pytest.mark.parametrize("devices", (("a=cpu", "b=cpu"), ("cpu", "accel=sim:0")))
@pytest.mark.parametrize(
    "slots", ((0, 0, 1, 1, 1, 1, 1, 1), (0, 0, 0, 0, 0, 1, 1, 1), (0, 0, 1, 1, 1, 0, 1, 1))
)
def test_a_cut_needs_no_kernel(residual, tmp_path, devices, slots):
    whole = compile_cut(residual, tmp_path / "whole.so", devices, [0] * len(NODES))
    cut = compile_cut(residual, tmp_path / "cut.so", devices, slots)
    assert len(cut["regions"]) == len(set(slots)) + (slots[5] == 0 and slots[4] == 1) * 2
    assert cut["kernels"] == whole["kernels"]
    outputs = [
        np.load(run(tmp_path / f"{name}.so", tmp_path / name)["outputs"][0]["file"])
        for name in ("whole", "cut")
    ]
    assert np.array_equal(*outputs)
    assert call_json("check", tmp_path / "cut.so", "--against", "reference")["ok"]


def test_another_reader_gets_it_as_in_the_model(residual, tmp_path):
    devices = ("a=cpu", "b=cpu")
    pins = ("--pin", "pool=onnxruntime@a")
    report = compile_cut(residual, tmp_path / "p.so", devices, (0, 0, 1, 1, 1, 1, 1, 1), *pins)
    assert [r["target"] for r in report["regions"]] == ["halide@a", "halide@b", "onnxruntime@a", "halide@b"]
    assert call_json("check", tmp_path / "p.so", "--against", "reference")["ok"]
    text = call(
        *("compile", residual, "--dry-run", "-q", "--tune", "off", *pins),
        *("-d", ",".join(devices), "--print-after", "choose_boundary_layouts"),
    ).stdout
    assert "region 1 onnxruntime@a" in text and "layout of" not in text


def test_a_dump_is_as_in_the_model(residual, tmp_path):
    compile_cut(residual, tmp_path / "cut.so", ("cpu", "accel=sim:0"), (0, 0, 1, 1, 1, 0, 0, 0))
    run(tmp_path / "cut.so", tmp_path / "dump", "--dump", "r*")
    call("compile", residual, "-o", tmp_path / "plain.so", "--backends", "reference", "-d", "cpu,accel=sim:0",
         "--pin", "conv2=reference@accel", "--pin", "add=reference@accel", "--pin", "relu2=reference@accel")  # fmt: skip
    run(tmp_path / "plain.so", tmp_path / "plain", "--dump", "r*")
    for name in ("dump.r1.npy", "dump.r2.npy"):
        dumped = np.load(tmp_path / "dump" / name)
        assert dumped.shape == (1, 16, 12, 10)
        np.testing.assert_allclose(dumped, np.load(tmp_path / "plain" / name), rtol=1e-4, atol=1e-4)
