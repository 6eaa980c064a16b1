"""Devices of plug-ins through the command line: the toy NPU of examples/07_your_own_device in plans with our kernels, where
plug-ins are found, and what is said where one is missing or goes wrong.

Covers: cli/ plugins.cc registry/ backend_registry.cc run_backends.cc src/api/ all_devices.cc
"""

import contextlib
import json
import os
import pathlib
import sqlite3

import numpy as np
import onnx
import pytest
from cli_models import SOURCE, TensorProto, call, call_json, error_of, helper, save, save_relu

FLOAT = TensorProto.FLOAT
PLUGINS = pathlib.Path(os.environ.get("INTARSIA_TEST_PLUGINS", SOURCE / "build/release/test_plugins"))
TOY_NPU = PLUGINS / "libtoy_npu.so"
WITH_TOY_NPU = ("--plugin", TOY_NPU)
DEVICES = ("-d", "cpu,npu=toy_npu:0")


@pytest.fixture(scope="module")
def resnet(tmp_path_factory):
    """Two residual blocks, one of them with strides, groups and dilations, between a stem and a classifier."""
    random = np.random.default_rng(1)
    nodes, constants = [], []

    def convolve(x, name, filters, channels, **attributes):
        kernel = attributes.get("kernel_shape", [3, 3])
        shape = (filters, channels, *kernel)
        weights = random.standard_normal(shape) / np.sqrt(9 * channels)
        constants.append((f"{name}_w", weights.astype(np.float32)))
        constants.append((f"{name}_b", random.standard_normal(filters).astype(np.float32)))
        nodes.append(helper.make_node("Conv", [x, f"{name}_w", f"{name}_b"], [name], name, **attributes))
        return name

    def node(op, inputs, name, **attributes):
        nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        return name

    def block(x, name, channels, filters, first, second, shortcut):
        a = node("Relu", [convolve(x, f"{name}_conv1", filters, channels, **first)], f"{name}_relu1")
        b = convolve(a, f"{name}_conv2", filters, filters // second.get("group", 1), **second)
        if shortcut:
            x = convolve(x, f"{name}_conv3", filters, channels, kernel_shape=[1, 1], strides=[2, 2])
        return node("Relu", [node("Add", [b, x], f"{name}_sum")], f"{name}_relu2")

    padded = {"pads": [1, 1, 1, 1]}
    x = node("Relu", [convolve("x", "stem", 8, 3, **padded)], "stem_relu")
    x = block(x, "one", 8, 8, padded, padded, False)
    x = block(
        x,
        "two",
        8,
        16,
        {**padded, "strides": [2, 2]},
        {"pads": [2] * 4, "dilations": [2, 2], "group": 2},
        True,
    )
    x = node("Flatten", [node("GlobalAveragePool", [x], "pool")], "flatten")
    constants.append(("m", random.standard_normal((16, 5)).astype(np.float32)))
    nodes.append(helper.make_node("MatMul", [x, "m"], ["y"], "product"))
    path = tmp_path_factory.mktemp("resnet") / "resnet.onnx"
    return save(path, nodes, [("x", FLOAT, [1, 3, 19, 17])], [("y", FLOAT, [1, 5])], constants)


@pytest.fixture(scope="module")
def program(resnet):
    """The convolutions, and each Relu behind one, on the toy NPU."""
    path = resnet.with_suffix(".so")
    call("compile", resnet, "-o", path, *DEVICES, "--tune", "off", "--also", "cpu", *WITH_TOY_NPU)
    return path


def targets_of(report):
    return {node: region["target"] for region in report["regions"] for node in region["source_nodes"]}


def test_beside_our_kernels_it_gives_what_the_reference_gives(program):
    explained = call_json("explain", program)
    targets = targets_of(explained)
    assert {name for name, target in targets.items() if target == "toy_npu@npu"} == {
        "stem",
        "stem_relu",
        "one_conv1",
        "one_relu1",
        "one_conv2",
        "two_conv1",
        "two_relu1",
        "two_conv2",
        "two_conv3",
    }
    assert set(targets.values()) == {"toy_npu@npu", "halide@cpu"}
    checked = call_json("check", program, "--against", "reference", *WITH_TOY_NPU)
    assert checked["ok"]
    assert [plan["ok"] for plan in checked["plans"]] == [True, True]


@pytest.mark.parametrize("seed", range(6))
def test_random_placements_over_four_memories(resnet, tmp_path, seed):
    random = np.random.default_rng(seed)
    pins = []
    for node in onnx.load(resnet).graph.node:
        targets = ["halide@cpu", "reference@cpu", "halide@sim"]
        if node.op_type == "Conv":
            targets += ["toy_npu@npu", "toy_npu@other"] * 2
        pins += ["--pin", f"{node.name}={random.choice(targets)}"]
    devices = ("-d", "cpu,sim=sim:0,npu=toy_npu:0,other=toy_npu:1")
    call("compile", resnet, "-o", tmp_path / "p.so", *devices, "--tune", "off", *pins, *WITH_TOY_NPU)
    assert call_json("check", tmp_path / "p.so", "--against", "reference", *WITH_TOY_NPU)["ok"]


def test_only_what_crosses_is_copied(program):
    copies = [(copy["value"], copy["from"], copy["to"]) for copy in call_json("explain", program)["copies"]]
    assert len(set(copies)) == len(copies)
    down = {value for value, source, _ in copies if source == "npu"}
    assert down == {"stem_relu", "one_conv2", "two_conv2", "two_conv3"}
    assert {value for value, source, _ in copies if source == "cpu"} == {"x", "one_relu2"}


def test_its_times_are_measured_and_compared(resnet, tmp_path):
    options = (*DEVICES, "--cache", tmp_path, "--backends", "toy_npu,halide", *WITH_TOY_NPU)
    report = call_json("compile", resnet, "-o", tmp_path / "p.so", *options)
    assert report["plan"] is not None
    assert any(stretch["ms"].get("toy_npu@npu") for stretch in report["stretches"])
    assert "halide@cpu" in report["single_backend_ms"]
    again = call_json("compile", resnet, "-o", tmp_path / "q.so", *options)
    assert again["plan"]["regions_measured"] == 0
    with contextlib.closing(sqlite3.connect(tmp_path / "costs.sqlite")) as table:
        versions = table.execute("SELECT DISTINCT version FROM costs WHERE backend = 'toy_npu'").fetchall()
        links = table.execute("SELECT DISTINCT to_space FROM links").fetchall()
    assert versions == [("1.0",)]
    assert ("toy_npu:0 1.0",) in links


def test_a_device_that_is_not_here_is_planned_by_declared_costs(tmp_path):
    """Relu there as its plug-in says: in no time, and in far more than the processor takes."""
    model = save(
        tmp_path / "model.onnx",
        [helper.make_node("Exp", ["x"], ["a"], "exp"), helper.make_node("Relu", ["a"], ["y"], "relu")],
        [("x", FLOAT, [4, 100])],
        [("y", FLOAT, [4, 100])],
    )
    program = tmp_path / "p.so"
    options = ("-d", "cpu,npu=test_npu:7", "--backends", "test_npu,halide", "--cache", tmp_path)
    plugin = ("--plugin", PLUGINS / "libtest_plugin_good.so")

    def compile_where_it_takes(nanoseconds):
        env = {"TEST_PLUGIN_COST": str(nanoseconds)}
        return call_json("compile", model, "-o", program, *options, *plugin, env=env)

    slow = compile_where_it_takes(100_000_000)
    assert slow["plan"]["disabled_reason"] is None
    assert {region["target"] for region in slow["regions"]} == {"halide@cpu"}
    assert slow["measured_ms"] < 50
    [stretch] = [one for one in slow["stretches"] if one["ms"].get("test_npu@npu")]
    assert 100 <= stretch["ms"]["test_npu@npu"] < 110
    call("run", program)
    assert "computes nothing" in error_of(
        "run", program, "--bind", "npu=test_npu:7?declared", *plugin, status=2
    )


def test_a_device_that_computes_something_else_is_left_out(tmp_path):
    """The test plug-in copies where Relu is wanted, in no time: it does not ship, is told, and remembered."""
    model = save_relu(tmp_path / "m.onnx", shape=(1000, 1000))
    program = tmp_path / "p.so"
    options = ("-d", "cpu,npu=test_npu:0", "--backends", "test_npu,halide", "--cache", tmp_path)
    plugin = ("--plugin", PLUGINS / "libtest_plugin_good.so")
    for _ in range(2):
        report = call_json("compile", model, "-o", program, *options, *plugin)
        assert [region["target"] for region in report["regions"]] == ["halide@cpu"]
        [(runner, why)] = report["plan"]["faults"].items()
        assert runner == "test_npu@npu" and "its values are wrong: output 'y': element" in why
    text = call("compile", model, "-o", program, *options, *plugin).stdout
    assert "left out  test_npu@npu: its values are wrong" in text
    assert call_json("check", program)["ok"]


def test_what_a_plug_in_groups_is_placed_as_a_whole(tmp_path):
    """MatMul Relu MatMul Relu MatMul, all Relu one group: nothing between the first and the last of them is parted."""
    random = np.random.default_rng(1)
    nodes, weights = [], []
    for i in range(3):
        weights.append((f"w{i}", random.standard_normal((8, 8)).astype(np.float32)))
        nodes.append(helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"m{i}"], f"product{i}"))
        if i < 2:
            nodes.append(helper.make_node("Relu", [f"m{i}"], [f"x{i + 1}"], f"relu{i}"))
    path = save(tmp_path / "m.onnx", nodes, [("x0", FLOAT, [4, 8])], [("m2", FLOAT, [4, 8])], weights)
    options = ("-d", "cpu,npu=test_npu:7", "--backends", "test_npu,halide", "--cache", tmp_path)
    plugin = ("--plugin", PLUGINS / "libtest_plugin_good.so")
    report = call_json("compile", path, "-o", tmp_path / "p.so", *options, *plugin)
    parts = [stretch["source_nodes"] for stretch in report["stretches"]]
    assert parts == [["product0"], ["relu0", "product1", "relu1"], ["product2"]]


