"""A model cut into models of their own: `intarsia split`, and the pipeline of what they compile to.

Covers: cli/commands/ split.cc
src/compile/ split_model.cc
"""

import intarsia
import numpy as np
import pytest
from cli_models import TensorProto, call, call_json, error_of, helper, save

import onnx

FLOAT = TensorProto.FLOAT
RANDOM = np.random.default_rng(1)
WEIGHTS = {f"w{i}": RANDOM.standard_normal((8, 8), np.float32) for i in range(3)}


@pytest.fixture
def model(tmp_path):
    """x -> a -> b -> c; y = c + a, so that `a` skips a stage; `late` enters last, and b leaves early."""
    nodes = [
        helper.make_node("MatMul", ["x", "w0"], ["a"], "first"),
        helper.make_node("MatMul", ["a", "w1"], ["b"], "second"),
        helper.make_node("MatMul", ["b", "w2"], ["c"], "third"),
        helper.make_node("Sum", ["c", "a", "late"], ["y"], "sum"),
    ]
    shape = ["n", 8]
    return save(
        tmp_path / "model.onnx",
        nodes,
        [("x", FLOAT, shape), ("late", FLOAT, shape)],
        [("y", FLOAT, shape), ("b", FLOAT, shape)],
        WEIGHTS.items(),
    )


def expected(x, late):
    a = x @ WEIGHTS["w0"]
    b = a @ WEIGHTS["w1"]
    return {"b": b, "y": b @ WEIGHTS["w2"] + a + late}


def test_pieces_make_the_whole(model, tmp_path):
    pieces = tmp_path / "new" / "pieces"
    report = call_json("split", model, "-o", pieces, "--cut", "b", "--cut", "a", "--shape", "x=4x8")
    assert report["pipeline"] == str(pieces / "pipeline.json")
    assert [(stage["nodes"], stage["inputs"], stage["outputs"]) for stage in report["stages"]] == [
        (1, ["x"], ["a"]),
        (1, ["a"], ["b"]),
        (2, ["b", "a", "late"], ["y"]),
    ]
    options = [["--backends", "halide"], ["--backends", "reference"], ["--math", "exact"]]
    for number, own in enumerate(options):
        piece = pieces / f"stage{number}.onnx"
        onnx.checker.check_model(onnx.load(piece), full_check=True)
        call("compile", piece, "-o", piece.with_suffix(".so"), "--tune", "off", "-q", *own)
    x, late = (RANDOM.standard_normal((4, 8), np.float32) for _ in range(2))
    with intarsia.PipelineBuilder(pieces / "pipeline.json").start() as pipeline:
        frames = list(pipeline.run_all([{"x": x * i, "late": late} for i in range(5)], progress=False))
    for i, frame in enumerate(frames):
        assert frame.error is None
        for name, value in expected(x * i, late).items():
            np.testing.assert_allclose(frame.outputs[name], value, rtol=1e-4, atol=1e-4)


def test_three_calls_of_python(model, tmp_path):
    report = intarsia.split(model, tmp_path / "pieces", "b", shapes={"x": (2, 8)})
    for stage in report["stages"]:
        intarsia.compile(stage["model"], tune="off").save(stage["model"].replace(".onnx", ".so"))
    x, late = (RANDOM.standard_normal((2, 8), np.float32) for _ in range(2))
    with intarsia.PipelineBuilder(report["pipeline"]).start() as pipeline:
        pipeline.push({"x": x, "late": late})
        outputs = pipeline.pop().outputs
    for name, value in expected(x, late).items():
        np.testing.assert_allclose(outputs[name], value, rtol=1e-4, atol=1e-4)


def test_people_read_what_to_do_next(model, tmp_path):
    text = call("split", model, "-o", tmp_path / "p", "--cut", "b").stdout
    assert f"{tmp_path}/p/stage0.onnx: 2 nodes\n  reads x\n  gives a, b\n" in text
    assert f"intarsia run --pipeline {tmp_path}/p/pipeline.json" in text


def test_errors_leave_nothing(model, tmp_path):
    folder = tmp_path / "pieces"

    def refused(model, *options, status=2):
        return error_of("split", model, "-o", folder, *options, status=status)

    assert "--cut none: the model has no such value" in refused(model, "--cut", "none")
    assert "--cut x: it is an input" in refused(model, "--cut", "x")
    assert "--cut is required" in refused(model)
    program = tmp_path / "model.so"
    call("compile", model, "-o", program, "--tune", "off", "-q")
    assert "is not an ONNX model" in refused(program, "--cut", "b")
    assert not folder.exists()
    folder.write_text("a file")
    assert f"the folder '{folder}' cannot be made" in refused(model, "--cut", "b")


def test_a_model_too_large_for_one_file_is_refused(tmp_path):
    """2 GiB of zeros, which the model has in a sparse file beside it."""
    weights = tmp_path / "weights.bin"
    with weights.open("wb") as file:
        file.truncate(3 << 30)
    rows = (3 << 30) // (4 * 1024)
    tensor = TensorProto(name="w", dims=[1024, rows], data_type=FLOAT, data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=weights.name)
    nodes = [helper.make_node("Neg", ["x"], ["a"]), helper.make_node("MatMul", ["a", "w"], ["y"])]
    path = save(
        tmp_path / "large.onnx",
        nodes,
        [("x", FLOAT, [1, 1024])],
        [("y", FLOAT, [1, rows])],
        [tensor],
        checked=False,
    )
    error = error_of("split", path, "-o", tmp_path / "p", "--cut", "a", status=2)
    assert "stage1: its weights take 3221225472 bytes, and an ONNX model in one file holds 2 GiB" in error
