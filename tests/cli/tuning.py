"""Kernels chosen by measurement: remembered, reproducible, within their time, and never in the way of a compile.

Covers: src/compile/ tuning.cc
src/measure/ time_kernels.cc
backends/halide/tune/ choose_schedules.cc tune_kernels.cc
"""

import contextlib
import os
import re
import sqlite3
import subprocess
import time

import numpy as np
import pytest
from cli_models import (
    INTARSIA,
    TensorProto,
    call,
    call_json,
    error_of,
    helper,
    kill_at_first_file,
    numpy_helper,
    save,
    skip_on_a_busy_machine,
)


@pytest.fixture
def model(tmp_path):
    """Two convolutions that have variants to choose from."""
    rng = np.random.default_rng(1)
    weights = [
        numpy_helper.from_array(rng.standard_normal((32, 32, 3, 3)).astype(np.float32) / 17, name)
        for name in ("w1", "w2")
    ]
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["a"], "conv1", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"], "relu"),
        helper.make_node("Conv", ["b", "w2"], ["y"], "conv2", strides=[2, 2]),
    ]
    return save(
        tmp_path / "model.onnx",
        nodes,
        [("x", TensorProto.FLOAT, [1, 32, 40, 40])],
        [("y", TensorProto.FLOAT, [1, 32, 19, 19])],
        weights,
    )


def read_costs(cache, columns):
    with contextlib.closing(sqlite3.connect(cache / "costs.sqlite")) as table:
        return table.execute(f"SELECT {columns} FROM costs WHERE nanoseconds < {2**63 - 1}").fetchall()


def agree(probes):
    """Otherwise the machine was slower for a moment, and what was measured before does not compare."""
    return max(probes)[0] <= 1.05 * min(probes)[0]


def compile_tuned(model, name, cache, *options):
    program = model.parent / name
    return program, call_json("compile", model, "-o", program, "--cache", cache, *options)


@pytest.mark.parametrize("threads", sorted({1, min(2, os.cpu_count())}))
def test_times_are_remembered_and_programs_the_same(model, tmp_path, threads):
    first, report = compile_tuned(model, "first.so", tmp_path / "cache", "--threads", threads)
    assert (
        report["tuning"]["measured"] > 2
        and report["tuning"]["disabled_reason"] is None
        and report["tuning"]["warning"] is None
    )
    skip_on_a_busy_machine(report)
    second, again = compile_tuned(model, "second.so", tmp_path / "cache", "--threads", threads)
    assert again["tuning"]["measured"] == 0 and again["tuning"]["remembered"] == report["tuning"]["measured"]
    third, _ = compile_tuned(model, "third.so", tmp_path / "cache", "--threads", threads)
    assert first.read_bytes() == second.read_bytes() == third.read_bytes()
    assert call_json("check", first)["ok"] and call_json("check", second)["ok"]


def test_the_table_says_what_was_measured_where_and_when(model, tmp_path):
    before = int(1000 * time.time())
    report = compile_tuned(model, "model.so", tmp_path / "cache", "--threads", 1)[1]
    skip_on_a_busy_machine(report)
    report = report["tuning"]
    rows = read_costs(
        tmp_path / "cache", "machine, kind, backend, device, threads, precision, length(digest), code"
    )
    kernels = [row for row in rows if row[1] == "kernel"]
    assert len(kernels) == report["measured"] and len(set(kernels)) == 1
    kinds = {"kernel", "plan", "part", "node"}
    assert {row[1] for row in rows} == kinds, "whole plans are compared, and their parts"
    machine, *rest, code = kernels[0]
    assert f"{os.cpu_count()} cores" in machine and re.fullmatch("[0-9a-f]{16}", code)
    assert rest == ["kernel", "halide", "cpu", 1, "f32", 32]
    for nanoseconds, spread, probe, at in read_costs(tmp_path / "cache", "nanoseconds, spread, probe_ns, at"):
        assert nanoseconds > 0 and spread >= 0 and probe > 0 and before <= at <= 1000 * time.time()


