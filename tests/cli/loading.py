"""A plan whose framework takes minutes to load it, or ends its process, is left out of the comparison: the compile goes on.

Covers: src/base/code/ worker_process.cc
src/measure/ limit_loading.cc
registry/ load_worker.cc
src/compile/ compile_regions.cc measure_plans.cc
"""

import json
import os
import signal
import subprocess
import time

import numpy as np
import pytest
from cli_models import INTARSIA, TensorProto, call, call_json, helper, numpy_helper, save
from processes import is_gone, wait_for, workers_of

WORKER = "intarsia-load"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """One value in two thousand products with different constants: OpenVINO takes two minutes to load it."""
    rng = np.random.default_rng(1)
    weights = [numpy_helper.from_array(np.float32(rng.standard_normal()), f"c{i}") for i in range(2000)]
    nodes = [helper.make_node("Relu", ["x"], ["r"])]
    nodes += [helper.make_node("Mul", ["r", f"c{i}"], [f"m{i}"]) for i in range(len(weights))]
    nodes.append(helper.make_node("Sum", [f"m{i}" for i in range(len(weights))], ["y"]))
    return save(
        tmp_path_factory.mktemp("loading") / "fan.onnx",
        nodes,
        [("x", TensorProto.FLOAT, [4, 8])],
        [("y", TensorProto.FLOAT, [4, 8])],
        weights,
    )


def start_compile(model, program, cache):
    process = subprocess.Popen(
        [INTARSIA, "compile", model, "-o", program, "--cache", cache, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: workers_of(process.pid, WORKER), 120)
    return process


def test_a_framework_that_takes_long_is_given_up_and_that_is_told_and_remembered(model, tmp_path):
    program, cache = tmp_path / "fan.so", tmp_path / "cache"
    reports = [call_json("compile", model, "-o", program, "--cache", cache) for _ in range(2)]
    for report in reports:
        assert report["plan"]["faults"] == {
            "openvino": "given up: loading it takes more than 10 s of CPU time"
        }
        assert [region["target"] for region in report["regions"]] == ["halide@cpu"]
    spared = reports[0]["compile_seconds"] - reports[1]["compile_seconds"]
    assert spared > 5, "of the 10 s that OpenVINO was given"
    text = call("compile", model, "-o", program, "--cache", cache).stdout
    assert "left out  openvino: given up: loading it takes more than 10 s of CPU time\n" in text
    assert call_json("check", program)["ok"]


def test_a_framework_that_ends_its_process_costs_its_plan_alone(model, tmp_path):
    process = start_compile(model, tmp_path / "fan.so", tmp_path / "cache")
    time.sleep(3)  # until most others have loaded theirs
    for worker in workers_of(process.pid, WORKER):
        os.kill(worker, signal.SIGKILL)  # as the system does for lack of memory
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    faults = json.loads(out)["plan"]["faults"]
    assert "openvino" in faults and set(faults.values()) == {"given up: loading it ended with signal 9"}
    assert call_json("check", tmp_path / "fan.so")["ok"]


def test_an_interrupted_compile_ends_what_it_loads(model, tmp_path):
    process = start_compile(model, tmp_path / "fan.so", tmp_path / "cache")
    workers = workers_of(process.pid, WORKER)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT and time.monotonic() - sent < 5, err
    wait_for(lambda: all(map(is_gone, workers)), 5)
    assert not (tmp_path / "fan.so").exists()