def test_a_program_on_it_is_timed_and_profiled(program, tmp_path):
    bench = call_json("bench", program, "-t", "0.2", "--profile", *WITH_TOY_NPU)
    names = {entry["name"] for entry in bench["profile"]["entries"]}
    assert "one_conv1: Conv" in names
    call("run", program, "--runs", "2", "--trace", tmp_path / "trace.json", *WITH_TOY_NPU)
    events = json.loads((tmp_path / "trace.json").read_text())
    assert "one_conv1: Conv" in json.dumps(events)


def test_it_is_found_in_the_environment_and_bound_to_another_device(program):
    environment = {"INTARSIA_PLUGINS": f"{PLUGINS / 'libtest_plugin_good.so'}:{TOY_NPU}"}
    names = [device["name"] for device in call_json("devices", env=environment)["devices"]]
    assert {"toy_npu:0", "toy_npu:1", "test_npu:0", "test_npu:1"} <= set(names)
    run = call_json("run", program, "--bind", "npu=toy_npu:1", env=environment)
    assert run["alternative"]["number"] == 0
    assert "toy_npu:0" not in [device["name"] for device in call_json("devices")["devices"]]


def test_backends_and_devices_list_it():
    report = call_json("devices", *WITH_TOY_NPU)
    backend = next(one for one in report["backends"] if one["name"] == "toy_npu")
    assert backend == {"name": "toy_npu", "version": "1.0", "present": True, "why": None}
    device = next(one for one in report["devices"] if one["name"] == "toy_npu:1")
    assert device["description"].endswith("(plug-in 'toy_npu' 1.0)")
    runs_only = call_json("devices", "--plugin", PLUGINS / "libtest_plugin_runs_only.so")["backends"]
    assert next(one for one in runs_only if one["name"] == "runs_only_npu")["present"] is False


