"""Placement by measured time, on devices that declare how long they take.

Covers: src/compile/ device_choice.cc
src/plan/choose/ find_alternatives.cc
src/plan/costs/ find_segments.cc predict_plan.cc price_segments.cc segment_times.cc
src/plan/partition/ is_work.cc
src/plan/place/ mix_backends.cc schedule_placement.cc
src/measure/ time_link.cc
src/device/sim/ declared_times.cc
"""

import json

import numpy as np
import pytest
from cli_models import TensorProto, call, call_json, error_of, helper, save, skip_on_a_busy_machine

FLOAT = TensorProto.FLOAT
SIZE = 512
MILLISECONDS = 1000  # in the microseconds of the files


def make_branches(folder, size):
    """Two branches of four products each, and their sum."""
    random = np.random.default_rng(2)
    weights = (random.standard_normal((2, size, size)) / np.sqrt(size)).astype(np.float32)
    shape, nodes = [size, size], []
    for branch in "ab":
        names = ["x"] + [f"{branch}{i}" for i in range(4)]
        for i in range(4):
            inputs = [names[i], f"{branch}_weight"]
            nodes.append(helper.make_node("MatMul", inputs, [names[i + 1]], f"{branch}_product{i}"))
    nodes.append(helper.make_node("Add", ["a3", "b3"], ["y"], "sum"))
    return save(
        folder / "model.onnx",
        nodes,
        [("x", FLOAT, shape)],
        [("y", FLOAT, shape)],
        [("a_weight", weights[0]), ("b_weight", weights[1])],
    )


@pytest.fixture(scope="module")
def branches(tmp_path_factory):
    """A value is 1 MB."""
    return make_branches(tmp_path_factory.mktemp("branches"), SIZE)


@pytest.fixture(scope="module")
def large_branches(tmp_path_factory):
    """A product takes 10 ms or more on a core, so that what a loaded machine adds to a run hardly counts."""
    return make_branches(tmp_path_factory.mktemp("large_branches"), 2 * SIZE)


@pytest.fixture(scope="module")
def products(tmp_path_factory):
    """Eight products, which take milliseconds each on a CPU, also a fast one; a value between two of them is 2.4 MB."""
    random = np.random.default_rng(1)
    size = SIZE * 3 // 2
    weight = (random.standard_normal((size, size)) / np.sqrt(size)).astype(np.float32)
    nodes = [helper.make_node("MatMul", [f"v{i}", "w"], [f"v{i + 1}"], f"product{i}") for i in range(8)]
    shape = [size, size]
    return save(
        tmp_path_factory.mktemp("products") / "model.onnx",
        nodes,
        [("v0", FLOAT, shape)],
        [("v8", FLOAT, shape)],
        [("w", weight)],
    )


def compile_for(model, folder, times, link_us):
    """On the CPU and a device whose products take these milliseconds."""
    file = folder / "times.json"
    declared = {f"product{i}": time * MILLISECONDS for i, time in enumerate(times)}
    file.write_text(json.dumps({"nodes": declared, "link": {"latency_us": link_us, "gbps": 100}}))
    return call_json(
        "compile", model, "-o", folder / "model.so", "-d", f"cpu,accel=sim:0?times={file}",
        "--backends", "halide", "--cache", folder / "cache",
    )  # fmt: skip


def targets_of(report):
    names = {}
    for region in report["regions"]:
        for node in region["source_nodes"]:
            names[node] = region["target"].split("@")[1]
    return [names[f"product{i}"] for i in range(8)]


def test_a_fast_device_behind_a_fast_link_runs_all(products, tmp_path):
    report = compile_for(products, tmp_path, [0.5] * 8, 100)
    assert targets_of(report) == ["accel"] * 8
    assert 8 * 0.5 + 2 * 0.1 < report["measured_ms"] < report["single_backend_ms"]["halide@cpu"]


def compile_branches(model, folder, milliseconds, *options):
    """On the CPU and two devices, where each product takes as long."""
    file = folder / "times.json"
    declared = {f"{branch}_product{i}": milliseconds * MILLISECONDS for branch in "ab" for i in range(4)}
    link = {"latency_us": 100, "gbps": 100}
    file.write_text(json.dumps({"nodes": declared, "default": 10, "link": link}))
    return call_json(
        "compile", model, "-o", folder / "model.so", "-d", f"cpu,one=sim:0?times={file},two=sim:1?times={file}",
        "--backends", "halide", "--threads", 1, "--cache", folder / "cache", *options,
    )  # fmt: skip


