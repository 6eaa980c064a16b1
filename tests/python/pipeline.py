"""Pipelines from Python: functions and programs as stages, in order, with errors on their frames.

Covers: bindings/python/ pipeline_module.cc bindings/python/intarsia/ pipeline.py feeder.py stage_function.py
"""

import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time
import traceback

import intarsia
import numpy as np
import pytest
from cli_models import TensorProto, helper, save


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """y = relu(x + 1) of four floats."""
    folder = tmp_path_factory.mktemp("pipeline")
    model = save(
        folder / "model.onnx",
        [
            helper.make_node("Add", ["x", "one"], ["sum"], "add"),
            helper.make_node("Relu", ["sum"], ["y"], "relu"),
        ],
        [("x", TensorProto.FLOAT, [4])],
        [("y", TensorProto.FLOAT, [4])],
        [("one", np.ones(4, np.float32))],
    )
    intarsia.compile(model, devices=["cpu"], backends=["halide"]).save(folder / "model.so")
    return folder / "model.so"


def double(image):
    return (2 * image).astype(np.float32)


def builder_of(program):
    return (
        intarsia.PipelineBuilder()
        .add("double", double, inputs=["image"], outputs=["x"])
        .add("net", intarsia.load(program))
    )


def test_frames_come_in_order(program):
    with builder_of(program).start(depth=3) as pipeline:
        assert (pipeline.inputs, pipeline.outputs) == (["image"], ["y"])
        frames = [{"image": np.full(4, i, np.float32)} for i in range(200)]
        results = list(pipeline.run_all(frames, progress=False))
        statistics = {stage.name: stage for stage in pipeline.statistics}
    assert [frame.number for frame in results] == list(range(200))
    for i, frame in enumerate(results):
        np.testing.assert_array_equal(frame.outputs["y"], np.full(4, 2 * i + 1, np.float32))
        assert frame.error is None and frame.latency_ns > 0
    assert statistics["net"].frames == 200 and statistics["double"].errors == 0
    assert statistics["net"].most_queued <= 3


def test_run_all_takes_any_iterator_and_shows_progress(program, capfd):
    with builder_of(program).start() as pipeline:
        frames = ({"image": np.full(4, i, np.float32)} for i in range(5))
        assert sum(1 for _ in pipeline.run_all(frames, progress=True)) == 5
    assert "5frame" in capfd.readouterr().err.replace(" ", "")


def same():
    """A pipeline of one stage that changes nothing."""
    return intarsia.PipelineBuilder().add("same", lambda x: x, inputs=["x"], outputs=["y"])


def feeders():
    return [thread for thread in threading.enumerate() if thread.name == "intarsia-feeder"]


def test_run_all_gives_a_frame_before_the_source_has_the_next():
    left = threading.Semaphore(0)

    def live():
        """Has the next frame only when the last has been handed out."""
        for i in range(5):
            yield {"x": np.array([i])}
            assert left.acquire(timeout=60)

    with same().start() as pipeline:
        for i, frame in enumerate(pipeline.run_all(live(), progress=False)):
            assert frame.number == i and frame.outputs["y"][0] == i
            left.release()
    assert i == 4 and not feeders()


def test_what_a_source_raises_comes_after_its_frames():
    def breaks():
        for i in range(3):
            yield {"x": np.array([i])}
        raise OSError("unplugged")

    numbers = []
    with same().start() as pipeline:
        with pytest.raises(OSError, match="unplugged") as raised:
            for frame in pipeline.run_all(breaks(), progress=False):
                numbers.append(frame.number)
        with pytest.raises(intarsia.InvalidArgumentError, match="no input 'z'"):
            list(pipeline.run_all([{"z": np.array([1])}], progress=False))
    assert numbers == [0, 1, 2] and not feeders()
    assert raised.traceback[-1].name == "breaks"


def test_a_loop_that_ends_early_stops_the_source_and_the_pipeline_goes_on():
    closed = threading.Event()

    def endless():
        try:
            for i in itertools.count():
                yield {"x": np.array([i])}
        finally:
            closed.set()

    with same().start(depth=1) as pipeline:
        for error in (None, KeyboardInterrupt):
            closed.clear()
            frames = pipeline.run_all(endless(), progress=False)
            assert next(frames).outputs["y"][0] == 0
            if error is None:
                frames.close()
            else:
                with pytest.raises(error):
                    frames.throw(error())
            assert closed.wait(60) and not feeders()
        [frame] = pipeline.run_all([{"x": np.array([7])}], progress=False)
        assert frame.outputs["y"][0] == 7  # not one that was left inside


