"""Pipelines on the command line: stages of a JSON file, their report and their trace.

Covers: cli/ run_pipeline.cc pipeline_page.cc pipeline_trace.cc trace_file.cc outputs.cc
"""

import json

import numpy as np
import pytest
from cli_models import TensorProto, call, call_json, error_of, helper, save
from trace_events import read_trace


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
    text = call("run", "--pipeline", "pipeline.json", "--runs", 3, cwd=folder).stdout
    assert "output y: f32[4] = " in text
    assert "3 frames in" in text and "frames/s; latency" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def check_frames(trace, count, stages):
    """Each stage had each frame once, in one of its replicas, and arrows follow the frame through the stages."""
    for name in stages:
        replicas = [slices for (group, row), slices in trace.rows.items() if row == "frames" and group.split(" #")[0] == name]  # fmt: skip
        frames = sorted(one.args["frame"] for slices in replicas for one in slices)
        assert frames == list(range(count)), name
    assert trace.flows.keys() == set(range(count))
    for number, arrows in trace.flows.items():
        assert [group.split(" #")[0] for _, group, _, _ in arrows] == stages
        assert all(row == "frames" and one.args == {"frame": number} for _, _, row, one in arrows)


def check_kernels(trace):
    """What a session did lies within its stage's slice of that frame; kernels lie in regions."""
    for (group, row), slices in trace.rows.items():
        if row == "frames":
            continue
        spans = {one.args["frame"]: one for one in trace.rows[group, "frames"]}
        if " #" not in row:  # else only what overlapped
            assert {one.args["frame"] for one in slices} == spans.keys()
            assert any(one.category == "kernel" and one.parent.category == "region" for one in slices)
        for one in slices:
            assert one.category in ("region", "kernel", "copy")
            assert spans[one.args["frame"]].begin <= one.begin and one.end <= spans[one.args["frame"]].end


def test_a_trace_has_stages_kernels_and_an_arrow_per_frame(folder):
    path = folder / "trace.json"
    call("run", "--pipeline", folder / "pipeline.json", "--runs", 20, "--trace", path)
    trace = read_trace(path)
    check_frames(trace, 20, ["first", "second"])
    groups = {group for group, _ in trace.rows}
    assert groups <= {"first", "second", "second #2"} and len(groups) >= 2
    assert {row for _, row in trace.rows} == {"frames", "cpu"}
    check_kernels(trace)


def test_a_trace_of_a_program_shows_each_stage_on_its_executor(folder, tmp_path):
    """Stages on a simulated device and on the processor; the device's copies have rows where they overlap."""
    names = [helper.make_node("Add", [f"v{i}", "one"], [f"v{i + 1}"], f"add{i}") for i in range(3)]
    model = save(
        tmp_path / "model.onnx",
        names,
        [("v0", TensorProto.FLOAT, [64])],
        [("v3", TensorProto.FLOAT, [64])],
        [("one", np.ones(64, np.float32))],
    )
    program, path = tmp_path / "p.so", tmp_path / "trace.json"
    cuts = ("--objective", "throughput", "--tune", "off", "--cut", "v1", "--cut", "v2")
    call("compile", model, "-o", program, "-d", "cpu,accel=sim:0,b=cpu", "--backends", "halide", *cuts)
    call("run", program, "--pipeline", "--runs", 10, "--trace", path)
    trace = read_trace(path)
    check_frames(trace, 10, ["stage0", "stage1", "stage2"])
    check_kernels(trace)
    rows = {group: {row.split(" #")[0] for at, row in trace.rows if at == group} for group, _ in trace.rows}
    assert rows == {"stage0": {"frames", "cpu"}, "stage1": {"frames", "sim:0"}, "stage2": {"frames", "cpu"}}
    on_device = [one for (_, row), slices in trace.rows.items() if row.startswith("sim:0") for one in slices]
    assert sum(one.category == "copy" for one in on_device) == 20, "to it and back"


def test_a_lone_stage_has_no_arrows(folder, tmp_path):
    path = tmp_path / "trace.json"
    call("run", folder / "p.so", "--pipeline", "--runs", 3, "--trace", path)
    trace = read_trace(path)
    assert not trace.flows and len(trace.rows["stage0", "frames"]) == 3


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
    assert "want a program or model, or --pipeline" in error_of("run", status=2)
    assert "nowhere.json" in error_of("run", "--pipeline", folder / "nowhere.json")
    assert "no input 'z'" in error_of("run", "--pipeline", pipeline, "-i", f"z={folder / 'x.npy'}", status=2)
    bad = folder / "bad.json"
    bad.write_text('{"intarsia_pipeline": 1, "stages": [{"name": "a", "program": "model.onnx"}]}')
    assert "model.onnx" in error_of("run", "--pipeline", bad)
