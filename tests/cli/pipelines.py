"""Pipelines on the command line: stages of a JSON file, their report and their trace.

Covers: cli/commands/ run_pipeline.cc
cli/inputs/ frame_source.cc input_folder.cc
cli/results/ pipeline_page.cc pipeline_trace.cc trace_file.cc outputs.cc
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
    call("run", program, "--pipeline", "--runs", 200, "--trace", path)
    trace = read_trace(path)
    check_frames(trace, 200, ["stage0", "stage1", "stage2"])
    check_kernels(trace)
    rows = {group: {row.split(" #")[0] for at, row in trace.rows if at == group} for group, _ in trace.rows}
    on_sim = {"frames", "sim:0"}
    host, device = {"frames", "cpu"}, {"stage1": on_sim, "stage1 #2": on_sim}
    assert rows == {"stage0": host, "stage2": host} | device, "a device has two frames at a time"
    on_device = [one for (_, row), slices in trace.rows.items() if row.startswith("sim:0") for one in slices]
    assert sum(one.category == "copy" for one in on_device) == 400, "to it and back"


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


@pytest.fixture
def frames(tmp_path):
    """frame1.npy ... frame12.npy, of which each is all its number; and what is no input."""
    made = tmp_path / "frames"
    made.mkdir()
    for i in range(1, 13):
        np.save(made / f"frame{i}.npy", np.full(4, i, np.float32))
    (made / "notes.txt").write_text("of a walk")
    return made


def test_each_file_of_a_folder_is_a_frame(folder, frames, tmp_path):
    report = call_json(
        "run", "--pipeline", folder / "pipeline.json", "-i", f"x={frames}", "-o", tmp_path / "out"
    )
    assert (report["frames"], report["errors"], report["dropped"]) == (12, 0, 0)
    assert report["left_out"] == ["notes.txt"]
    for i, result in enumerate(report["results"]):
        assert (result["frame"], result["source"], result["error"]) == (i, f"frame{i + 1}.npy", None)
        (output,) = result["outputs"]
        assert output["file"] == str(tmp_path / "out" / f"frame{i + 1}.npy" / "y.npy")
        np.testing.assert_array_equal(np.load(output["file"]), np.full(4, i + 3, np.float32))
    report = call_json("run", "--pipeline", folder / "pipeline.json", "-i", frames, "--runs", 14)
    assert [result["source"] for result in report["results"][-2:]] == ["frame1.npy", "frame2.npy"]
    text = call("run", "--pipeline", folder / "pipeline.json", "-i", frames).stdout
    assert "12 frames in" in text and "left out, since they are no inputs: notes.txt" in text


def test_each_row_of_a_stack_is_a_frame(folder, tmp_path):
    stack = np.arange(20, dtype=np.float32).reshape(5, 4)
    np.save(tmp_path / "stack.npy", stack)
    report = call_json(
        "run", "--pipeline", folder / "pipeline.json", "-i", tmp_path / "stack.npy", "-o", tmp_path / "out"
    )
    assert report["frames"] == 5 and report["inputs"][0]["shape"] == [5, 4]
    for i, result in enumerate(report["results"]):
        assert result["source"] == str(i) and result["latency_ms"] > 0
        np.testing.assert_array_equal(np.load(tmp_path / "out" / str(i) / "y.npy"), stack[i] + 2)
    np.save(tmp_path / "empty.npy", stack[:0])
    assert "has no frame" in error_of(
        "run", "--pipeline", folder / "pipeline.json", "-i", tmp_path / "empty.npy"
    )


@pytest.fixture
def pairs(tmp_path):
    """y = a + b, of one row of two numbers each."""
    model = save(
        tmp_path / "pairs.onnx",
        [helper.make_node("Add", ["a", "b"], ["y"], "add")],
        [("a", TensorProto.FLOAT, [1, 2]), ("b", TensorProto.FLOAT, [1, 2])],
        [("y", TensorProto.FLOAT, [1, 2])],
    )
    call("compile", model, "-o", tmp_path / "pairs.so", "--backends", "halide")
    return tmp_path / "pairs.so"


def test_rows_of_an_input_of_one_row_are_frames(pairs, tmp_path):
    """What is no stack is the same for all."""
    a, b, c = tmp_path / "a.npy", tmp_path / "b.npy", tmp_path / "c.npy"
    np.save(a, np.arange(6, dtype=np.float32).reshape(3, 2))
    np.save(b, np.ones((1, 2), np.float32))
    np.save(c, np.ones((4, 2), np.float32))
    report = call_json("run", pairs, "--pipeline", "-i", f"a={a}", "-i", f"b={b}", "-o", tmp_path / "out")
    assert [result["source"] for result in report["results"]] == ["0", "1", "2"]
    np.testing.assert_array_equal(np.load(tmp_path / "out/2/y.npy"), [[5, 6]])
    error = error_of("run", pairs, "--pipeline", "-i", f"a={a}", "-i", f"b={c}")
    assert "input 'a' has 3 frames, 'b' 4: want equally many" in error


def test_a_frame_that_cannot_be_read_ends_the_run(folder, frames):
    (frames / "frame5.npy").write_bytes(b"nonsense")
    assert "frame5.npy" in error_of("run", "--pipeline", folder / "pipeline.json", "-i", frames)


def test_frames_come_at_a_rate(folder):
    report = call_json("run", "--pipeline", folder / "pipeline.json", "--runs", 20, "--rate", 100)
    assert report["seconds"] >= 0.19 and report["latency_ms"]["median"] < 100
    assert "--rate requires --pipeline" in error_of("run", folder / "p.so", "--rate", 30, status=2)


def test_dropped_frames_are_told_and_no_failure(folder):
    """A camera that is faster than the stages."""
    path = folder / "live.json"
    pipeline = json.loads((folder / "pipeline.json").read_text())
    path.write_text(json.dumps({**pipeline, "queue": "latest", "deadline_ms": 1e6}))
    np.save(folder / "stack.npy", np.zeros((2000, 4), np.float32))
    report = call_json("run", "--pipeline", path, "-i", folder / "stack.npy")
    dropped = [result for result in report["results"] if result["error"] is not None]
    assert report["errors"] == 0 and 0 < report["dropped"] == len(dropped) < 2000
    assert all("dropped before" in result["error"] for result in dropped)
    assert "dropped" in call("run", "--pipeline", path, "-i", folder / "stack.npy").stdout


def test_times_are_histograms(folder):
    report = call_json("run", "--pipeline", folder / "pipeline.json", "--runs", 200)
    for stage in report["stages"]:
        assert sum(count for _, _, count in stage["run_times"]) == stage["frames"] == 200
        assert sum(count for _, _, count in stage["wait_times"]) == 200 and stage["dropped"] == 0
        assert all(start < end for start, end, _ in stage["run_times"])
    latency = report["latency_times"]
    assert sum(count for _, _, count in latency) == 200
    assert latency[0][0] <= report["latency_ms"]["min"] and report["latency_ms"]["max"] < latency[-1][1]


def test_items_of_a_frame_by_a_file_alone(tmp_path):
    """Three rows, each through two replicas of a program of one row, and all together through the first again."""
    for name, rows in (("all", 3), ("one", 1)):
        model = save(
            tmp_path / f"{name}.onnx",
            [helper.make_node("Add", ["x", "x"], ["y"], "twice")],
            [("x", TensorProto.FLOAT, [rows, 4])],
            [("y", TensorProto.FLOAT, [rows, 4])],
        )
        call("compile", model, "-o", tmp_path / f"{name}.so", "--backends", "halide")
    stages = [
        {"name": "detect", "program": "all.so", "scatter": ["y"]},
        {"name": "classify", "program": "one.so", "replicas": [{}]},
        {"name": "draw", "program": "all.so", "gather": True},
    ]
    connections = [["detect.y", "classify.x"], ["classify.y", "draw.x"]]
    file = tmp_path / "items.json"
    file.write_text(json.dumps({"intarsia_pipeline": 1, "stages": stages, "connections": connections}))
    np.save(tmp_path / "x.npy", np.arange(12, dtype=np.float32).reshape(3, 4))
    trace, page = tmp_path / "trace.json", tmp_path / "page.html"
    options = ("--runs", 10, "-i", tmp_path / "x.npy", "-o", tmp_path, "--trace", trace, "--html", page)
    report = call_json("run", "--pipeline", file, *options)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), 8 * np.load(tmp_path / "x.npy"))
    frames = {stage["name"]: stage["frames"] for stage in report["stages"]}
    runs = {stage["name"]: sum(count for _, _, count in stage["run_times"]) for stage in report["stages"]}
    assert frames == {"detect": 10, "classify": 10, "draw": 10}
    assert runs == {"detect": 10, "classify": 30, "draw": 10}
    slices = [one for (group, row), all in read_trace(trace).rows.items() if row == "frames" for one in all]
    assert len(slices) == 50 and "<h2>Frames" in page.read_text()
    stages[1]["scatter"] = ["y"]
    file.write_text(json.dumps({"intarsia_pipeline": 1, "stages": stages, "connections": connections}))
    assert "cannot be scattered again; gather before" in error_of("run", "--pipeline", file, status=2)
