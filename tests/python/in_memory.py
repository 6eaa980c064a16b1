"""Models and programs that are no files: bytes, onnx.ModelProto, programs that are not saved, each in every call that takes
one.

Covers: bindings/python/intarsia/ sources.py options.py benchmark.py
"""

import os
import pathlib

import intarsia
import numpy as np
import onnx
import pytest
from cli_models import save_relu, save_small

X = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)


@pytest.fixture
def model(tmp_path):
    return save_relu(tmp_path / "relu.onnx")


def compiled_from(model):
    return intarsia.compile(model, backends="reference")


def open_files():
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize(
    "read",
    [
        pathlib.Path.read_bytes,
        lambda path: bytearray(path.read_bytes()),
        lambda path: memoryview(path.read_bytes()),
        onnx.load,
    ],
)
def test_a_model_in_memory(model, read):
    source = read(model)
    compiled = compiled_from(source)
    np.testing.assert_array_equal(compiled(x=X), np.maximum(X, 0))
    assert (compiled.report["model"], compiled.report["program"]) == ("<in memory>", None)
    assert intarsia.explain(source)["subject"] == "<in memory>"
    assert "relu" in intarsia.explain_html(source).lower()
    assert intarsia.check(source, against="reference", backends="reference")["ok"]


@pytest.mark.parametrize("threads", (1, 2, 1, 2))
def test_compiled_for_onnxruntime_and_run_in_one_process(model, threads):
    """The compiler and the program each open ONNX Runtime, which has one environment per process."""
    compiled = intarsia.compile(model, backends="onnxruntime", threads=threads, tune="off")
    np.testing.assert_array_equal(compiled(x=X), np.maximum(X, 0))


def test_a_model_in_memory_is_annotated_and_split(tmp_path):
    model = onnx.load(save_small(tmp_path / "small.onnx"))
    intarsia.annotate(model, tmp_path / "annotated.onnx", backends="reference")
    assert [node.metadata_props for node in onnx.load(tmp_path / "annotated.onnx").graph.node][0]
    assert len(intarsia.split(model, tmp_path / "pieces", "r")["stages"]) == 2


def test_errors_do_not_name_files_that_nobody_gave(tmp_path):
    with pytest.raises(intarsia.CorruptError, match="'<in memory>'"):
        intarsia.compile(b"\x08\xff")
    graph = onnx.load(save_relu(tmp_path / "relu.onnx")).graph
    with pytest.raises(intarsia.InvalidArgumentError, match="onnx.GraphProto: want a path, the bytes"):
        intarsia.compile(graph)
    with pytest.raises(
        intarsia.CorruptError, match="^program '<in memory>': is a text file, not a compiled program"
    ):
        intarsia.load(b"abc")


def test_a_program_from_bytes(model, tmp_path):
    path = tmp_path / "relu.so"
    compiled_from(model).save(path)
    before = open_files()
    for content in (path.read_bytes(), bytearray(path.read_bytes())):
        program = intarsia.load(content)
        path.unlink(missing_ok=True)
        np.testing.assert_array_equal(program(x=X), np.maximum(X, 0))
        assert program.path is None
        program.verify()
        assert intarsia.check(program, model=model, against="reference")["model"] == str(model)
    del program
    assert open_files() == before


def test_a_compiled_program_needs_no_file(model, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    before = open_files()
    compiled = compiled_from(model)
    assert os.listdir(tmp_path / "temporary") == []
    program = compiled.load()
    assert intarsia.explain(compiled)["subject"] == "<in memory>"
    compiled.save(tmp_path / "relu.so")
    with compiled:
        pass
    for use in (compiled.load, lambda: compiled(x=X), lambda: compiled.save(tmp_path / "again.so")):
        with pytest.raises(intarsia.InvalidArgumentError, match="the compiled model is closed"):
            use()
    np.testing.assert_array_equal(program(x=X), np.maximum(X, 0))
    del program, compiled
    assert open_files() == before


def test_calls_of_a_compiled_model_load_it_once(model):
    compiled = compiled_from(model)
    compiled(x=X)
    before = open_files()
    results = [compiled(x=X) for _ in range(20)]
    assert open_files() == before
    assert compiled.load() is not compiled.load()
    compiled.load().close()
    np.testing.assert_array_equal(compiled(x=X), results[0])


def test_bench(model):
    """Of the command line's protocol, a fraction of a second."""
    compiled = compiled_from(model)
    report = intarsia.bench(compiled, seconds=0.1, inputs={"x": X})
    assert report["mode"] == "latency" and report["program"] == "<in memory>"
    assert report["inputs"] == [
        {"name": "x", "dtype": "float32", "shape": [2, 3], "filled": False, "conversion": None}
    ]
    assert report["results"][0]["runtime"] == "intarsia" and report["results"][0]["median_ms"] > 0
    report = intarsia.bench(onnx.load(model), seconds=0.1, against="onnxruntime", tune="off")
    assert [one["runtime"] for one in report["results"]] == ["intarsia", "onnxruntime"]
    assert report["model"] == "<in memory>"
    report = intarsia.bench(compiled.load(), seconds=0.1, against=["onnxruntime"], model=model.read_bytes())
    assert report["results"][1]["outputs"][0]["ok"]


def test_mistakes_in_bench_are_told_in_pythons_words(model):
    program = compiled_from(model).load()
    with pytest.raises(intarsia.InvalidArgumentError, match="^tune=... says how to compile a model"):
        intarsia.bench(program, tune="off")
    with pytest.raises(intarsia.InvalidArgumentError, match="^against=nobody: want onnxruntime"):
        intarsia.bench(program, against="nobody")
