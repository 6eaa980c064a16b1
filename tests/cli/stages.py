"""Programs with stages on the command line: cut by hand or by the planner, told, saved in plans, and refused.

Covers: cli/commands/ compile.cc
src/api/ read_request.cc
src/report/ report.cc explain_text.cc
"""

import json
import os
import pathlib
import subprocess

import numpy as np
import pytest
from cli_models import INTARSIA, TensorProto, call, call_json, error_of, helper, save, save_small

FLOAT = TensorProto.FLOAT
SIZE, LAYERS = 64, 6
THROUGHPUT = ("--objective", "throughput")
PLAN_WORKLOAD = pathlib.Path(INTARSIA).parent / "plan_workload"
CORES = ("-d", "cpu:0,cpu:1")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Products in a row; the last also reads the first (it skips stages), and v2 leaves early."""
    random = np.random.default_rng(1)
    nodes = [
        helper.make_node("MatMul", [f"v{i}", f"w{i}"], [f"v{i + 1}"], f"product{i}") for i in range(LAYERS)
    ]
    nodes.append(helper.make_node("Add", [f"v{LAYERS}", "v1"], ["y"], "sum"))
    return save(
        tmp_path_factory.mktemp("products") / "model.onnx",
        nodes,
        [("v0", FLOAT, [32, SIZE])],
        [("y", FLOAT, [32, SIZE]), ("v2", FLOAT, [32, SIZE])],
        [(f"w{i}", (random.standard_normal((SIZE, SIZE)) / 8).astype(np.float32)) for i in range(LAYERS)],
    )


def compile_json(model, folder, *options):
    return call_json(
        "compile", model, "-o", folder / "p.so", "--cache", folder / "cache", *THROUGHPUT, *options
    )


def names_of(report, stage):
    return [name for region in stage["regions"] for name in report["regions"][region]["source_nodes"]]


@pytest.mark.parametrize(
    "options", [(), ("--threads", "2"), ("--cut", "v3"), ("--cut", "v2", "--cut", "v3", "--cut", "v4")]
)
def test_the_default_is_all_cores(model, tmp_path, options):
    """Each an executor; those of a few cores are pinned to these."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    for held in (cores, cores[:1]):
        command = (
            "compile",
            model,
            "-o",
            tmp_path / "p.so",
            *THROUGHPUT,
            "--tune",
            "off",
            "--json",
            *options,
        )
        report = json.loads(call(*command, preexec_fn=lambda: os.sched_setaffinity(0, held)).stdout)
        each = len(held) == 2 and len(options) < 3 and "--threads" not in options
        names = [slot["device"] for slot in report["slots"]]
        assert names == ([f"cpu:{core}" for core in held] if each else ["cpu"])
        assert report["threads"] == (2 if "--threads" in options else 1 if each else len(held))
        frames = json.loads(
            call(
                "run",
                tmp_path / "p.so",
                "--pipeline",
                "--runs",
                5,
                "--json",
                preexec_fn=lambda: os.sched_setaffinity(0, held),
            ).stdout
        )
        assert frames["errors"] == 0


def test_by_hand(model, tmp_path):
    report = compile_json(model, tmp_path, *CORES, "--tune", "off", "--cut", "v3")
    first, second = report["stages"]
    assert names_of(report, first) == ["product0", "product1", "product2"]
    assert first["executors"] == ["cpu:0"] and second["executors"] == ["cpu:1"]
    assert first["inputs"] == ["v0"] and sorted(first["outputs"]) == ["v1", "v2", "v3"]
    assert sorted(second["inputs"]) == ["v1", "v3"] and second["outputs"] == ["y"]
    assert report["throughput"]["chosen"] == "cut by hand"
    assert call_json("check", tmp_path / "p.so")["ok"], "the program is still a whole"
    told = call_json("explain", tmp_path / "p.so")["stages"]
    assert [stage["outputs"] for stage in told] == [first["outputs"], second["outputs"]]
    assert "Stages of a pipeline:" in call("explain", tmp_path / "p.so").stdout


def test_constants_are_there_once(model, tmp_path):
    whole = call_json("compile", model, "-o", tmp_path / "whole.so", "--tune", "off")
    staged = compile_json(model, tmp_path, "--tune", "off", "--cut", "v2", "--cut", "v4")
    assert staged["constants_bytes"] == whole["constants_bytes"] and len(staged["stages"]) == 3


def test_the_planner_balances_by_measured_times(model, tmp_path):
    report = compile_json(model, tmp_path, *CORES, "--stages", "2")
    throughput = report["throughput"]
    assert len(report["stages"]) == 2 and throughput["guessed_reason"] is None
    for stage in report["stages"]:
        assert stage["predicted_ms"] > 0 and stage["measured_ms"] > 0
        assert 1 <= len([name for name in names_of(report, stage) if "product" in name]) < LAYERS
    assert throughput["predicted_ms"] == max(stage["predicted_ms"] for stage in report["stages"])
    assert 0 < throughput["bound_ms"] <= 1.001 * throughput["predicted_ms"]
    assert call_json("check", tmp_path / "p.so")["ok"]


def test_the_planner_chooses_and_says_why(model, tmp_path):
    report = compile_json(model, tmp_path, *CORES, "--tune", "off")
    throughput = report["throughput"]
    compared = {one["name"]: one["predicted_ms"] for one in throughput["compared"]}
    assert set(compared) == {"2 replicas of the whole: cpu:0, cpu:1", "2 stages: cpu:0 | cpu:1"}
    assert throughput["chosen"] in compared and throughput["guessed_reason"] == "--tune off"
    assert compared[throughput["chosen"]] <= 1.03 * min(compared.values())
    assert sum(len(stage["executors"]) for stage in report["stages"]) == 2
    text = call("compile", model, "-o", tmp_path / "p.so", *CORES, *THROUGHPUT, "--tune", "off").stdout
    assert f"pipeline  {throughput['chosen']}: a frame every" in text and "compared  2 stages" in text


