"""What live video needs of a pipeline: queues that drop frames, deadlines, items of a frame, what frames carry, histograms.

Covers: bindings/python/ pipeline_module.cc bindings/python/intarsia/ pipeline.py frames.py kept_objects.py stage_function.py
"""

import gc
import json
import threading
import time
import weakref

import intarsia
import numpy as np
import pytest
from cli_models import TensorProto, helper, save


class Stop:
    """A stage that stands at its first frame until it is released."""

    def __init__(self):
        self.entered, self.released = threading.Event(), threading.Event()

    def __call__(self, x):
        self.entered.set()
        assert self.released.wait(60)
        return x


def pushed(pipeline, frames):
    for i in frames:
        assert pipeline.try_push({"x": np.float32(i)}) is not None


def test_a_queue_keeps_the_latest_only():
    stop = Stop()
    builder = intarsia.PipelineBuilder().add("slow", stop, inputs=["x"], outputs=["y"], queue="latest")
    with builder.start(depth=8) as pipeline:
        pushed(pipeline, [0])
        assert stop.entered.wait(60)
        pushed(pipeline, [1, 2, 3])
        stop.released.set()
        pipeline.finish()
        frames = list(iter(pipeline.pop, None))
        assert [frame.error is None for frame in frames] == [True, False, False, True]
        assert float(frames[3].outputs["y"]) == 3
        assert isinstance(frames[1].error, intarsia.DroppedError)
        assert str(frames[1].error) == "frame 1: dropped before stage 'slow', as a later one came"
        assert pipeline.statistics[0].dropped == 2
        assert pipeline.frame_statistics.pushed == 4 and pipeline.frame_statistics.dropped == 2
    assert pipeline.frame_statistics.done == 2  # of a closed one, those when it was closed


def test_the_pipelines_queue_is_that_of_stages_without_one():
    stop = Stop()
    builder = intarsia.PipelineBuilder().add("slow", stop, inputs=["x"], outputs=["y"])
    with builder.start(queue="drop_oldest", depth=2) as pipeline:
        pushed(pipeline, [0])
        assert stop.entered.wait(60)
        pushed(pipeline, range(1, 9))
        stop.released.set()
        assert pipeline.statistics[0].dropped == 6 and pipeline.statistics[0].most_queued == 2


def test_a_deadline_drops_what_is_late():
    stop = Stop()
    builder = intarsia.PipelineBuilder().add("slow", stop, inputs=["x"], outputs=["y"])
    with builder.start(deadline=3600, depth=4) as pipeline:
        pushed(pipeline, [0])
        assert stop.entered.wait(60)
        pipeline.push({"x": np.float32(1)}, deadline=0.001)
        pushed(pipeline, [2])
        time.sleep(0.01)
        stop.released.set()
        errors = [pipeline.pop(60).error for _ in range(3)]
        assert errors[0] is None and errors[2] is None
        assert "(deadline 1.000 ms)" in str(errors[1]) and isinstance(errors[1], intarsia.DroppedError)


def test_a_stage_may_drop_a_frame():
    def filtered(x):
        if x % 2 == 1:
            raise intarsia.DroppedError("nothing moved")
        return x

    builder = intarsia.PipelineBuilder().add("filter", filtered, inputs=["x"], outputs=["y"])
    with builder.start() as pipeline:
        frames = list(pipeline.run_all(({"x": np.float32(i)} for i in range(4)), progress=False))
        assert [type(frame.error) for frame in frames] == [type(None), intarsia.DroppedError] * 2
        assert str(frames[1].error) == "frame 1: stage 'filter': dropped by the stage: nothing moved"
        assert pipeline.statistics[0].errors == 0 and pipeline.replicas["filter"][0].errors == 0


def test_what_a_frame_carries_comes_back():
    class Note:
        pass

    builder = intarsia.PipelineBuilder().add("same", lambda x: x, inputs=["x"], outputs=["y"])
    with builder.start() as pipeline:
        notes = [Note() for _ in range(3)]
        source = [
            intarsia.FrameInputs({"x": np.float32(i)}, timestamp=-i, user=note)
            for i, note in enumerate(notes)
        ]
        frames = list(pipeline.run_all(source, progress=False))
        assert [frame.timestamp for frame in frames] == [0, -1, -2]
        assert [frame.user for frame in frames] == notes
        # Neither a frame without room nor one with an error keeps its object.
        known = weakref.ref(notes[0])
        with pytest.raises(intarsia.Error):
            pipeline.push({"z": np.float32(1)}, user=notes[0])
        del notes, source, frames
        gc.collect()
        assert known() is None
        assert pipeline.push({"x": np.float32(1)}) == 3 and pipeline.pop(60).user is None


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    """score = 2 patch + 1, of one patch of three numbers."""
    folder = tmp_path_factory.mktemp("classifier")
    model = save(
        folder / "model.onnx",
        [
            helper.make_node("Add", ["patch", "patch"], ["twice"], "twice"),
            helper.make_node("Add", ["twice", "one"], ["score"], "plus"),
        ],
        [("patch", TensorProto.FLOAT, [1, 3])],
        [("score", TensorProto.FLOAT, [1, 3])],
        [("one", np.ones(3, np.float32))],
    )
    intarsia.compile(model, devices=["cpu"], backends=["halide"]).save(folder / "classifier.so")
    return folder / "classifier.so"


