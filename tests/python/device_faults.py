"""Devices that are lost, missing or without memory: sessions and stages go on with an alternative, frames with another
replica, and both tell it.

Covers: src/runtime/ fallback_session.cc src/pipeline/ replica_service.cc pipeline_service.cc session_stage.cc
"""

import os
import pathlib
import time

import intarsia
import numpy as np
import pytest
from cli_models import SOURCE, TensorProto, helper, save

PLUGINS = pathlib.Path(os.environ.get("INTARSIA_TEST_PLUGINS", SOURCE / "build/release/test_plugins"))
# What the device of the test makes of a Relu is a copy, so that values tell who ran.
X = np.array([-3, 2], np.float32)
ON_DEVICE, ON_HOST = [-3, 2], [0, 2]


@pytest.fixture(autouse=True)
def fault(monkeypatch):
    """fault("run lost") makes calls go wrong, on all devices of the test or one; fault("") ends that."""
    intarsia.load_plugin(PLUGINS / "libtest_plugin_good.so")

    def set_fault(what, device=None):
        monkeypatch.setenv("TEST_PLUGIN_FAULT", what)
        if device is None:
            monkeypatch.delenv("TEST_PLUGIN_FAULT_DEVICE", raising=False)
        else:
            monkeypatch.setenv("TEST_PLUGIN_FAULT_DEVICE", str(device))

    return set_fault


def compile_relu(tmp_path, **options):
    path = tmp_path / "relu.onnx"
    save(
        path,
        [helper.make_node("Relu", ["x"], ["y"], "relu")],
        [("x", TensorProto.FLOAT, [2])],
        [("y", TensorProto.FLOAT, [2])],
    )
    compiled = intarsia.compile(path, devices=["cpu", "npu=test_npu:0"], tune="off", **options)
    compiled.save(tmp_path / "relu.so")
    return intarsia.load(tmp_path / "relu.so")


@pytest.fixture
def with_alternative(tmp_path):
    return compile_relu(tmp_path, also=["cpu"])


@pytest.fixture
def without_alternative(tmp_path):
    return compile_relu(tmp_path)


def run(session):
    return session.run({"x": X})["y"].tolist()


def test_a_session_goes_on_with_its_alternative(with_alternative, fault):
    session = with_alternative.bind()
    assert run(session) == ON_DEVICE
    fault("run lost")
    assert run(session) == ON_HOST
    fault("")
    assert run(session) == ON_HOST
    alternative = session.alternative()
    assert alternative.number == 1
    assert "test_npu:0: a declared fault" in alternative.reason
    assert run(with_alternative.bind()) == ON_DEVICE  # the device is opened anew


def test_a_lost_device_that_was_named_is_left_too(with_alternative, fault):
    session = with_alternative.bind({"npu": "test_npu:1"})
    fault("run lost")
    assert run(session) == ON_HOST


def test_traces_and_dumps_go_on(with_alternative, fault):
    session = with_alternative.bind()
    seen = []
    session.set_trace(lambda name, kind, device, begin, end: seen.append(device))
    fault("run lost")
    assert run(session) == ON_HOST
    assert seen[-1] == "cpu"


def test_a_session_may_fail_instead(with_alternative, without_alternative, fault):
    sessions = [with_alternative.bind(on_device_lost="error"), without_alternative.bind()]
    fault("run lost")
    for session in sessions:
        with pytest.raises(intarsia.DeviceLostError, match="a declared fault"):
            run(session)
    with pytest.raises(intarsia.InvalidArgumentError, match="want 'alternative' or 'error'"):
        with_alternative.bind(on_device_lost="retry")


def test_an_error_of_another_kind_is_no_lost_device(with_alternative, fault):
    session = with_alternative.bind()
    fault("run error")
    with pytest.raises(intarsia.Error, match="a declared fault"):
        run(session)
    fault("")
    assert run(session) == ON_DEVICE


@pytest.mark.parametrize("what", ["allocate error", "load error", "upload error", "open_device error"])
def test_a_device_that_cannot_begin_is_left(with_alternative, fault, what):
    fault(what)
    session = with_alternative.bind()
    assert run(session) == ON_HOST
    assert "a declared fault" in session.alternative().reason


def test_a_device_that_cannot_begin_is_an_error_without_alternative(without_alternative, fault):
    fault("allocate error")
    with pytest.raises(intarsia.OutOfMemoryError, match="a declared fault"):
        without_alternative.bind()


def frames_of(pipeline, count):
    frames = list(pipeline.run_all(({"x": X} for _ in range(count)), progress=False))
    assert [frame.number for frame in frames][-1] - frames[0].number == count - 1
    return frames


def replicated(program):
    return (
        intarsia.PipelineBuilder()
        .add("net", program, devices={"npu": "test_npu:0"})
        .add_replica("net", {"npu": "test_npu:1"})
    )