def test_full_measures_more_than_fast(model, tmp_path):
    _, fast = compile_tuned(model, "fast.so", tmp_path / "cache")
    skip_on_a_busy_machine(fast)
    probes = read_costs(tmp_path / "cache", "probe_ns")
    program, full = compile_tuned(model, "full.so", tmp_path / "cache", "--tune", "full")
    assert full["tuning"]["measured"] > 0
    if agree(probes + read_costs(tmp_path / "cache", "probe_ns")):
        assert full["tuning"]["remembered"] == fast["tuning"]["measured"]
    assert call_json("check", program)["ok"]


def test_off_and_another_cpu_choose_by_formula(model, tmp_path):
    _, report = compile_tuned(model, "off.so", tmp_path / "cache", "--tune", "off")
    assert report["tuning"] == {
        "measured": 0,
        "remembered": 0,
        "disturbed": 0,
        "disturbed_boundaries": 0,
        "untimed": 0,
        "imported": None,
        "disabled_reason": "--tune off",
        "warning": None,
    }
    assert (
        "chosen by formula: --tune off"
        in call("compile", model, "-o", tmp_path / "off.so", "--tune", "off").stdout
    )
    assert not (tmp_path / "cache" / "costs.sqlite").exists()
    cores = os.cpu_count()
    program, report = compile_tuned(model, "wide.so", tmp_path / "cache", "--threads", 2 * cores)
    assert report["tuning"]["disabled_reason"] == f"{2 * cores} threads, this machine has {cores} cores"
    call("run", program)
    assert f"this machine has {cores} cores" in error_of("run", program, "--threads", cores + 1, status=2)


def test_no_time_is_not_an_error(model, tmp_path):
    program, report = compile_tuned(model, "quick.so", tmp_path / "cache", "--tune-seconds", "1e-9")
    assert report["tuning"]["measured"] == 0
    assert call_json("check", program)["ok"]


def test_exact_math_keeps_the_size_of_weights(model, tmp_path):
    _, report = compile_tuned(model, "exact.so", tmp_path / "cache", "--math", "exact", "--tune", "full")
    assert report["constants_bytes"] <= 1.1 * report["model_weights_bytes"]


def test_a_problem_with_the_database_is_a_warning(model, tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "costs.sqlite").write_bytes(b"no database" * 1000)
    assert "damaged" in compile_tuned(model, "damaged.so", cache)[1]["tuning"]["warning"]
    assert compile_tuned(model, "again.so", cache)[1]["tuning"]["warning"] is None
    file = tmp_path / "file"
    file.write_text("in the way")
    assert "--cache" in compile_tuned(model, "nowhere.so", file)[1]["tuning"]["warning"]
    assert file.read_text() == "in the way"


def test_two_compiles_at_once(model, tmp_path):
    commands = [
        [INTARSIA, "compile", model, "-o", tmp_path / f"{i}.so", "--cache", tmp_path / "cache"]
        for i in range(2)
    ]
    running = [
        subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for command in commands
    ]
    for process in running:
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0
        assert all(line.startswith(b"progress: ") for line in errors.splitlines()), errors
    then = compile_tuned(model, "then.so", tmp_path / "cache")[1]
    assert then["tuning"]["warning"] is None
    skip_on_a_busy_machine(then)  # the two disturbed each other, and kept no times
    assert compile_tuned(model, "again.so", tmp_path / "cache")[1]["tuning"]["measured"] == 0


def test_interrupted_tuning_loses_nothing(model, tmp_path):
    _, report = compile_tuned(model, "known.so", tmp_path / "cache")
    kill_at_first_file(
        tmp_path / "temporary",
        "compile",
        model,
        "-o",
        tmp_path / "cut.so",
        "--cache",
        tmp_path / "cache",
        "--tune",
        "full",
    )
    again = compile_tuned(model, "again.so", tmp_path / "cache")[1]["tuning"]
    assert again["warning"] is None
    assert not [name for name in os.listdir(tmp_path) if name.startswith("cut")]
    skip_on_a_busy_machine(report)
    probes = read_costs(tmp_path / "cache", "probe_ns")
    if agree(probes):
        assert again["measured"] == 0 and again["remembered"] == report["tuning"]["measured"]