def test_branches_go_to_two_devices_at_once(large_branches, tmp_path):
    plan = tmp_path / "plan.json"
    report = compile_branches(large_branches, tmp_path, 6, "--save-plan", plan)
    slots = {region["target"].split("@")[1] for region in report["regions"] if region["nodes"] > 1}
    assert slots == {"one", "two"}
    assert report["plan"]["shipped"] == "mixed"
    for region in report["regions"]:
        products = sum("product" in node for node in region["source_nodes"])
        if not region["target"].endswith("@cpu"):
            assert region["predicted_ms"] >= 0.9 * 6 * products  # a loaded machine takes longer
            assert region["measured_ms"] >= 0.9 * 6 * products
    in_program = call_json("explain", tmp_path / "model.so")["regions"]
    for key in ("predicted_ms", "measured_ms"):
        assert [region[key] for region in in_program] == [region[key] for region in report["regions"]]
    given = compile_branches(large_branches, tmp_path, 6, "--plan", plan)
    assert [(r["target"], r["source_nodes"]) for r in given["regions"]] == [
        (r["target"], r["source_nodes"]) for r in report["regions"]
    ]
    assert len(json.loads(plan.read_text())["functions"]["main"]["order"]) == 9
    assert 24 < report["predicted_ms"] < 48  # a branch and copies; both in turn take 48
    assert report["measured_ms"] < 0.8 * min(report["single_backend_ms"].values())


@pytest.mark.parametrize(("a_ms", "b_ms"), ((25, 25), (30, 10), (5, 40)))
def test_a_run_takes_the_critical_path(branches, tmp_path, a_ms, b_ms):
    """Of two devices that work side by side, and their copies: 1 MB in, and 1 MB out, each 1 ms."""
    devices = ["cpu"]
    for slot, milliseconds in (("one", a_ms), ("two", b_ms)):
        file = tmp_path / f"{slot}.json"
        link = {"latency_us": 1000, "gbps": 1000}
        file.write_text(json.dumps({"default": milliseconds * MILLISECONDS, "link": link}))
        devices.append(f"{slot}=sim:{len(devices) - 1}?times={file}")
    pins = ("--pin", "a_*=halide@one", "--pin", "b_*=halide@two")
    options = ("-d", ",".join(devices), "--backends", "halide", "--tune", "off")
    program = tmp_path / "pinned.so"
    call("compile", branches, "-o", program, *options, *pins)
    critical_path = 4 * max(a_ms, b_ms) + 2
    enough = 1.02 * critical_path + 1  # the sum, on the CPU
    best = 2 * critical_path
    for _ in range(5):  # on a loaded machine
        best = min(best, call_json("bench", program, "-t", 1.5, "-q")["results"][0]["min_ms"])
        if best < enough:
            break
    assert critical_path < best < enough


def test_branches_stay_where_devices_are_slow(branches, tmp_path):
    report = compile_branches(branches, tmp_path, 60)
    assert {region["target"] for region in report["regions"]} == {"halide@cpu"}


def test_every_device_is_used_or_not_for_a_reason(products, tmp_path):
    used = compile_for(products, tmp_path, [0.5] * 8, 100)["devices"]
    slow = compile_for(products, tmp_path, [50] * 8, 100)["devices"]
    assert [device["device"].split("?")[0] for device in used] == ["cpu", "sim:0"]
    assert [device["regions"] for device in used] == [0, 1] and used[1]["why_not"] is None
    assert [device["regions"] for device in slow] == [1, 0]
    assert slow[1]["why_not"].startswith("everything there takes 4")


def test_auto_offers_what_the_machine_has(products, tmp_path):
    options = ("--backends", "halide", "--tune", "off", "--cache", tmp_path / "cache")
    report = call_json("compile", products, "-o", tmp_path / "auto.so", "-d", "auto,accel=sim:0", *options)
    assert [slot["name"] for slot in report["slots"]] == ["cpu", "accel"]
    reasons = {device["device"]: device["why_not"] for device in report["devices"]}
    assert reasons["cpu"] is None and "a part of cpu" in reasons.values()
    alone = call_json("compile", products, "-o", tmp_path / "alone.so", "-d", "auto", *options)
    assert {device["device"]: device["why_not"] for device in alone["devices"]}["sim:0"] == "a simulation"
    text = call("compile", products, "-o", tmp_path / "text.so", "-d", "auto", *options).stdout
    assert "not used  sim:0: a simulation" in text
    call("run", tmp_path / "auto.so")