def test_ctrl_c_ends_a_loop_over_a_source_that_waits():
    done = run_python("""
import os, signal, threading, time, intarsia, numpy as np
def live():
    yield {"x": np.zeros(1)}
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    while True:
        time.sleep(0.05)
        if stop: return
stop = False
with intarsia.PipelineBuilder().add("same", lambda x: x, inputs=["x"], outputs=["y"]).start() as pipeline:
    try:
        for frame in pipeline.run_all(live(), progress=False):
            print(frame.number, flush=True)
    except KeyboardInterrupt:
        stop = True
        print("stopped")
""")
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\nstopped\n", "")


def test_an_exception_is_its_frames_error(program):
    def picky(image):
        if image[0] == 1:
            raise ValueError("no ones")
        return image

    builder = intarsia.PipelineBuilder().add("picky", picky, inputs=["image"], outputs=["x"])
    with builder.add("net", intarsia.load(program)).start() as pipeline:
        results = list(pipeline.run_all([{"image": np.full(4, i, np.float32)} for i in range(3)]))
    assert [frame.error is None for frame in results] == [True, False, True]
    assert "frame 1: stage 'picky': ValueError: no ones" in str(results[1].error)
    assert results[1].outputs == {}


class Unplugged(OSError):
    pass


def test_the_cause_of_an_error_is_what_was_raised():
    def fails(x):
        if x[0] == 1:
            try:
                raise KeyError("inner")
            except KeyError as inner:
                raise Unplugged(5, "gone") from inner
        return x

    def stops(x):
        raise KeyboardInterrupt

    builder = intarsia.PipelineBuilder().add("fails", fails, inputs=["x"], outputs=["x"])
    with builder.add("stops", stops, inputs=["x"], outputs=["y"]).start() as pipeline:
        first, second = pipeline.run_all([{"x": np.array([i])} for i in range(2)], progress=False)
    assert type(first.error.__cause__) is KeyboardInterrupt
    cause = second.error.__cause__
    assert type(cause) is Unplugged and cause.errno == 5 and isinstance(cause.__cause__, KeyError)
    assert traceback.extract_tb(cause.__traceback__)[-1].name == "fails"
    with pytest.raises(intarsia.Error) as raised:
        raise second.error
    assert raised.value.__cause__ is cause


def test_causes_do_not_pile_up():
    """Of frames that time out before they fail, too."""

    def late(x):
        time.sleep(0.1)
        raise ValueError("late")

    with intarsia.PipelineBuilder().add("late", late, inputs=["x"], outputs=["y"]).start(timeout=0.05) as p:
        frames = list(p.run_all([{"x": np.array([i])} for i in range(4)], progress=False))
        assert all(isinstance(frame.error, intarsia.TimedOutError) for frame in frames)
        assert len(p._raised._errors) <= 1


def test_what_a_function_gives_must_be_its_outputs():
    builder = intarsia.PipelineBuilder().add("a", lambda x: x.tolist(), inputs=["x"], outputs=["y", "z"])
    with builder.start() as pipeline:
        pushed = [{"x": np.array([1, 2])}, {"x": np.array([1, 2, 3])}]
        frames = list(pipeline.run_all(pushed, progress=False))
    assert frames[0].outputs == {"y": 1, "z": 2}
    assert "returned 3 values for the outputs ['y', 'z']" in str(frames[1].error)
    with intarsia.PipelineBuilder().add("a", lambda x: None, inputs=["x"], outputs=["y"]).start() as pipeline:
        pipeline.push({"x": 1.0})
        assert "returned None for the outputs ['y']" in str(pipeline.pop().error)


