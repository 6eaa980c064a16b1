"""A machine that is busy with other work: it is told, and does not decide what later compiles ship.

Covers: src/measure/ load_meter.cc time_kernels.cc time_programs.cc src/plan/choose/ choose_plan.cc src/plan/costs/
plan_timer.cc
"""

import contextlib
import os
import subprocess
import sys

import numpy as np
import pytest
from cli_models import TensorProto, call, call_json, helper, numpy_helper, save, skip_on_a_busy_machine

WARNING = "this machine is busy: times may be off"


@pytest.fixture
def model(tmp_path):
    """A convolution, which has variants to choose from and which ONNX Runtime and OpenVINO run, too."""
    weights = np.random.default_rng(1).standard_normal((64, 64, 3, 3)).astype(np.float32) / 24
    return save(
        tmp_path / "model.onnx",
        [helper.make_node("Conv", ["x", "w"], ["y"], "conv", pads=[1, 1, 1, 1])],
        [("x", TensorProto.FLOAT, [1, 64, 56, 56])],
        [("y", TensorProto.FLOAT, [1, 64, 56, 56])],
        [numpy_helper.from_array(weights, "w")],
    )


@contextlib.contextmanager
def other_work():
    """Twice as many processes that compute as there are cores."""
    command = [sys.executable, "-c", "while True: pass"]
    processes = [subprocess.Popen(command) for _ in range(2 * len(os.sched_getaffinity(0)))]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_a_busy_machine_is_told_and_its_times_are_not_kept(model, tmp_path):
    options = [model, "--cache", tmp_path / "cache", "-o", tmp_path / "model.so"]
    with other_work():
        busy = call_json("compile", *options)
        assert WARNING in call("compile", *options).stdout
    assert busy["plan"]["unsure"]
    assert busy["tuning"]["disturbed"] == busy["tuning"]["measured"] > 0
    assert busy["tuning"]["disturbed_boundaries"] > 0

    idle = call_json("compile", *options)
    assert idle["tuning"]["remembered"] == 0 and idle["tuning"]["measured"] == busy["tuning"]["measured"]
    skip_on_a_busy_machine(idle)
    with other_work():
        known = call("compile", *options).stdout
        assert WARNING not in known and "0 of them measured now" in known