def test_without_the_plugin_another_plan_runs(program):
    run = call_json("run", program)
    assert run["alternative"]["number"] == 1
    assert run["alternative"]["targets"] == "halide@cpu"
    assert "it needs the plug-in 'toy_npu' (compiled with version 1.0)" in run["alternative"]["reason"] or (
        "no device 'toy_npu:0'" in run["alternative"]["reason"]
    )


def test_without_the_plugin_and_another_plan_the_error_says_what_to_do(resnet, tmp_path):
    program = tmp_path / "p.so"
    call("compile", resnet, "-o", program, *DEVICES, "--tune", "off", *WITH_TOY_NPU)
    error = error_of("run", program)
    for part in ("plug-in 'toy_npu' (compiled with version 1.0)", "--plugin", "INTARSIA_PLUGINS"):
        assert part in error
    broken = error_of("run", program, env={"INTARSIA_PLUGINS": str(tmp_path / "none.so")})
    assert "INTARSIA_PLUGINS: plug-in" in broken and "none.so" in broken


def test_auto_offers_it(resnet, tmp_path):
    report = call_json(
        "compile", resnet, "-o", tmp_path / "p.so", "-d", "auto", "--backends", "toy_npu,halide", "--tune", "off",
        *WITH_TOY_NPU,
    )  # fmt: skip
    offered = {device["device"]: device for device in report["devices"]}
    assert offered["toy_npu:0"]["regions"] > 0
    assert offered["toy_npu:1"]["regions"] == 0