def test_inputs_are_copied_unless_it_is_told_otherwise(program):
    seen = []
    builder = intarsia.PipelineBuilder().add(
        "look", lambda x: seen.append(x) or x, inputs=["x"], outputs=["x"]
    )
    with builder.start() as pipeline:
        x = np.arange(4, dtype=np.float32)
        for copy in (True, False):
            pipeline.push({"x": x}, copy=copy)
            frame = pipeline.pop()
            assert not seen[-1].flags.writeable
            assert np.shares_memory(seen[-1], x) == (not copy)
            assert np.shares_memory(frame.outputs["x"], seen[-1])  # handed on without a copy
    kept = seen[0].copy()
    del pipeline, frame
    np.testing.assert_array_equal(seen[0], kept)  # arrays outlive their pipeline


def test_push_and_pop_wait_as_long_as_they_are_told(program):
    begun, gate = threading.Event(), threading.Event()

    def wait(x):
        begun.set()
        gate.wait()
        return x

    builder = intarsia.PipelineBuilder().add("wait", wait, inputs=["x"], outputs=["x"])
    with builder.start(depth=1) as pipeline:
        x = {"x": np.zeros(1, np.float32)}
        assert pipeline.try_pop() is None and not pipeline.ended
        assert pipeline.try_push(x) == 0 and begun.wait(60)  # it has left the queue
        assert pipeline.try_push(x) == 1 and pipeline.try_push(x) is None
        begin = time.monotonic()
        assert pipeline.push(x, timeout=0.15) is None
        assert pipeline.pop(timeout=0.15) is None
        assert 0.3 <= time.monotonic() - begin < 5
        gate.set()
        pipeline.finish()
        numbers = []
        while (frame := pipeline.pop()) is not None:
            numbers.append(frame.number)
        assert numbers == [0, 1] and pipeline.ended
        with pytest.raises(intarsia.InvalidArgumentError, match="no more frames"):
            pipeline.push(x)


def test_a_late_frame_times_out_and_the_next_goes_on():
    def slow(x):
        time.sleep(float(x[0]))
        return x

    builder = intarsia.PipelineBuilder().add("slow", slow, inputs=["x"], outputs=["x"])
    with builder.start(timeout=0.1) as pipeline:
        pipeline.push({"x": np.array([0.5], np.float32)})
        frame = pipeline.pop()
        assert isinstance(frame.error, intarsia.TimedOutError) and isinstance(frame.error, TimeoutError)
        while pipeline.statistics[0].running:
            time.sleep(0.01)
        pipeline.push({"x": np.array([0], np.float32)})
        assert pipeline.pop().error is None


def test_replicas_files_and_traces(program, tmp_path):
    file = tmp_path / "pipeline.json"
    file.write_text(
        json.dumps(
            {
                "intarsia_pipeline": 1,
                "stages": [
                    {"name": "a", "program": str(program), "replicas": [{}]},
                    {"name": "b", "program": str(program)},
                ],
                "connections": [["a.y", "b.x"]],
            }
        )
    )
    events = []
    with intarsia.PipelineBuilder(file).start(trace=lambda *event: events.append(event)) as pipeline:
        assert pipeline.statistics[0].replicas == 2
        for frame in pipeline.run_all({"x": np.full(4, i, np.float32)} for i in range(20)):
            np.testing.assert_array_equal(frame.outputs["y"], np.full(4, frame.number + 2, np.float32))
    assert {(stage, frame) for stage, _, frame, _, _ in events} == {(s, f) for s in "ab" for f in range(20)}
    assert all(begin <= end for *_, begin, end in events)


def test_a_trace_can_tell_what_sessions_do(program):
    builder = intarsia.PipelineBuilder().add("a", intarsia.load(program))
    builder.add("b", lambda y: {"z": y}, inputs=["y"], outputs=["z"])
    stages, steps = [], []
    with builder.start(trace=lambda *e: stages.append(e), trace_steps=lambda *e: steps.append(e)) as pipeline:
        assert len(list(pipeline.run_all({"x": np.full(4, i, np.float32)} for i in range(5)))) == 5
    spans = {frame: (begin, end) for stage, _, frame, begin, end in stages if stage == "a"}
    assert len(stages) == 10 and spans.keys() == set(range(5))
    assert {(stage, frame) for stage, _, frame, *_ in steps} == {("a", frame) for frame in range(5)}
    for _, _, frame, begin, end, name, kind, device in steps:
        assert spans[frame][0] <= begin <= end <= spans[frame][1]
        assert name and kind in ("region", "kernel") and device.startswith("cpu")


