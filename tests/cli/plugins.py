"""Devices of plug-ins through the command line: the toy NPU of examples/07_your_own_device in plans with our kernels, where
plug-ins are found, and what is said where one is missing or goes wrong.

Covers: src/plugin/ plugin_options.cc one_line.cc
cli/usage/ plugins.cc
registry/ compile_services.cc run_backends.cc
src/api/ all_devices.cc
src/compile/ refused_regions.cc
"""

import contextlib
import json
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import time

import numpy as np
import onnx
import pytest
from cli_models import (
    INTARSIA,
    SOURCE,
    TensorProto,
    call,
    call_json,
    error_of,
    helper,
    save,
    save_relu,
    skip_on_a_busy_machine,
)

FLOAT = TensorProto.FLOAT
PLUGINS = pathlib.Path(os.environ.get("INTARSIA_TEST_PLUGINS", SOURCE / "build/release/test_plugins"))
TOY_NPU = PLUGINS / "libtoy_npu.so"
TEST_NPU = PLUGINS / "libtest_plugin_good.so"
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
    assert any(segment["ms"].get("toy_npu@npu") for segment in report["segments"])
    assert "halide@cpu" in report["single_backend_ms"]
    again = call_json("compile", resnet, "-o", tmp_path / "q.so", *options)
    assert again["plan"]["regions_measured"] == 0
    with contextlib.closing(sqlite3.connect(tmp_path / "costs.sqlite")) as table:
        versions = table.execute("SELECT DISTINCT version FROM costs WHERE backend = 'toy_npu'").fetchall()
        links = table.execute("SELECT DISTINCT to_space FROM links").fetchall()
    assert ("toy_npu:0 1.0",) in links
    skip_on_a_busy_machine(report)
    assert versions == [("1.0",)]


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
    [segment] = [one for one in slow["segments"] if one["ms"].get("test_npu@npu")]
    assert 100 <= segment["ms"]["test_npu@npu"] < 110
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
    parts = [segment["source_nodes"] for segment in report["segments"]]
    assert parts == [["product0"], ["relu0", "product1", "relu1"], ["product2"]]
    failing = {"TEST_PLUGIN_FAULT": "groups error"}
    report = call_json("compile", path, "-o", tmp_path / "p.so", *options, *plugin, env=failing)
    assert report["notes"] == [
        "plug-in 'test_npu' 1.2: groups for test_npu:7: a declared fault; its nodes move one by one"
    ]


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


@pytest.fixture(scope="module")
def relu_with_alternative(tmp_path_factory):
    """A Relu on the device of the test, with a plan that does without; and a pipeline of two of these."""
    folder = tmp_path_factory.mktemp("relu")
    save_relu(folder / "m.onnx")
    call("compile", folder / "m.onnx", "-o", folder / "p.so", "-d", "cpu,npu=test_npu:0", "--also", "cpu", "--tune", "off",
         "--plugin", TEST_NPU)  # fmt: skip
    stage = {"name": "net", "program": "p.so", "replicas": [{"devices": {"npu": "test_npu:1"}}]}
    (folder / "pipeline.json").write_text(json.dumps({"intarsia_pipeline": 1, "stages": [stage]}))
    return folder


def test_a_device_that_is_lost_in_a_run_is_left_for_another_plan(relu_with_alternative):
    lost = {"TEST_PLUGIN_FAULT": "run lost"}
    program = relu_with_alternative / "p.so"
    out = call("run", program, "--runs", "3", "--plugin", TEST_NPU, env=lost).stdout
    assert "note   runs on halide@cpu" in out and "run on test_npu:0: a declared fault" in out
    assert call_json("run", program, "--plugin", TEST_NPU)["alternative"]["number"] == 0


def test_a_pipeline_tells_what_its_replicas_run(relu_with_alternative):
    lost = {"TEST_PLUGIN_FAULT": "run lost", "TEST_PLUGIN_FAULT_DEVICE": "1"}
    arguments = (
        "run",
        "--pipeline",
        relu_with_alternative / "pipeline.json",
        "--runs",
        "20000",  # a third of a second: every replica gets frames, on a busy machine, too
        "--plugin",
        TEST_NPU,
    )
    report = call_json(*arguments, env=lost)
    notes = [
        replica["note"] for replica in report["stages"][0]["replica_statistics"]
    ]  # two sessions of each device
    assert report["errors"] == 0
    assert notes[:2] == [None, None]
    left = [note for note in notes[2:] if note is not None]
    assert left and all("runs alternative 1 on halide@cpu" in note for note in left)
    assert re.search(
        r"net, replica [23]: runs alternative 1 on halide@cpu: ", call(*arguments, env=lost).stdout
    )


def test_a_pipeline_has_as_many_frames_on_a_device_as_it_runs_and_one(relu_with_alternative):
    arguments = (
        "run",
        "--pipeline",
        relu_with_alternative / "pipeline.json",
        "--runs",
        "20",
        "--plugin",
        TEST_NPU,
    )
    report = call_json(*arguments, env={"TEST_PLUGIN_QUEUES": "3"})
    assert len(report["stages"][0]["replica_statistics"]) == 2 * (3 + 1)
    assert report["errors"] == 0
    wrong = error_of(*arguments, status=2, env={"TEST_PLUGIN_QUEUES": "65"})
    assert "its devices have 65 compute queues; want at most 64" in wrong


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