def test_what_it_refuses_says_why(resnet, tmp_path):
    error = error_of(
        "compile",
        resnet,
        "-o",
        tmp_path / "p.so",
        *DEVICES,
        "--pin",
        "pool=toy_npu@npu",
        *WITH_TOY_NPU,
        status=2,
    )
    assert "toy_npu@npu: it has no GlobalAveragePool" in error
    error = error_of("compile", resnet, "-o", tmp_path / "p.so", *DEVICES, status=2)
    assert "no backend can drive 'toy_npu:0'" in error and "--plugin" in error


def test_libraries_that_are_no_plugins(resnet, tmp_path):
    for command in (("devices",), ("run", resnet), ("check", resnet), ("explain", resnet), ("bench", resnet)):
        assert "none.so" in error_of(*command, "--plugin", tmp_path / "none.so")
    error = error_of("devices", "--plugin", PLUGINS / "libtest_plugin_without_entry.so", status=2)
    assert "does not export intarsia_plugin_entry" in error
    twins = ("--plugin", PLUGINS / "libtest_plugin_good.so", "--plugin", PLUGINS / "libtest_plugin_twin.so")
    assert "is named 'test_npu', as the one of" in error_of("devices", *twins, status=2)
    call("devices", *WITH_TOY_NPU, *WITH_TOY_NPU)
    error = error_of("compile", resnet, env={"INTARSIA_PLUGINS": str(tmp_path / "none.so")})
    assert error.startswith("error: INTARSIA_PLUGINS: plug-in")


@pytest.mark.parametrize("call_of_plugin", ("run", "wait", "upload", "download", "load", "allocate"))
def test_a_call_that_fails_names_plugin_and_device(tmp_path, call_of_plugin):
    model = save_relu(tmp_path / "model.onnx")
    program = tmp_path / "p.so"
    plugin = ("--plugin", PLUGINS / "libtest_plugin_good.so")
    call("compile", model, "-o", program, "-d", "cpu,npu=test_npu:0", "--tune", "off", *plugin)
    call("run", program, *plugin)
    error = error_of("run", program, *plugin, env={"TEST_PLUGIN_FAULT": f"{call_of_plugin} error"})
    assert "plug-in 'test_npu' 1.2: " in error and "on test_npu:0: a declared fault" in error


def test_a_region_that_does_not_compile_is_named(tmp_path):
    model = save_relu(tmp_path / "model.onnx")
    error = error_of(
        "compile", model, "-d", "npu=test_npu:0", "--tune", "off", "--plugin", PLUGINS / "libtest_plugin_good.so",
        env={"TEST_PLUGIN_FAULT": "compile error"},
    )  # fmt: skip
    assert (
        "region 0 on test_npu@npu (from node 'node1'): plug-in 'test_npu' 1.2: compile for test_npu:0"
        in error
    )