def test_frames_of_a_lost_replica_run_on_the_other(without_alternative, fault):
    with replicated(without_alternative).start() as pipeline:
        fault("run lost", device=0)
        frames = frames_of(pipeline, 50)
        assert [frame.error for frame in frames if frame.error] == []
        assert all(frame.outputs["y"].tolist() == ON_DEVICE for frame in frames)
        replicas = pipeline.replicas["net"]
        lost, healthy = replicas[:2], replicas[2:]  # two sessions of each device
        assert all(replica.in_service and replica.reason is None for replica in healthy)
        left = [replica for replica in lost if not replica.in_service]
        assert left and all("test_npu:0: a declared fault" in replica.reason for replica in left)
        repeats = sum(replica.repeats for replica in replicas)
        assert 1 <= sum(replica.errors for replica in lost) <= repeats
        assert sum(replica.frames for replica in lost) <= 6
        fault("")
        wait_until(lambda: all(replica.in_service for replica in pipeline.replicas["net"]))
        assert frames_of(pipeline, 20)[-1].error is None


def test_without_a_replica_in_service_frames_fail_and_then_work(without_alternative, fault):
    with intarsia.PipelineBuilder().add("net", without_alternative).start() as pipeline:
        fault("run lost")
        [first] = frames_of(pipeline, 1)
        assert isinstance(first.error, intarsia.DeviceLostError)
        wait_until(lambda: not any(replica.in_service for replica in pipeline.replicas["net"]))
        [second] = frames_of(pipeline, 1)
        assert isinstance(second.error, intarsia.DeviceLostError)
        assert "frame 1: stage 'net': no replica is in service: replica 0: " in str(second.error)
        fault("")
        wait_until(lambda: pipeline.replicas["net"][0].in_service)
        assert frames_of(pipeline, 1)[0].outputs["y"].tolist() == ON_DEVICE


def test_a_stage_goes_on_with_the_programs_alternative(with_alternative, fault):
    with intarsia.PipelineBuilder().add("net", with_alternative).start() as pipeline:
        assert frames_of(pipeline, 1)[0].outputs["y"].tolist() == ON_DEVICE
        fault("run lost")
        assert frames_of(pipeline, 1)[0].outputs["y"].tolist() == ON_HOST
        replicas = pipeline.replicas["net"]
    assert all(replica.in_service for replica in replicas)
    [note] = {replica.note for replica in replicas} - {None}
    assert note.startswith("runs alternative 1 on ") and "a declared fault" in note


def test_a_stage_may_fail_instead(with_alternative, fault):
    builder = intarsia.PipelineBuilder().add("net", with_alternative, on_device_lost="error")
    with builder.start() as pipeline:
        fault("run lost")
        assert isinstance(frames_of(pipeline, 1)[0].error, intarsia.DeviceLostError)


def staged(tmp_path):
    """x -> Relu on the device | Abs on the processor, as stages, and as a whole on the processor."""
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], "relu"),
        helper.make_node("Add", ["r", "r"], ["y"], "add"),
    ]
    model = save(
        tmp_path / "staged.onnx", nodes, [("x", TensorProto.FLOAT, [2])], [("y", TensorProto.FLOAT, [2])]
    )
    return intarsia.compile(
        model,
        devices=["npu=test_npu:0", "cpu"],
        objective="throughput",
        cuts=["r"],
        tune="off",
        also=["cpu"],
    ).load()


def test_stages_without_their_device_are_what_a_session_runs(tmp_path, fault):
    program = staged(tmp_path)
    with intarsia.PipelineBuilder().add_stages(program).start() as pipeline:
        assert frames_of(pipeline, 1)[0].outputs["y"].tolist() == [-6, 4]
        assert len(pipeline.statistics) == 2
    fault("open_device error")
    with intarsia.PipelineBuilder().add_stages(program).start() as pipeline:
        assert frames_of(pipeline, 1)[0].outputs["y"].tolist() == [0, 4]
        [[replica]] = pipeline.replicas.values()
    assert replica.note.startswith("it is all stages in one: ")
    assert "runs alternative 1 on " in replica.note and "a declared fault" in replica.note


def wait_until(is_done):
    end = time.monotonic() + 20
    while not is_done():
        assert time.monotonic() < end
        time.sleep(0.01)


def failing(count, **options):
    """A stage of two threads that fails for the first `count` calls; how often it was called for each frame."""
    calls = []

    def call(x):
        calls.append(int(x[0]))
        if len(calls) <= count:
            raise ValueError("not yet")
        return x

    builder = intarsia.PipelineBuilder().add("call", call, inputs=["x"], outputs=["y"], threads=2, **options)
    return builder, calls


def run_one_by_one(builder, count):
    with builder.start() as pipeline:
        frames = []
        for number in range(count):
            pipeline.push({"x": np.array([number], np.float32)})
            frames.append(pipeline.pop())
        return frames, pipeline.replicas["call"]


def test_a_thread_that_fails_twice_in_a_row_leaves_its_frame_to_the_other():
    builder, calls = failing(10**9)
    frames, replicas = run_one_by_one(builder, 8)
    assert all("ValueError: not yet" in str(frame.error) for frame in frames)
    assert any(calls.count(number) == 2 for number in range(8))
    assert all(replica.in_service for replica in replicas)  # it was the frames' fault: they fail on both


def test_a_function_that_must_not_run_twice_does_not():
    builder, calls = failing(10**9, retry=False)
    frames, _ = run_one_by_one(builder, 8)
    assert all(frame.error for frame in frames)
    assert max(calls.count(number) for number in range(8)) == 1