@pytest.fixture
def relus(tmp_path):
    """x -> relu0 -> ... -> relu7 -> y"""
    nodes = [helper.make_node("Relu", [f"v{i}"], [f"v{i + 1}"], f"relu{i}") for i in range(8)]
    return save(tmp_path / "relus.onnx", nodes, [("v0", FLOAT, [4])], [("v8", FLOAT, [4])])


def nodes_on_npu(report):
    return [
        name
        for region in report["regions"]
        if region["target"] == "test_npu@npu"
        for name in region["source_nodes"]
    ]


@pytest.mark.parametrize("tune", [("--tune", "off"), ()], ids=["placed", "measured"])
def test_a_node_for_which_a_region_is_refused_runs_elsewhere(relus, tmp_path, tune):
    program = tmp_path / "p.so"
    arguments = ("compile", relus, "-o", program, "-d", "cpu,npu=test_npu:0", *tune, "--plugin", TEST_NPU)
    refusal = {"TEST_PLUGIN_REFUSES": "relu5"}
    report = call_json(*arguments, env=refusal)
    [refused] = report["refused_regions"]
    assert (refused["target"], refused["nodes"], refused["left_out"], refused["first"]) == (
        "test_npu@npu", 8, 1, "relu5",
    )  # fmt: skip
    assert refused["why"] == "plug-in 'test_npu' 1.2: compile for test_npu:0: no Relu of this kind"
    if tune:
        assert sorted(nodes_on_npu(report)) == [f"relu{i}" for i in range(8) if i != 5]
        text = " ".join(call(*arguments, env=refusal).stdout.split())
        assert "refused 1 of 8 nodes on test_npu@npu from 'relu5': plug-in 'test_npu' 1.2: compile" in text
        refusals = next(node for node in call_json("explain", program)["nodes"] if node["name"] == "relu5")[
            "refusals"
        ]
        assert any("its compiler refused a region with it: " in one for one in refusals)
    call("run", program, "--plugin", TEST_NPU)


def test_a_region_that_is_too_large_becomes_smaller(relus, tmp_path):
    arguments = ("-d", "cpu,npu=test_npu:0", "--tune", "off", "--plugin", TEST_NPU)
    for most, kept in ((5, 5), (1, 1), (0, 0)):
        report = call_json(
            "compile", relus, "-o", tmp_path / "p.so", *arguments, env={"TEST_PLUGIN_MOST_NODES": str(most)}
        )
        assert len(nodes_on_npu(report)) == kept, most
        assert report["refused_regions"][0]["nodes"] == 8
        assert "no room for 8 nodes" in report["refused_regions"][0]["why"]
        call("run", tmp_path / "p.so", "--plugin", TEST_NPU)


def test_a_pin_to_what_refuses_is_an_error_that_says_so(relus, tmp_path):
    error = error_of(
        "compile", relus, "-o", tmp_path / "p.so", "-d", "cpu,npu=test_npu:0", "--pin", "relu5=test_npu@npu",
        "--tune", "off", "--plugin", TEST_NPU, env={"TEST_PLUGIN_REFUSES": "relu5"}, status=2,
    )  # fmt: skip
    assert (
        "--pin: node 'relu5' (Relu) cannot run on test_npu@npu: its compiler refused a region with it"
        in error
    )


def test_unknown_options_of_a_device_are_errors_that_list_the_known(relus, tmp_path):
    arguments = ("compile", relus, "-o", tmp_path / "p.so", "--tune", "off", "--plugin", TEST_NPU)
    error = error_of(*arguments, "-d", "cpu,npu=test_npu:0?speed=9", status=2)
    assert (
        "device 'test_npu:0?speed=9': unknown option 'speed=9'; plug-in 'test_npu' 1.2 has: power (low or high)"
        in error
    )
    assert "option 'power' is given twice" in error_of(
        *arguments, "-d", "npu=test_npu:0?power=low&power=low", status=2
    )
    toy = (*arguments[:-1], TOY_NPU, "-d", "cpu,npu=toy_npu:0?x")
    assert "unknown option 'x'; plug-in 'toy_npu' 1.0 has: memory_kb (" in error_of(*toy, status=2)
    sim = error_of(
        "compile", relus, "-o", tmp_path / "p.so", "--tune", "off", "-d", "cpu,sim:0?foo=1", status=2
    )
    assert "device 'sim:0?foo=1': unknown setting 'foo=1'; want slowdown=" in sim


def test_options_of_a_device_reach_the_plug_in(relus, tmp_path):
    plugin = ("--plugin", TEST_NPU)
    program = tmp_path / "p.so"
    call("compile", relus, "-o", program, "--tune", "off", "-d", "cpu,npu=test_npu:0?power=low", *plugin)
    call("run", program, *plugin)
    call("run", program, "--bind", "npu=test_npu:1?power=high", *plugin)
    error = error_of("run", program, "--bind", "npu=test_npu:1?power=mid", *plugin)
    assert "open_device: power is 'mid', want low or high" in error


