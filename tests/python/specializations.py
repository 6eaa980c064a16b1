"""Programs with plans for ranges of an open size: small sizes run in one backend, large ones in another.

Covers: src/compile/ specialize_function.cc
src/runtime/ specialized_function.cc
"""

import intarsia
import numpy as np
import onnxruntime
import pytest
from cli_models import save

from onnx import TensorProto, helper

SIZES = (0, 1, 2, 3, 31, 500, 4096, 5000)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Three operators: the reference takes some microseconds for 1 x 64, which is less than a call of ONNX Runtime, and 20 times as long as
    it for 4096 x 64."""
    folder = tmp_path_factory.mktemp("specializations")
    nodes = [
        helper.make_node("Add", ["x", "b"], ["a"], name="add"),
        helper.make_node("Erf", ["a"], ["e"], name="erf"),
        helper.make_node("Mul", ["e", "a"], ["y"], name="mul"),
    ]
    path = save(
        folder / "chain.onnx",
        nodes,
        [("x", TensorProto.FLOAT, ["N", 64])],
        [("y", TensorProto.FLOAT, ["N", 64])],
        [("b", np.linspace(-1, 1, 64, dtype=np.float32))],
    )
    made = intarsia.compile(
        path,
        backends=["reference", "onnxruntime"],
        tune_at={"N": [1, 4096]},
        cache=folder / "cache",
        threads=1,
    )
    made.save(folder / "chain.so")
    return folder, made.report


def targets_of(session, inputs):
    """Returns the backends of the regions that a run with these inputs runs."""
    seen = set()
    session.set_trace(
        lambda name, kind, device, begin, end: seen.add(name.split()[2]) if kind == "region" else None
    )
    session.run(inputs)
    session.set_trace(None)
    return seen


def test_the_report_tells_the_ranges(compiled):
    folder, report = compiled
    [other] = report["specializations"]
    assert (other["symbol"], other["max"], other["targets"]) == ("N", 10**9, "onnxruntime@cpu")
    assert 2 <= other["min"] < 4096
    assert other["measured_at"] == {"N": 4096}
    assert intarsia.explain(folder / "chain.so")["specializations"] == [other]
    assert any(note.startswith("with N = 4096: onnxruntime") for note in report["notes"])


def test_values_are_right_at_all_sizes(compiled):
    folder, _ = compiled
    session = intarsia.load(folder / "chain.so").bind()
    oracle = onnxruntime.InferenceSession(str(folder / "chain.onnx"), providers=["CPUExecutionProvider"])
    for size in SIZES + SIZES[::-1]:
        x = np.random.default_rng(size).standard_normal((size, 64), dtype=np.float32)
        np.testing.assert_allclose(
            session.run({"x": x})["y"], oracle.run(None, {"x": x})[0], rtol=1e-5, atol=1e-6
        )


def test_a_run_takes_the_plan_for_its_size(compiled):
    folder, report = compiled
    first = report["specializations"][0]["min"]
    session = intarsia.load(folder / "chain.so").bind()
    at = {
        size: targets_of(session, {"x": np.zeros((size, 64), np.float32)})
        for size in (1, first - 1, first, 4096)
    }
    assert at[1] == at[first - 1]
    assert at[first] == at[4096]
    assert at[1] != at[first]
    alone = intarsia.load(folder / "chain.so").bind(threads=1)
    assert targets_of(alone, {"x": np.zeros((4096, 64), np.float32)}) == at[4096]


def test_a_wrong_shape_is_the_usual_error(compiled):
    folder, _ = compiled
    with pytest.raises(intarsia.Error, match=r"input 'x' has shape 4x63, want \?x64"):
        intarsia.load(folder / "chain.so").run({"x": np.zeros((4, 63), np.float32)})


def test_one_size_is_one_plan(compiled):
    folder, _ = compiled
    made = intarsia.compile(
        folder / "chain.onnx",
        backends=["reference", "onnxruntime"],
        tune_at={"N": [1]},
        cache=folder / "cache",
        threads=1,
    )
    assert made.report["specializations"] == []