def test_one_executor_is_one_stage(model, tmp_path):
    report = compile_json(model, tmp_path, "-d", "cpu:0", "--tune", "off")
    assert [stage["executors"] for stage in report["stages"]] == [["cpu:0"]]
    assert report["throughput"]["chosen"] == "the whole on cpu:0"


def test_unlike_executors_by_the_solver_of_plan_workload(tmp_path):
    """A core and a device with declared times: what compile finds is what plan_workload finds for the same times."""
    size = 256
    weight = np.eye(size, dtype=np.float32)
    model = save(
        tmp_path / "model.onnx",
        [helper.make_node("MatMul", [f"v{i}", "w"], [f"v{i + 1}"], f"product{i}") for i in range(LAYERS)],
        [("v0", FLOAT, [size, size])],
        [(f"v{LAYERS}", FLOAT, [size, size])],
        [("w", weight)],
    )
    times = tmp_path / "times.json"
    times.write_text(json.dumps({"default": 700, "link": {"latency_us": 0, "gbps": 100000}}))
    report = compile_json(model, tmp_path, "-d", f"cpu:0,accel=sim:0?times={times}", "--backends", "halide")
    parts = report["segments"]
    workload = {
        "maxFPGAs": 1,
        "maxSizePerFPGA": 1,
        "maxCPUs": 1,
        "nodes": [
            {
                "id": i,
                "supportedOnFpga": True,
                "fpgaLatency": part["ms"]["halide@accel"],
                "cpuLatency": part["ms"]["halide@cpu:0"],
                "size": 0,
            }
            for i, part in enumerate(parts)
        ],
        "edges": [{"sourceId": i, "destId": i + 1, "cost": 0} for i in range(len(parts) - 1)],
    }
    file = tmp_path / "workload.json"
    file.write_text(json.dumps(workload))
    solved = subprocess.run([PLAN_WORKLOAD, file, "--json"], capture_output=True, text=True, check=True)
    [compared] = report["throughput"]["compared"]  # by these times, before the stages were timed
    # Transfers of 256 KiB there and back, which the workload leaves out, take 5 to 25 us.
    assert compared["predicted_ms"] == pytest.approx(
        json.loads(solved.stdout)["max_load"], rel=0.02, abs=0.03
    )


def test_a_plan_file_carries_stages(model, tmp_path):
    plan = tmp_path / "plan.json"
    first = compile_json(model, tmp_path, *CORES, "--tune", "off", "--cut", "v2", "--save-plan", plan)
    saved = json.loads(plan.read_text())["functions"]["main"]["stages"]
    assert [stage["executors"] for stage in saved] == [["cpu:0"], ["cpu:1"]]
    again = compile_json(model, tmp_path, *CORES, "--plan", plan)
    assert again["stages"] == [
        {**stage, "predicted_ms": None, "measured_ms": None} for stage in first["stages"]
    ]
    call("compile", model, "-o", tmp_path / "q.so", *CORES, "--plan", plan)
    assert len(call_json("explain", tmp_path / "q.so")["stages"]) == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--stages", "2"), "--stages 2: a program for latency has no stages; add --objective throughput"),
        (("--cut", "v2"), "--cut v2: a program for latency has no stages; add --objective throughput"),
        ((*THROUGHPUT, "--stages", "0"), "--stages 0: want auto, or a number from 1 to 1024"),
        ((*THROUGHPUT, "--stages", "many"), "--stages many: want auto, or a number"),
        ((*THROUGHPUT, "--stages", "2", "--cut", "v2"), "--stages 2 and --cut v2 both say how many"),
        ((*THROUGHPUT, "--cut", "v2", "--plan", "p.json"), "--plan and --cut both say where stages end"),
        ((*THROUGHPUT, "--cut", "nothing"), "--cut nothing: the model has no such value"),
        ((*THROUGHPUT, "--cut", "v0"), "--cut v0: it is an input of the model"),
        ((*THROUGHPUT, "--cut", "w1"), "--cut w1: it is a constant of the model"),
        ((*THROUGHPUT, "--cut", "y"), "--cut y: it cuts nothing off"),
        ((*THROUGHPUT, "--cut", "v2", "--cut", "v2"), "all before it is before --cut v2, too"),
        ((*THROUGHPUT, *CORES, "--cut", "v1", "--cut", "v2"), "3 stages for 2 slots (cpu:0, cpu:1)"),
        ((*THROUGHPUT, *CORES, "--stages", "3"), "--stages 3: at most 2 executors work at once"),
    ],
)
def test_bad_demands(model, tmp_path, options, words):
    done = call(
        "compile", model, "-o", tmp_path / "p.so", "--tune", "off", *options,
        status=2,
    )  # fmt: skip
    assert words in done.stderr and not (tmp_path / "p.so").exists()


def test_more_stages_than_parts(tmp_path):
    model = save_small(tmp_path / "model.onnx")
    executors = ",".join(f"cpu:{i}" for i in range(30))
    message = error_of(
        "compile", model, "-o", tmp_path / "p.so", "--tune", "off", *THROUGHPUT, "-d", executors,
        "--stages", "30", status=2,
    )  # fmt: skip
    assert "--stages 30: the model has" in message and "parts that can be apart" in message