def test_a_chip_with_too_little_memory_leaves_its_work_to_another_plan(program):
    """The program's constants and values take more than a kilobyte."""
    run = call_json("run", program, "--bind", "npu=toy_npu:0?memory_kb=1", *WITH_TOY_NPU)
    assert run["alternative"]["number"] == 1
    assert "out of memory" in run["alternative"]["reason"]


def test_the_memory_that_a_plug_in_declares_limits_the_plan(relus, tmp_path):
    arguments = ("-d", "npu=test_npu:0,cpu", "--plugin", TEST_NPU)
    small = {"TEST_PLUGIN_MEMORY": "8"}
    report = call_json("compile", relus, "-o", tmp_path / "p.so", *arguments, env=small)
    assert nodes_on_npu(report) == []
    npu = next(slot for slot in report["slots"] if slot["name"] == "npu")
    assert npu["memory"]["limit_bytes"] == 8
    report = call_json(
        "compile",
        relus,
        "-o",
        tmp_path / "p.so",
        *arguments,
        "--memory",
        "npu=1MB",
        "--tune",
        "off",
        env=small,
    )
    assert len(nodes_on_npu(report)) == 8


def save_between(path):
    """x -> Exp -> Relu -> Exp -> Relu -> Exp -> y, of sizes that fill no page"""
    ops = ["Exp", "Relu", "Exp", "Relu", "Exp"]
    nodes = [helper.make_node(op, [f"v{i}"], [f"v{i + 1}"], f"n{i}") for i, op in enumerate(ops)]
    return save(path, nodes, [("v0", FLOAT, [3, 5])], [("v5", FLOAT, [3, 5])])


@pytest.mark.parametrize("variant", ["good", "pages", "unified"])
def test_devices_with_pages_or_the_hosts_memory(tmp_path, variant):
    """The device of the test copies, and what Exp makes is not negative: a copy is its Relu."""
    model = save_between(tmp_path / "m.onnx")
    name = {"good": "test"}.get(variant, variant) + "_npu"
    plugin = ("--plugin", PLUGINS / f"libtest_plugin_{variant}.so")
    program = tmp_path / "p.so"
    report = call_json("compile", model, "-o", program, "-d", f"cpu,npu={name}:0", "--tune", "off", *plugin)
    targets = [region["target"] for region in report["regions"]]
    assert targets.count(f"{name}@npu") == 2, targets
    assert (report["copies"] == []) == (variant == "unified")
    assert call_json("check", program, *plugin)["ok"]


@pytest.mark.parametrize("layouts", ["reverse", "none"])
def test_values_between_its_regions_lie_as_a_plug_in_wants(tmp_path, layouts):
    """Between two devices of it, but not where others read them. The device of the test copies."""
    ops = ["Exp", "Relu", "Relu", "Exp"]
    nodes = [helper.make_node(op, [f"v{i}"], [f"v{i + 1}"], f"n{i}") for i, op in enumerate(ops)]
    model = save(tmp_path / "m.onnx", nodes, [("v0", FLOAT, [2, 3, 4])], [("v4", FLOAT, [2, 3, 4])])
    options = (
        *("-d", "cpu,a=test_npu:0,b=test_npu:1", "--tune", "off", "--plugin", TEST_NPU),
        *("--pin", "n1=test_npu@a", "--pin", "n2=test_npu@b"),
    )
    env = {"TEST_PLUGIN_LAYOUTS": layouts} if layouts != "none" else {}
    text = call(
        "compile", model, "--dry-run", "-q", *options, "--print-after", "choose_boundary_layouts", env=env
    ).stdout
    call("compile", model, "-o", tmp_path / "p.so", *options, env=env)
    assert call_json("check", tmp_path / "p.so", "--plugin", TEST_NPU)["ok"]
    assert text.count("layout of") == (layouts == "reverse")
    wrong = error_of("compile", model, "--dry-run", *options, env={"TEST_PLUGIN_LAYOUTS": "wrong"})
    assert (
        "plug-in 'test_npu' 1.2: layouts: 'v2' has its axes in the order 7, 7, 7; want each of its 3 once"
        in wrong
    )


def test_what_a_plug_in_writes_for_people_is_one_line_without_commands_to_terminals():
    devices = call_json("devices", "--plugin", TEST_NPU)["devices"]
    [device] = [one for one in devices if one["name"] == "test_npu:0"]
    assert (
        device["description"] == "a device for tests; options: power (low or high) (plug-in 'test_npu' 1.2)"
    )


def test_a_compile_by_a_plug_in_shows_its_progress_and_ends_by_ctrl_c(relus, tmp_path):
    """The compiler of the test goes on until it is told that the user has given up."""
    process = subprocess.Popen(
        [INTARSIA, "compile", relus, "-o", tmp_path / "p.so", "-d", "cpu,npu=test_npu:0", "--tune", "off", "--plugin", TEST_NPU],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, "TEST_PLUGIN_WAITS": "1"},
    )  # fmt: skip
    time.sleep(1)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT, errors
    assert not (tmp_path / "p.so").exists()
