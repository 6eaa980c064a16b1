"""Plug-ins from Python: what is loaded, and how often a device's memory is copied to.

Covers: bindings/python/intarsia/ plugins.py src/api/ plugin_api.cc
backends/plugin/ target.cc load.cc
"""

import os
import pathlib

import intarsia
import numpy as np
import pytest
from cli_models import SOURCE, TensorProto, helper, save

PLUGINS = pathlib.Path(os.environ.get("INTARSIA_TEST_PLUGINS", SOURCE / "build/release/test_plugins"))
TOY_NPU = PLUGINS / "libtoy_npu.so"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """x -> Conv -> Relu -> Conv -> y"""
    random = np.random.default_rng(1)
    weights = [random.standard_normal((4, 4, 3, 3)).astype(np.float32) for _ in range(2)]
    return save(
        tmp_path_factory.mktemp("plugins") / "model.onnx",
        [
            helper.make_node("Conv", ["x", "w0"], ["a"], "conv0", pads=[1] * 4),
            helper.make_node("Relu", ["a"], ["b"], "relu"),
            helper.make_node("Conv", ["b", "w1"], ["y"], "conv1", pads=[1] * 4),
        ],
        [("x", TensorProto.FLOAT, [1, 4, 9, 9])],
        [("y", TensorProto.FLOAT, [1, 4, 9, 9])],
        [("w0", weights[0]), ("w1", weights[1])],
    )


def test_what_is_loaded_is_listed_once():
    intarsia.load_plugin(TOY_NPU)
    intarsia.load_plugin(str(TOY_NPU))
    [plugin] = [one for one in intarsia.plugins() if one.name == "toy_npu"]
    assert (plugin.version, plugin.path) == ("1.0", str(TOY_NPU))
    assert "toy_npu:0" in [name for name, _ in intarsia.devices()]
    assert "toy_npu" in [backend["name"] for backend in intarsia.backends()]


def test_a_model_on_it_copies_inputs_and_outputs_alone(model, tmp_path):
    intarsia.load_plugin(TOY_NPU)
    compiled = intarsia.compile(model, devices=["npu=toy_npu:0"], tune="off")
    compiled.save(tmp_path / "p.so")
    program = intarsia.load(tmp_path / "p.so")
    x = np.random.default_rng(2).standard_normal((1, 4, 9, 9)).astype(np.float32)
    want = intarsia.compile(model, tune="off", backends=["reference"])
    want.save(tmp_path / "reference.so")
    expected = intarsia.load(tmp_path / "reference.so")(x=x)
    session = program.bind()
    for runs in (1, 2):
        np.testing.assert_allclose(session.run({"x": x})["y"], expected, rtol=1e-4, atol=1e-4)
        counts = session.copy_counts("npu")
        assert (counts.uploads, counts.downloads, counts.direct) == (2 + runs, runs, 0)
    second = program.bind()
    second.run({"x": x})
    assert second.copy_counts("npu").uploads == 2 + 3


def save_chain(path, sizes):
    """x -> Exp -> Relu -> Relu -> Exp -> Relu -> Relu -> Exp -> y: what the device of the test makes of a Relu is a
    copy, and what Exp makes is not negative."""
    nodes = [
        helper.make_node(op, [f"v{i}"], [f"v{i + 1}"], f"n{i}")
        for i, op in enumerate(["Exp", "Relu", "Relu", "Exp", "Relu", "Relu", "Exp"])
    ]
    return save(path, nodes, [("v0", TensorProto.FLOAT, sizes)], [("v7", TensorProto.FLOAT, sizes)])


@pytest.mark.parametrize("layouts", ["", "reverse"])
@pytest.mark.parametrize(
    "devices", [["cpu", "npu=open_npu:0"], ["cpu", "npu=open_npu:0", "b=open_npu:1"]], ids=len
)
def test_regions_of_open_sizes_run_on_it(tmp_path, monkeypatch, devices, layouts):
    """Two groups of nodes, on one device or on two, that run at the sizes of the moment, in one session."""
    intarsia.load_plugin(PLUGINS / "libtest_plugin_open_sizes.so")
    if layouts:
        monkeypatch.setenv("TEST_PLUGIN_LAYOUTS", layouts)
    model = save_chain(tmp_path / "m.onnx", ["batch", 3, "length"])
    pins = {"n2": "open_npu@b", "n4": "open_npu@b"} if len(devices) == 3 else {}
    compiled = intarsia.compile(
        model, devices=devices, shapes={"v0": ("1..8", 3, None)}, pins=pins, tune="off", fallback="none"
    )
    targets = [region["target"] for region in compiled.report["regions"]]
    assert sum(target.startswith("open_npu@") for target in targets) == (2 if len(devices) == 2 else 4), (
        targets
    )
    compiled.save(tmp_path / "p.so")
    program = intarsia.load(tmp_path / "p.so")
    session = program.bind()
    for batch, length in [(1, 5), (3, 2), (7, 9), (3, 2), (8, 1), (1, 5)]:
        x = np.random.default_rng(batch).standard_normal((batch, 3, length)).astype(np.float32) / 9 - 3
        got = session.run({"v0": x})["v7"]
        assert got.shape == x.shape
        np.testing.assert_allclose(got, np.exp(np.exp(np.exp(x))), rtol=1e-4)
    assert intarsia.check(tmp_path / "p.so")["ok"]
    with pytest.raises(intarsia.InvalidArgumentError, match="'batch' is 9, want 1 to 8"):
        session.run({"v0": np.zeros((9, 3, 2), np.float32)})