def test_explain_tells_what_a_compile_measured(products, tmp_path):
    report = compile_for(products, tmp_path, [0.5] * 8, 100)
    skip_on_a_busy_machine(report)
    options = (
        "-d", f"cpu,accel=sim:0?times={tmp_path / 'times.json'}", "--backends", "halide", "--html",
        tmp_path / "page.html", "--cache",
    )  # fmt: skip
    unknown = call_json("explain", products, *options, tmp_path / "other")
    assert unknown["segments"] == [] and "not timed on this machine" in unknown["no_times_reason"]
    assert "not timed on this machine" in (tmp_path / "page.html").read_text()
    explained = call_json("explain", products, *options, tmp_path / "cache")
    assert explained["no_times_reason"] is None and explained["measured_ms"] == report["plan"]["as_placed_ms"]
    assert explained["plans"][0] == {
        "name": "all in halide@accel",
        "measured_ms": report["measured_ms"],
        "predicted_ms": None,
    }
    assert [node["segment"] for node in explained["nodes"]] == list(range(8))
    for segment, shipped in zip(explained["segments"], report["segments"], strict=True):
        assert segment["ms"] == shipped["ms"] and segment["source_nodes"] == shipped["source_nodes"]
        on_cpu, on_accel = segment["ms"]["halide@cpu"], segment["ms"]["halide@accel"]
        assert 0.4 < on_accel < 2
        copies = segment["move_ms"]["halide@accel"] - (on_accel - on_cpu)
        assert 0.2 <= copies < 2  # there and back, and calls
        assert segment["move_ms"]["halide@cpu"] is None and shipped["move_ms"]["halide@accel"] is None
    page = (tmp_path / "page.html").read_text()
    assert "On halide@accel" in page and "A run, moved to halide@accel" in page


def test_a_given_plan_is_predicted_from_its_parts(products, tmp_path):
    report = compile_for(products, tmp_path, [0.5] * 8, 100)
    skip_on_a_busy_machine(report)
    plan = tmp_path / "plan.json"
    options = (
        "-o", tmp_path / "given.so", "-d", f"cpu,accel=sim:0?times={tmp_path / 'times.json'}", "--backends", "halide",
        "--plan", plan, "--cache",
    )  # fmt: skip
    targets = {f"product{i}": "halide@accel" if i < 4 else "halide@cpu" for i in range(8)}
    plan.write_text(json.dumps({"intarsia_plan": 1, "functions": {"main": {"nodes": targets}}}))
    given = call_json("compile", products, *options, tmp_path / "cache")
    parts = sum(
        segment["ms"][target] for segment, target in zip(report["segments"], targets.values(), strict=True)
    )
    assert parts + 0.2 < given["predicted_ms"] < parts + 2  # there and back, and calls
    assert given["measured_ms"] is None and given["plan"]["disabled_reason"] == "the plan is given"
    assert call_json("compile", products, *options, tmp_path / "other")["predicted_ms"] is None


def test_a_slow_link_keeps_all_on_the_cpu(products, tmp_path):
    assert targets_of(compile_for(products, tmp_path, [0.5] * 8, 50 * MILLISECONDS)) == ["cpu"] * 8


def test_what_a_device_is_slow_at_stays_on_the_cpu(products, tmp_path):
    """The last four would take a tenth of a second each there; of the first four half a millisecond is less than here."""
    report = compile_for(products, tmp_path, [0.5] * 4 + [100] * 4, 100)
    assert targets_of(report) == ["accel"] * 4 + ["cpu"] * 4
    assert report["plan"]["shipped"] == "mixed"
    assert (
        report["predicted_ms"] < 2 * report["measured_ms"]
        and report["measured_ms"] < 2 * report["predicted_ms"]
    )
    assert len(report["copies"]) == 2
    assert call_json("check", tmp_path / "model.so")["ok"]


def test_a_program_runs_without_the_device_that_it_is_for(products, tmp_path):
    """Everything is pinned to a device; with --also there is a plan without it."""
    times = tmp_path / "times.json"
    times.write_text(json.dumps({"default": 100}))
    program, without = tmp_path / "with.so", tmp_path / "without.so"
    options = ["-d", f"cpu,accel=sim:0?times={times}", "--backends", "halide", "--pin", "*=halide@accel"]
    options += ["--tune", "off"]
    report = call_json("compile", products, "-o", program, *options, "--also", "cpu")
    assert [region["target"] for region in report["regions"]] == ["halide@accel"]
    assert [alternative["targets"] for alternative in report["alternatives"]] == ["halide@cpu"]
    call("compile", products, "-o", without, *options)
    first = call_json("run", program, "-o", tmp_path / "first")
    assert first["alternative"]["number"] == 0
    times.unlink()
    second = call_json("run", program, "-o", tmp_path / "second")
    assert second["alternative"]["number"] == 1 and "times.json" in second["alternative"]["reason"]
    assert second["alternative"]["targets"] == "halide@cpu"
    np.testing.assert_array_equal(*[np.load(run["outputs"][0]["file"]) for run in (first, second)])
    assert "times.json" in error_of("run", without)
    times.write_text("{}")
    assert "has no time for node" in error_of("run", program, status=2), "it is there, but wrong"
    unknown = error_of("compile", products, "-o", program, *options, "--also", "gpu", status=2)
    assert "--also gpu: no such slot; --devices has: cpu, accel" in unknown
