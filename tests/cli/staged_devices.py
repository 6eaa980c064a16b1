"""Stages on devices of declared times: what is predicted, what frames take, and the bound.

Covers: src/plan/stages/ stage_costs.cc stage_frames.cc stage_planner.cc time_stages.cc src/pipeline/ session_stage.cc
"""

import json

import numpy as np
import pytest
from cli_models import TensorProto, call_json, helper, save

FLOAT = TensorProto.FLOAT
SIZE, PRODUCTS = 768, 8
MILLISECONDS = 1000  # declared times are microseconds


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Products in a row, which take a core several times as long as the devices below."""
    weight = (np.random.default_rng(1).standard_normal((SIZE, SIZE)) / np.sqrt(SIZE)).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", [f"v{i}", "w"], [f"v{i + 1}"], f"product{i}") for i in range(PRODUCTS)
    ]
    return save(
        tmp_path_factory.mktemp("products") / "model.onnx",
        nodes,
        [("v0", FLOAT, [SIZE, SIZE])],
        [(f"v{PRODUCTS}", FLOAT, [SIZE, SIZE])],
        [("w", weight)],
    )


def compile_for(model, folder, devices, *options, queues=1):
    """`devices`: of each the milliseconds of the whole, and of a copy."""
    slots = []
    for number, (whole, copy) in enumerate(devices):
        file = folder / f"times{number}.json"
        link = {"latency_us": copy * MILLISECONDS, "gbps": 1000}
        file.write_text(
            json.dumps({"default": whole * MILLISECONDS / PRODUCTS, "link": link, "queues": queues})
        )
        slots.append(f"s{number}=sim:{number}?times={file}")
    return call_json(
        "compile",
        model,
        "-o",
        folder / "p.so",
        "-d",
        ",".join(["cpu:0", *slots]),
        "--backends",
        "halide",
        "--cache",
        folder / "cache",
        "--objective",
        "throughput",
        *options,
    )


def milliseconds_a_frame(program, frames=150):
    """The least of three, as other processes only slow it down."""
    runs = [call_json("run", program, "--pipeline", "--runs", frames) for _ in range(3)]
    return 1000 / max(run["frames_per_second"] for run in runs)


def test_a_device_copies_one_frame_while_it_runs_another(model, tmp_path):
    """In 5, run 5, out 5: 10 on a link that carries one copy at a time, not 15."""
    pins = ("--pin", "product*=halide@s0")
    report = compile_for(model, tmp_path, [(5, 5)], *pins)
    [stage] = report["stages"]
    assert stage["frames"] == 2
    assert stage["predicted_ms"] == pytest.approx(10, rel=0.05)
    assert stage["measured_ms"] == pytest.approx(10, rel=0.05)
    assert report["throughput"]["bound_ms"] <= stage["measured_ms"]
    assert milliseconds_a_frame(tmp_path / "p.so") < 13


def test_unlike_devices_share_the_frames(model, tmp_path):
    """8 and 10 ms: 4.44 ms a frame."""
    report = compile_for(model, tmp_path, [(8, 0.01), (10, 0.01)])
    assert report["throughput"]["chosen"] == "2 replicas of the whole: s0, s1"
    [stage] = report["stages"]
    assert len(stage["executors"]) == 2
    assert report["throughput"]["predicted_ms"] == pytest.approx(4.44, rel=0.05)
    assert report["throughput"]["bound_ms"] <= report["throughput"]["measured_ms"]
    assert milliseconds_a_frame(tmp_path / "p.so", frames=75) < 8  # less than the faster one alone


def test_a_device_runs_as_many_frames_as_it_has_queues(model, tmp_path):
    """Two at once, of 16 ms each, with copies of 1 ms: 8 ms a frame."""
    report = compile_for(model, tmp_path, [(16, 1)], "--pin", "product*=halide@s0", queues=2)
    [stage] = report["stages"]
    assert stage["frames"] == 3
    assert stage["predicted_ms"] == pytest.approx(8, rel=0.05)
    assert stage["measured_ms"] == pytest.approx(8, rel=0.05)
    assert report["throughput"]["bound_ms"] <= stage["measured_ms"]
    assert milliseconds_a_frame(tmp_path / "p.so", frames=75) < 12


def test_a_limit_leaves_one_frame_at_a_time(model, tmp_path):
    """Two frames do not fit: a stage has one, and its time says so."""
    pins = ("--pin", "product*=halide@s0")
    free = compile_for(model, tmp_path, [(5, 2)], *pins, "--memory", "s0=1GB")
    assert free["stages"][0]["frames"] == 2 and free["stages"][0]["measured_ms"] == pytest.approx(5, rel=0.1)
    [used] = [slot["memory"] for slot in free["slots"] if slot["name"] == "s0"]
    limit = used["constants_bytes"] + used["arena_bytes"] - 1
    tight = compile_for(model, tmp_path, [(5, 2)], *pins, "--memory", f"s0={limit}")
    assert tight["stages"][0]["frames"] == 1
    assert tight["stages"][0]["measured_ms"] == pytest.approx(9, rel=0.1), "in, run, out"
    assert tight["throughput"]["bound_ms"] <= free["throughput"]["measured_ms"]


def test_a_link_with_other_times_is_measured_again(model, tmp_path):
    pins = ("--pin", "product*=halide@s0")
    slow = compile_for(model, tmp_path, [(1, 5)], *pins)["stages"][0]["predicted_ms"]
    fast = compile_for(model, tmp_path, [(1, 1)], *pins)["stages"][0]["predicted_ms"]
    assert slow == pytest.approx(10, rel=0.05) and fast == pytest.approx(2, rel=0.2)