def test_a_replica_may_run_in_another_backend(program):
    model = program.parent / "model.onnx"
    other = intarsia.compile(model, devices=["cpu"], backends=["onnxruntime"]).load()
    usable = sorted(os.sched_getaffinity(0))
    builder = intarsia.PipelineBuilder()
    builder.add("net", intarsia.load(program), devices={"cpu": f"cpu:{usable[0]}"})
    builder.add_replica("net", {"cpu": f"cpu:{usable[-1]}"}, program=other)
    ran = set()
    end = time.monotonic() + 60

    def frames():
        """Until both have run."""
        for i in itertools.count():
            if ran == {0, 1} or time.monotonic() > end:
                return
            yield {"x": np.full(4, i, np.float32)}

    with builder.start(trace=lambda stage, replica, *times: ran.add(replica)) as pipeline:
        for frame in pipeline.run_all(frames()):
            np.testing.assert_array_equal(frame.outputs["y"], np.full(4, frame.number + 1, np.float32))
    assert ran == {0, 1}


@pytest.fixture(scope="module")
def staged(tmp_path_factory):
    """Two stages, cut at h, which the first gives to the second and is an output, too; z enters late."""
    random = np.random.default_rng(1)
    weights = [(f"w{i}", random.standard_normal((4, 4, 3, 3)).astype(np.float32)) for i in range(2)]
    shape = [1, 4, 8, 8]
    model = save(
        tmp_path_factory.mktemp("staged") / "model.onnx",
        [
            helper.make_node("Conv", ["x", "w0"], ["a"], "conv0", pads=[1] * 4),
            helper.make_node("Relu", ["a"], ["h"], "relu"),
            helper.make_node("Conv", ["h", "w1"], ["b"], "conv1", pads=[1] * 4),
            helper.make_node("Add", ["b", "z"], ["y"], "add"),
        ],
        [("x", TensorProto.FLOAT, shape), ("z", TensorProto.FLOAT, shape)],
        [("h", TensorProto.FLOAT, shape), ("y", TensorProto.FLOAT, shape)],
        weights,
    )
    return intarsia.compile(model, devices=["cpu"], objective="throughput", cuts=["h"], tune="off").load()


def test_a_program_runs_as_a_session_and_as_a_pipeline_of_its_stages(staged):
    random = np.random.default_rng(2)
    frames = [{n: random.random((1, 4, 8, 8), np.float32) for n in "xz"} for _ in range(20)]
    builder = intarsia.PipelineBuilder().add_stages(staged)
    builder.add("sum", lambda y: y.sum(keepdims=True), inputs=["y"], outputs=["sum"])
    with builder.start() as pipeline:
        assert [stage.name for stage in pipeline.statistics] == ["stage0", "stage1", "sum"]
        assert sorted(pipeline.inputs) == ["x", "z"] and sorted(pipeline.outputs) == ["h", "sum"]
        session = staged.bind()
        for inputs, frame in zip(frames, pipeline.run_all(frames), strict=True):
            want = session.run(inputs)
            np.testing.assert_array_equal(frame.outputs["h"], want["h"])
            np.testing.assert_array_equal(frame.outputs["sum"], want["y"].sum(keepdims=True))


def cores_of_threads():
    """Of the threads of this process by their names: the cores that they may run on."""
    cores = {}
    for task in pathlib.Path("/proc/self/task").iterdir():
        allowed = re.search(r"Cpus_allowed_list:\s*(\S+)", (task / "status").read_text()).group(1)
        cores.setdefault((task / "comm").read_text().strip(), set()).add(allowed)
    return cores


def test_threads_are_on_their_stages_cores(program):
    usable = sorted(os.sched_getaffinity(0))
    first, last = usable[0], usable[-1]
    builder = intarsia.PipelineBuilder().add("mine", double, inputs=["image"], outputs=["x"], cores=str(last))
    builder.add("net", intarsia.load(program), devices={"cpu": f"cpu:{first}"})
    with builder.start() as pipeline:
        list(pipeline.run_all([{"image": np.ones(4, np.float32)}] * 10))
        cores = cores_of_threads()
    assert (cores["mine"], cores["net"]) == ({str(last)}, {str(first)})


