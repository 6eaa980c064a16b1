"""Multinomial with a seed in our compiler alone: the samples of the reference kernel, with the shares that the probabilities ask for.

Covers: src/translate/ onnx_random.cc
"""

import numpy as np
import onnx
import pytest
from onnx import helper

import intarsia

random = np.random.default_rng(7)


def session_of(tmp_path, backend, x, samples, is_open=False, **attributes):
    node = helper.make_node("Multinomial", ["x"], ["y"], sample_size=samples, **attributes)
    shape = ["n", "c"] if is_open else x.shape
    infos = [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), shape)]
    graph = helper.make_graph([node], "graph", infos, [onnx.ValueInfoProto(name="y")])
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10), path)
    return intarsia.compile(path, tune="off", fallback="none", backends=[backend]).load().bind()


@pytest.mark.parametrize("is_open", (False, True), ids=("known", "open"))
@pytest.mark.parametrize("dtype", (np.float32, np.float64, np.float16))
def test_samples_of_the_reference(dtype, is_open, tmp_path):
    x = (3 * random.standard_normal((4, 6))).astype(dtype)
    x[0, 2], x[1] = -np.inf, np.nan
    ours, reference = (
        session_of(tmp_path, backend, x, 50, is_open, seed=3.0, dtype=onnx.TensorProto.INT64)
        for backend in ("halide", "reference")
    )
    for inputs in [x, x[:1]] if is_open else [x]:
        got, want = ours.run({"x": inputs})["y"], reference.run({"x": inputs})["y"]
        np.testing.assert_array_equal(got, want, strict=True)


def test_shares(tmp_path):
    shares = np.array([[0.1, 0.6, 0.3], [1, 0, 0]])
    with np.errstate(divide="ignore"):
        x = np.log(shares).astype(np.float32) + 5
    samples = session_of(tmp_path, "halide", x, 20000, seed=1.0).run({"x": x})["y"]
    assert samples.dtype == np.int32
    got = [np.bincount(row, minlength=3) / row.size for row in samples]
    np.testing.assert_allclose(got, shares, atol=0.02)


def test_one_class(tmp_path):
    x = random.standard_normal((3, 1)).astype(np.float32)
    assert not session_of(tmp_path, "halide", x, 4, seed=1.0).run({"x": x})["y"].any()


def test_without_a_seed(tmp_path):
    x = random.standard_normal((3, 2)).astype(np.float32)
    with pytest.raises(intarsia.Error, match="without a seed"):
        session_of(tmp_path, "halide", x, 4)
