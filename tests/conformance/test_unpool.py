"""MaxUnpool in our compiler against the reference kernel: of places that stay in their planes, which threads fill, of some that do not, whose
last element counts, and of one outside of the tensor.

Covers: backends/halide/routines/ unpool.cc backends/halide/canonicalize/ canonicalize_scatter.cc
"""

import numpy as np
import onnx
import pytest
from onnx import helper

import intarsia

random = np.random.default_rng(13)
PLANE = 12 * 14


def session_of(tmp_path, backend, dtype, is_open=False, threads=1):
    node = helper.make_node("MaxUnpool", ["x", "i"], ["y"], kernel_shape=[2, 2], strides=[2, 2])
    shape = ["n", "c", "h", "w"] if is_open else [2, 40, 6, 7]
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    infos = [
        helper.make_tensor_value_info("x", kind, shape),
        helper.make_tensor_value_info("i", onnx.TensorProto.INT64, shape),
    ]
    graph = helper.make_graph([node], "graph", infos, [onnx.ValueInfoProto(name="y")])
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10), path)
    compiled = intarsia.compile(path, tune="off", fallback="none", backends=[backend], threads=threads)
    return compiled.load().bind(threads=threads)


def inputs_of(dtype, *sizes):
    """Places in the planes of elements; some meet."""
    planes, size = sizes[0] * sizes[1], 4 * sizes[2] * sizes[3]
    places = random.integers(0, size, sizes) + size * np.arange(planes).reshape(*sizes[:2], 1, 1)
    return {"x": random.standard_normal(sizes).astype(dtype), "i": places}


def expect_equal(tmp_path, runs, dtype, **how):
    ours, reference = (session_of(tmp_path, backend, dtype, **how) for backend in ("halide", "reference"))
    for inputs in runs:
        np.testing.assert_array_equal(ours.run(inputs)["y"], reference.run(inputs)["y"], strict=True)


@pytest.mark.parametrize("threads", (1, 2))
@pytest.mark.parametrize("dtype", (np.float32, np.float64, np.float16))
def test_places_in_their_planes(dtype, threads, tmp_path):
    expect_equal(tmp_path, [inputs_of(dtype, 2, 40, 6, 7) for _ in range(2)], dtype, threads=threads)


@pytest.mark.parametrize("threads", (1, 2))
def test_places_in_other_planes(threads, tmp_path):
    one, any_place = (inputs_of(np.float32, 2, 40, 6, 7) for _ in range(2))
    one["i"][0, 3, 0, 2] = 70 * PLANE + 5
    any_place["i"] = random.integers(0, 3 * PLANE, (2, 40, 6, 7))
    expect_equal(tmp_path, [one, any_place], np.float32, threads=threads)


def test_open_sizes(tmp_path):
    runs = [inputs_of(np.float32, *sizes) for sizes in ((1, 1, 1, 1), (3, 5, 9, 4), (1, 70, 30, 31))]
    expect_equal(tmp_path, runs, np.float32, is_open=True, threads=2)


@pytest.mark.parametrize("is_open", (False, True), ids=("known", "open"))
@pytest.mark.parametrize("place", (-1, 80 * PLANE, -(2**63), 2**63 - 1))
def test_places_outside_are_errors(place, is_open, tmp_path):
    inputs = inputs_of(np.float32, 2, 40, 6, 7)
    session = session_of(tmp_path, "halide", np.float32, is_open)
    want = session.run(inputs)["y"].copy()
    damaged = {**inputs, "i": inputs["i"].copy()}
    damaged["i"][1, 7, 2, 3] = place
    with pytest.raises(intarsia.Error, match=f"index {place} is out of range 0 to {80 * PLANE - 1}"):
        session.run(damaged)
    np.testing.assert_array_equal(session.run(inputs)["y"], want)
