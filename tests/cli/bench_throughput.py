"""intarsia bench --mode throughput: stages, replicas of the whole and other runtimes, in turn, and used wrongly.

Covers: cli/commands/ bench_throughput.cc bench_work.cc frame_stream.cc push_frame.cc throughput_contender.cc
"""

import os

import numpy as np
import pytest
from cli_models import TensorProto, call, call_json, error_of, helper, save, save_small

FIRST, LAST = (sorted(os.sched_getaffinity(0))[i] for i in (0, -1))
CORES = ("-d", f"a=cpu:{FIRST},b=cpu:{LAST}")
QUICK = ("--mode", "throughput", "-t", "0.2")
UNTUNED = ("--tune", "off", "--backends", "halide")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """y = x times w four times; v2 leaves in the middle."""
    weights = (np.random.default_rng(1).standard_normal((64, 64)) / 8).astype(np.float32)
    return save(
        tmp_path_factory.mktemp("products") / "model.onnx",
        [helper.make_node("MatMul", [f"v{i}", "w"], [f"v{i + 1}"], f"product{i}") for i in range(4)],
        [("v0", TensorProto.FLOAT, [32, 64])],
        [("v4", TensorProto.FLOAT, [32, 64]), ("v2", TensorProto.FLOAT, [32, 64])],
        [("w", weights)],
    )


def check_result(result):
    latency = result["latency_ms"]
    assert 0 < latency["p50"] <= latency["p90"] <= latency["p99"]
    assert result["frames_per_second"] > 0 and result["cpu_ms_per_frame"] > 0 and result["peak_rss_mb"] > 1
    assert result["rounds"] >= 3 and result["frames"] >= 4 * result["lanes"]


def test_stages_replicas_and_peers_run_in_turn(model):
    report = call_json(
        "bench", model, *QUICK, *UNTUNED, *CORES, "--cut", "v2", "--against", "onnxruntime,openvino"
    )
    assert report["mode"] == "throughput" and report["plan"]["chosen"] == "cut by hand"
    names = [(result["runtime"], result["configuration"]) for result in report["results"]]
    assert names == [
        ("intarsia", "stages"),
        ("intarsia", "replicas"),
        ("onnxruntime", "throughput"),
        ("openvino", "throughput"),
    ]
    for result in report["results"]:
        check_result(result)
    stages, replicas, onnxruntime, openvino = report["results"]
    assert [stage["replicas"] for stage in stages["stages"]] == [1, 1]
    assert [stage["replicas"] for stage in replicas["stages"]] == [2] and replicas["lanes"] == 2
    assert onnxruntime["lanes"] == report["cores"] == len(os.sched_getaffinity(0))
    for other in (replicas, onnxruntime, openvino):
        assert [output["name"] for output in other["outputs"]] == ["v4", "v2"], "in the model's order"
        assert all(output["ok"] for output in other["outputs"])
    best = max((onnxruntime, openvino), key=lambda result: result["frames_per_second"])
    assert report["best_peer"] == best["runtime"]
    assert report["ratio"] == pytest.approx(stages["frames_per_second"] / best["frames_per_second"])
    ours = max(result["frames_per_second"] for result in (stages, replicas))
    assert report["ratio_to_ours"] == pytest.approx(stages["frames_per_second"] / ours)


def test_a_model_takes_all_cores_by_default(model):
    report = call_json("bench", model, *QUICK, *UNTUNED, "--stages", "1")
    [whole] = report["results"]
    assert whole["configuration"] == "replicas" and whole["lanes"] == len(os.sched_getaffinity(0))
    assert report["best_peer"] is None and report["ratio"] is None


def test_of_a_program_its_stages_and_the_whole_on_each_device(model, tmp_path):
    staged, plain = tmp_path / "staged.so", tmp_path / "plain.so"
    call("compile", model, "-o", staged, *UNTUNED, *CORES, "--objective", "throughput", "--cut", "v2")
    call("compile", model, "-o", plain, *UNTUNED)
    devices = ("-d", f"cpu:{FIRST},cpu:{LAST}")
    shapes = {}
    for program in (staged, plain):
        for options in ((), devices):
            report = call_json("bench", program, *QUICK, *options)
            assert report["program"] == str(program) and report["plan"] is None
            shapes[program, options] = [[s["replicas"] for s in r["stages"]] for r in report["results"]]
    assert shapes[staged, ()] == [[1, 1]] and shapes[staged, devices] == [[1, 1], [2]]
    assert shapes[plain, ()] == [[1]] and shapes[plain, devices] == [[2]]


def test_the_table_fits_a_terminal(model):
    text = call("bench", model, *QUICK, *UNTUNED, *CORES, "--cut", "v2", "--against", "onnxruntime").stdout
    assert "frames/s" in text and "intarsia, 2 stages" in text and "intarsia, 2 of the whole" in text
    assert "times the frames per second of onnxruntime" in text
    assert all(len(line) <= 80 for line in text.splitlines()[1:])


def test_a_difference_is_an_error(model, tmp_path):
    program = tmp_path / "small.so"
    call("compile", save_small(tmp_path / "small.onnx"), "-o", program, *UNTUNED)
    other = save_small(tmp_path / "other.onnx", scale=2.0)
    options = (program, "--model", other, *QUICK, "--against", "onnxruntime")
    assert not call_json("bench", *options, status=1)["results"][1]["outputs"][0]["ok"]
    assert "output 'y' differs from that of onnxruntime" in error_of("bench", *options)


def test_wrong_usage(model):
    refused = {
        ("--against", "tensorflow"): "--mode throughput takes onnxruntime and openvino",
        ("--profile",): "want --mode latency",
        ("--objective", "latency"): "leave out --objective",
    }
    for options, message in refused.items():
        assert message in error_of("bench", model, *QUICK, *options, status=2)
    assert "nonsense" in error_of("bench", model, "--mode", "nonsense", status=2)