def detect(image):
    """As many boxes as the image's first number says, each its number."""
    return np.arange(int(image[0]), dtype=np.int64).reshape(-1, 1)


def crop(image, box):
    assert image.shape == (4,) and box.shape == (1, 1)
    return (image[1:] + box[0, 0]).astype(np.float32).reshape(1, 3)


def vision(classifier):
    return (
        intarsia.PipelineBuilder()
        .add("detect", detect, inputs=["image"], outputs=["box"], scatter=["box"])
        .add("crop", crop, inputs=["image", "box"], outputs=["patch"], threads=2)
        .add("classify", intarsia.load(classifier), devices={"cpu": "cpu"}, threads=1)
        .add_replica("classify", threads=1)
    )


def images(counts):
    return [{"image": np.array([n, 10 * i, 0, 1], np.float32)} for i, n in enumerate(counts)]


def expected_scores(i, n):
    return np.array([[2 * (x + k) + 1 for x in (10 * i, 0, 1)] for k in range(n)], np.float32).reshape(-1, 3)


def test_detect_crop_classify(classifier):
    counts = [3, 0, 1, 7, 0, 2] * 5
    with vision(classifier).start() as pipeline:
        for i, frame in enumerate(pipeline.run_all(images(counts), progress=False)):
            assert frame.error is None, frame.error
            scores = frame.outputs["score"]
            assert scores.shape == (counts[i], 3) and scores.dtype == np.float32
            np.testing.assert_array_equal(scores.reshape(-1, 3), expected_scores(i, counts[i]))
        statistics = {stage.name: stage for stage in pipeline.statistics}
        assert statistics["classify"].frames == len(counts)
        assert statistics["classify"].run_times.count == sum(counts)


def test_gather(classifier):
    builder = vision(classifier).add(
        "best", gather=True, what=lambda s: s.max(0, initial=0), inputs=["score"], outputs=["best"]
    )
    with builder.start() as pipeline:
        frames = list(pipeline.run_all(images([2, 0]), progress=False))
        np.testing.assert_array_equal(frames[0].outputs["best"], expected_scores(0, 2).max(0))
        np.testing.assert_array_equal(frames[1].outputs["best"], np.zeros(3, np.float32))


def test_an_items_error_is_the_frames(classifier):
    def failing(image, box):
        if box[0, 0] == 1:
            raise KeyError("no such box")
        return crop(image, box)

    builder = (
        intarsia.PipelineBuilder()
        .add("detect", detect, inputs=["image"], outputs=["box"], scatter=["box"])
        .add("crop", failing, inputs=["image", "box"], outputs=["patch"], threads=3)
    )
    with builder.start() as pipeline:
        good, bad, after = pipeline.run_all(images([1, 5, 1]), progress=False)
        assert good.error is None and after.error is None
        assert isinstance(bad.error.__cause__, KeyError) and "stage 'crop'" in str(bad.error)


def test_what_cannot_be_is_said(classifier):
    with pytest.raises(intarsia.InvalidArgumentError, match=r"scatter='box': want a list"):
        intarsia.PipelineBuilder().add("a", detect, inputs=["image"], outputs=["box"], scatter="box")
    with pytest.raises(intarsia.InvalidArgumentError, match="queue='newest': want 'block'"):
        intarsia.PipelineBuilder().add("a", detect, inputs=["image"], outputs=["box"], queue="newest")
    builder = intarsia.PipelineBuilder().add("a", detect, inputs=["image"], outputs=["box"], gather=True)
    with pytest.raises(intarsia.Error, match="stage 'a': it gathers, but no input of it is an item"):
        builder.start()
    with pytest.raises(intarsia.InvalidArgumentError, match="deadline=-1: want 0"):
        builder.start(deadline=-1)


def test_a_file_says_the_same(classifier, tmp_path):
    file = tmp_path / "pipeline.json"
    stage = {"name": "classify", "program": str(classifier), "queue": "drop_oldest", "scatter": ["score"]}
    file.write_text(
        json.dumps({"intarsia_pipeline": 1, "queue": "latest", "deadline_ms": 3.6e6, "stages": [stage]})
    )
    with intarsia.PipelineBuilder(file).start() as pipeline:
        pipeline.push({"patch": np.zeros((1, 3), np.float32)})
        np.testing.assert_array_equal(pipeline.pop(60).outputs["score"], [[1, 1, 1]])


def test_histograms():
    builder = intarsia.PipelineBuilder().add(
        "wait", lambda x: time.sleep(0.004) or x, inputs=["x"], outputs=["y"]
    )
    with builder.start() as pipeline:
        list(pipeline.run_all(({"x": np.float32(i)} for i in range(20)), progress=False))
        latency = pipeline.frame_statistics.latency
        runs = pipeline.statistics[0].run_times
    assert latency.count == runs.count == 20
    assert all(0 < b.from_ns < b.to_ns and b.count > 0 for b in runs.buckets)
    assert 4e6 < runs.quantile_ns(0) <= runs.quantile_ns(0.5) <= runs.quantile_ns(1) == runs.buckets[-1].to_ns
    assert intarsia.TimeHistogram().quantile_ns(0.5) is None
    with pytest.raises(intarsia.InvalidArgumentError, match="want 0 to 1"):
        runs.quantile_ns(50)
