"""intarsia bench: alone, against other runtimes, and used wrongly.

Covers: cli/commands/ bench.cc bench_latency.cc bench_work.cc contender.cc latency_contender.cc
cli/system/ worker.cc
backends/openvino/ opened_model.cc library.cc
src/measure/ time_programs.cc
registry/ peers.cc
"""

import os
import pathlib
import signal
import subprocess

import pytest
from cli_models import INTARSIA, call, call_json, compile_small, error_of, save_relu, save_small

PEERS = ["onnxruntime", "openvino"]
QUICK = ("-t", "0.1")


def check_times(result):
    assert 0 < result["min_ms"] <= result["median_ms"] <= result["p99_ms"]
    assert 0 < result["cpu_ms"] and result["throughput_per_s"] > 0 and result["peak_rss_mb"] > 1
    assert result["rounds"] >= 3 and result["runs"] >= 10 * result["rounds"]


def test_only_a_model(tmp_path):
    report = call_json("bench", save_small(tmp_path / "small.onnx"), *QUICK)
    assert report["mode"] == "latency" and report["program"] is None
    assert report["threads"] == len(os.sched_getaffinity(0))
    assert report["inputs"] == [
        {"name": "x", "dtype": "f32", "shape": [2, 3, 8, 8], "filled": True, "conversion": None}
    ]
    (result,) = report["results"]
    assert result["runtime"] == "intarsia" and result["outputs"] is None
    check_times(result)
    assert report["best_peer"] is report["ratio_median"] is report["ratio_min"] is None


def test_against_other_runtimes(tmp_path):
    report = call_json("bench", save_small(tmp_path / "small.onnx"), "--against", ",".join(PEERS), *QUICK)
    assert [result["runtime"] for result in report["results"]] == ["intarsia", *PEERS]
    ours, *others = report["results"]
    for result in others:
        check_times(result)
        (output,) = result["outputs"]
        assert output["ok"] and output["name"] == "y" and output["max_rel"] < 1e-4
    assert others[1]["configuration"] in ("latency_hint", "one_stream")
    best = min(others, key=lambda result: result["median_ms"])
    assert report["best_peer"] == best["runtime"]
    assert report["ratio_median"] == pytest.approx(best["median_ms"] / ours["median_ms"])


def test_program_with_threads(tmp_path):
    program = compile_small(tmp_path, "--threads", "2")
    report = call_json("bench", program, "--against", "onnxruntime", *QUICK)
    assert (
        report["program"] == str(program)
        and report["model"].endswith("small.onnx")
        and report["threads"] == 2
    )
    assert call_json("bench", program, "--threads", "1", *QUICK)["threads"] == 1


def test_integers_and_lines_for_people(tmp_path):
    text = call(
        "bench",
        save_relu(tmp_path / "neg.onnx", dtype=7, op="Neg"),
        "--against",
        "onnxruntime,openvino",
        *QUICK,
    ).stdout
    assert text.startswith(str(tmp_path / "neg.onnx")) and " times as fast as " in text


@pytest.mark.parametrize("peer", PEERS)
def test_mismatch_is_an_error(tmp_path, peer):
    program = compile_small(tmp_path)
    other = save_small(tmp_path / "other.onnx", scale=2.0)
    report = call_json("bench", program, "--model", other, "--against", peer, *QUICK, status=1)
    assert not report["results"][1]["outputs"][0]["ok"]
    assert f"output 'y' differs from that of {peer}" in error_of(
        "bench", program, "--model", other, "--against", peer, *QUICK
    )


def test_wrong_usage(tmp_path):
    model, program = save_small(tmp_path / "small.onnx"), compile_small(tmp_path)
    many = os.cpu_count() + 1
    assert f"there are {len(os.sched_getaffinity(0))} cores" in error_of(
        "bench", model, "--threads", many, status=2
    )
    error_of("bench", model, "--threads", "0", status=2)
    error_of("bench", model, "-t", "0", status=2)
    assert "not a TensorFlow model" in error_of("bench", model, "--against", "tensorflow", status=1)
    assert "want onnxruntime, openvino or tensorflow" in error_of(
        "bench", model, "--against", "nobody", status=2
    )
    assert "--model" in error_of("bench", model, "--model", model, status=2)
    assert "is already compiled" in error_of("bench", program, "--tune", "off", status=2)


@pytest.mark.parametrize("peer", PEERS)
def test_absent_runtime(tmp_path, peer):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    variable = f"INTARSIA_{peer.upper()}"
    message = error_of(
        "bench",
        save_small(tmp_path / "small.onnx"),
        "--backends",
        "reference",
        "--against",
        peer,
        env={variable: "/nowhere/x.so", "TMPDIR": str(temporary)},
    )
    assert peer in message and f"{variable} is '/nowhere/x.so'" in message
    assert not list(temporary.iterdir())  # a failed bench leaves nothing behind either


def test_a_runtime_that_dies(tmp_path):
    command = [INTARSIA, "bench", save_small(tmp_path / "small.onnx"), "-t", "60"]
    bench = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert any("measuring" in line for line in bench.stderr)  # from the first seconds on
    (worker,) = map(int, pathlib.Path(f"/proc/{bench.pid}/task/{bench.pid}/children").read_text().split())
    os.kill(worker, signal.SIGKILL)
    assert bench.communicate(timeout=60)[1] == "error: intarsia: its process ended by signal 9\n"
    assert bench.returncode == 1


def test_inputs(tmp_path):
    model = save_small(tmp_path / "small.onnx")
    assert "no input 'z'" in error_of("bench", model, "-i", f"z={tmp_path}/z.npy", status=2)
    assert "z.npy" in error_of("bench", model, "-i", f"x={tmp_path}/z.npy")
