"""Pipelines on the command line: stages of a JSON file, their report and their trace.

Covers: cli/ run_pipeline.cc pipeline_page.cc pipeline_trace.cc outputs.cc
"""

import json

import numpy as np
import pytest
from cli_models import TensorProto, call, call_json, error_of, helper, save


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """p.so: y = x + 1 of four floats; pipeline.json: two of it."""
    folder = tmp_path_factory.mktemp("pipelines")
    model = save(
        folder / "model.onnx",
        [helper.make_node("Add", ["x", "one"], ["y"], "add")],
        [("x", TensorProto.FLOAT, [4])],
        [("y", TensorProto.FLOAT, [4])],
        [("one", np.ones(4, np.float32))],
    )
    call("compile", model, "-o", folder / "p.so", "--backends", "halide")
    (folder / "pipeline.json").write_text(
        json.dumps(
            {
                "intarsia_pipeline": 1,
                "stages": [
                    {"name": "first", "program": "p.so"},
                    {"name": "second", "program": "p.so", "replicas": [{}]},
                ],
                "connections": [["first.y", "second.x"]],
            }
        )
    )
    return folder


def test_run_reports_frames_stages_and_latency(folder):
    np.save(folder / "x.npy", np.arange(4, dtype=np.float32))
    report = call_json(
        "run",
        "--pipeline",
        folder / "pipeline.json",
        "--runs",
        50,
        "-i",
        f"x={folder / 'x.npy'}",
        "-o",
        folder / "out",
    )
    assert (report["frames"], report["errors"]) == (50, 0)
    assert report["frames_per_second"] == pytest.approx(50 / report["seconds"])
    assert report["latency_ms"]["min"] <= report["latency_ms"]["median"] <= report["latency_ms"]["max"]
    assert [(stage["name"], stage["replicas"], stage["frames"]) for stage in report["stages"]] == [
        ("first", 1, 50),
        ("second", 2, 50),
    ]
    np.testing.assert_array_equal(np.load(report["outputs"][0]["file"]), np.arange(4, dtype=np.float32) + 2)


def test_run_prints_a_table(folder):
    text = call("run", "--pipeline", folder / "pipeline.json", "--runs", 3).stdout
    assert "output y: f32[4] = " in text
    assert "3 frames in" in text and "frames/s; latency" in text
    assert text.count("\n") == 6


def test_the_trace_has_a_row_per_replica_and_an_arrow_per_frame(folder):
    trace = folder / "trace.json"
    call("run", "--pipeline", folder / "pipeline.json", "--runs", 20, "--trace", trace)
    events = json.loads(trace.read_text())["traceEvents"]
    rows = {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
    assert set(rows.values()) <= {"first", "second", "second #2"} and len(rows) >= 2
    slices = [event for event in events if event["ph"] == "X"]
    assert len(slices) == 40
    starts = {event["id"]: event for event in events if event["ph"] == "s"}
    steps = {event["id"]: event for event in events if event["ph"] == "t"}
    assert set(starts) == set(steps) == set(range(20))
    for frame in range(20):
        assert rows[starts[frame]["tid"]] == "first"
        assert starts[frame]["ts"] <= steps[frame]["ts"]


def test_the_page_shows_each_stage_over_time(folder):
    page = folder / "page.html"
    call("run", "--pipeline", folder / "pipeline.json", "--runs", 100, "--html", page)
    text = page.read_text()
    assert "<h2>Frames 38 to 61</h2>" in text
    assert text.count(">38</i>") == text.count(">61</i>") == 2, "a box in each stage"
    assert "http" not in text, "it needs no other file"
    assert "--html requires --pipeline" in error_of("run", folder / "p.so", "--html", page, status=2)


def test_without_a_file_the_stages_of_the_program_run(folder):
    call(
        "compile", folder / "model.onnx", "-o", folder / "s.so", "--objective", "throughput", "--tune", "off"
    )
    for options in ([folder / "s.so", "--pipeline"], ["--pipeline", folder / "of.json"]):
        (folder / "of.json").write_text('{"intarsia_pipeline": 1, "stages": [{"stages_of": "s.so"}]}')
        report = call_json("run", *options, "--runs", 5)
        assert report["stages"][0]["name"] == "stage0" and report["frames"] == 5


def test_mistakes_are_one_line(folder):
    pipeline = folder / "pipeline.json"
    assert "leave out" in error_of("run", folder / "p.so", "--pipeline", pipeline, status=2)
    assert "want a program, or --pipeline" in error_of("run", status=2)
    assert "nowhere.json" in error_of("run", "--pipeline", folder / "nowhere.json")
    assert "no input 'z'" in error_of("run", "--pipeline", pipeline, "-i", f"z={folder / 'x.npy'}", status=2)
    bad = folder / "bad.json"
    bad.write_text('{"intarsia_pipeline": 1, "stages": [{"name": "a", "program": "model.onnx"}]}')
    assert "model.onnx" in error_of("run", "--pipeline", bad)