def test_what_no_shape_mentions_stays_open_on_it(tmp_path):
    intarsia.load_plugin(PLUGINS / "libtest_plugin_open_sizes.so")
    model = save_chain(tmp_path / "m.onnx", ["batch", 3, "length"])
    compiled = intarsia.compile(model, devices=["cpu", "npu=open_npu:0"], tune="off", fallback="none")
    assert any(region["target"] == "open_npu@npu" for region in compiled.report["regions"])
    compiled.save(tmp_path / "p.so")
    session = intarsia.load(tmp_path / "p.so").bind()
    for batch, length in [(1, 5), (3, 2)]:
        x = np.full((batch, 3, length), -3, np.float32)
        np.testing.assert_allclose(session.run({"v0": x})["v7"], np.exp(np.exp(np.exp(x))), rtol=1e-4)


def test_a_device_that_takes_no_open_sizes_gets_nodes_of_fixed_ones_alone(tmp_path):
    intarsia.load_plugin(PLUGINS / "libtest_plugin_good.so")
    options = {"devices": ["cpu", "npu=test_npu:0"], "tune": "off", "dry_run": True}
    model = save_chain(tmp_path / "m.onnx", ["batch", 3])
    targets = [
        {region["target"] for region in intarsia.compile(model, shapes=shapes, **options).report["regions"]}
        for shapes in ({"v0": (None, 3)}, {"v0": (2, 3)}, {})
    ]
    assert ["test_npu@npu" in of for of in targets] == [False, True, True]  # what no shape mentions becomes 1


def test_errors():
    with pytest.raises(intarsia.NotFoundError, match="none.so"):
        intarsia.load_plugin("/no/such/none.so")
    with pytest.raises(intarsia.VersionError, match="it has ABI 2, want 1"):
        intarsia.load_plugin(PLUGINS / "libtest_plugin_wrong_abi.so")
    with pytest.raises(intarsia.InvalidArgumentError, match="does not export intarsia_plugin_entry"):
        intarsia.load_plugin(PLUGINS / "libtest_plugin_without_entry.so")


def test_a_device_that_fails_in_a_stage_fails_its_frame(tmp_path, monkeypatch):
    """x -> Neg on the processor | Relu on the device | Neg: frames before and after the one that fails are right."""
    intarsia.load_plugin(PLUGINS / "libtest_plugin_good.so")
    nodes = [
        helper.make_node(op, [f"v{i}"], [f"v{i + 1}"], f"n{i}") for i, op in enumerate(["Neg", "Relu", "Neg"])
    ]
    model = save(
        tmp_path / "m.onnx", nodes, [("v0", TensorProto.FLOAT, [2])], [("v3", TensorProto.FLOAT, [2])]
    )
    compiled = intarsia.compile(
        model,
        devices=["a=cpu", "npu=test_npu:0", "b=cpu"],
        objective="throughput",
        cuts=["v1", "v2"],
        tune="off",
    )
    values = np.array([-3, 0], np.float32)  # what the device of the test makes of a Relu is a copy
    with intarsia.PipelineBuilder().add_stages(compiled.load()).start() as pipeline:
        frames = []
        for fault in ("", "run error", "wait error", ""):
            monkeypatch.setenv("TEST_PLUGIN_FAULT", fault)
            pipeline.push({"v0": values})
            frames.append(pipeline.pop())
    for number in (0, 3):
        np.testing.assert_array_equal(frames[number].outputs["v3"], values)
    for number in (1, 2):
        error = str(frames[number].error)
        assert f"frame {number}: stage 'stage1': " in error and "test_npu:0: a declared fault" in error