def test_stages_of_one_library_need_the_same_cores(tmp_path):
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        pytest.skip("wants two CPUs")
    first, last = usable[0], usable[-1]
    shape, weights = [1, 16, 32, 32], np.ones((16, 16, 3, 3), np.float32)
    model = save(
        tmp_path / "model.onnx",
        [helper.make_node("Conv", ["x", "w"], ["y"], "conv", pads=[1] * 4)],
        [("x", TensorProto.FLOAT, shape)],
        [("y", TensorProto.FLOAT, shape)],
        [("w", weights)],
    )
    net = intarsia.compile(model, devices=["cpu"], backends=["openvino"]).load()
    builder = intarsia.PipelineBuilder().add("a", net, devices={"cpu": f"cpu:{first}"})
    with pytest.raises(intarsia.Error) as error:
        builder.add("b", net, devices={"cpu": f"cpu:{last}"})
    assert "stage 'b': " in str(error.value) and (
        f"OpenVINO has one pool of threads in a process, which is pinned to the cores {first} for stage 'a', "
        f"and stage 'b' wants the cores {last}"
    ) in str(error.value)
    with builder.start() as pipeline:  # without b
        list(pipeline.run_all([{"x": np.ones(shape, np.float32)}] * 20, progress=False))
        cores = cores_of_threads()
    assert cores["a"] == cores["openvino"] == {str(first)}


def test_a_program_without_stages_is_one(program):
    with intarsia.PipelineBuilder().add_stages(intarsia.load(program)).start() as pipeline:
        [frame] = pipeline.run_all([{"x": np.ones(4, np.float32)}])
        np.testing.assert_array_equal(frame.outputs["y"], np.full(4, 2, np.float32))
    with pytest.raises(intarsia.Error, match="no function 'other'"):
        intarsia.PipelineBuilder().add_stages(intarsia.load(program), "other")


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda b: b.connect("a", "b.x"), 'want "STAGE.PORT"'),
        (
            lambda b: b.add("a", lambda x: x, inputs=["x"], outputs=["x"]).connect("a.z", "a.x"),
            "no output 'z'",
        ),
        (lambda b: b.add("a", lambda x: x, inputs=["x"], outputs=["x"]).connect("a.x", "a.x"), "cycle"),
        (lambda b: b, "no stage"),
        (lambda b: b.add("a", lambda: 1, outputs=["x"], cores="nine"), "cores 'nine'"),
        (
            lambda b: b.add("a", lambda: 1, outputs=["x"], cores="4000"),
            "stage 'a': cores '4000': this process may use the CPUs",
        ),
    ],
)
def test_mistakes_are_told(build, message):
    with pytest.raises(intarsia.Error, match=message.replace(".", r"\.")):
        build(intarsia.PipelineBuilder()).start()


def test_a_queue_holds_a_frame():
    builder = intarsia.PipelineBuilder().add("a", lambda x: x, inputs=["x"], outputs=["y"])
    with pytest.raises(intarsia.InvalidArgumentError, match="depth 0: a queue holds at least one frame"):
        builder.start(depth=0)
    builder.start(depth=1).cancel()


def run_python(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=os.environ
    )


def test_a_child_of_fork_is_told_and_its_parent_goes_on():
    done = run_python("""
import os, sys, intarsia, numpy as np
pipeline = intarsia.PipelineBuilder().add("same", lambda x: x, inputs=["x"], outputs=["x"]).start()
x = {"x": np.zeros(1, np.float32)}
pipeline.push(x)
child = os.fork()
if child == 0:
    try:
        pipeline.push(x)
    except intarsia.Error as error:
        print(error, flush=True)
    sys.exit(0)
print(os.waitpid(child, 0)[1], flush=True)
print(pipeline.pop().number)
""")
    message = "the pipeline belongs to the process that this one was forked from; make one here"
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{message}\n0\n0\n", "")


def test_a_stage_that_still_runs_does_not_hang_the_interpreters_end():
    done = run_python("""
import time, intarsia, numpy as np
pipeline = intarsia.PipelineBuilder().add("slow", lambda x: time.sleep(0.5) or x, inputs=["x"], outputs=["x"]).start()
pipeline.push({"x": np.zeros(1, np.float32)})
print("done")
""")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
