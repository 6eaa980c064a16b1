"""Samples of images (GridSample, DeformConv) of few and many channels in our compiler, against our reference kernels: NaN and infinity in the image,
which points outside of it do not read, and among the coordinates; one thread and two; images whose channels are innermost.

Covers: backends/halide/build/ build_grid_sample.cc backends/halide/canonicalize/ canonicalize_sampling.cc backends/halide/routines/ regions.cc
"""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import intarsia

random = np.random.default_rng(11)


def expect_equal(tmp_path, nodes, inputs, constants=(), threads=1):
    graph = helper.make_graph(
        nodes,
        "graph",
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape)
            for name, array in inputs.items()
        ],
        [onnx.ValueInfoProto(name="y")],
        [numpy_helper.from_array(array, name) for name, array in constants],
    )
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10), path)
    ours, reference = (
        intarsia.compile(path, tune="off", fallback="none", backends=[backend], threads=threads)
        .load()
        .bind(threads=threads)
        .run(inputs)["y"]
        for backend in ("halide", "reference")
    )
    np.testing.assert_allclose(ours, reference, rtol=1e-4, atol=1e-4, strict=True)


def with_special_values(*sizes):
    image = random.standard_normal(sizes).astype("float32")
    image[..., 0, 0], image[..., -1, -1], image[:, 1, 2, :] = np.nan, np.inf, -np.inf
    return image


def coordinates(*sizes):
    """Inside, at the edge, outside, far away and nowhere."""
    grid = random.uniform(-1.3, 1.3, sizes).astype("float32")
    grid.reshape(-1)[:8] = [np.nan, np.inf, -np.inf, 3e38, -1, 1, 1e9, -1e10]
    return grid


@pytest.mark.parametrize("threads", (1, 2))
@pytest.mark.parametrize("channels", (3, 40))
@pytest.mark.parametrize("mode, padding", (("linear", "zeros"), ("nearest", "zeros"), ("cubic", "border")))
def test_grid_sample(mode, padding, channels, threads, tmp_path):
    image = with_special_values(2, channels, 19, 23)
    if padding != "zeros":  # a weight of 0 times infinity is NaN, wherever the tap is
        image = random.standard_normal(image.shape).astype("float32")
    node = helper.make_node("GridSample", ["x", "g"], ["y"], mode=mode, padding_mode=padding)
    expect_equal(tmp_path, [node], {"x": image, "g": coordinates(2, 11, 21, 2)}, threads=threads)


@pytest.mark.parametrize("points", ((1, 300), (300, 1)), ids=("row", "column"))
def test_points(points, tmp_path):
    """Few points of a large image, which is not copied, and many."""
    for size in (7, 90):
        node = helper.make_node("GridSample", ["x", "g"], ["y"])
        inputs = {"x": with_special_values(1, 24, size, size), "g": coordinates(1, *points, 2)}
        expect_equal(tmp_path, [node], inputs, threads=2)


@pytest.mark.parametrize("channels, group, offset_group", ((6, 1, 2), (48, 3, 2), (32, 1, 1)))
def test_deform_conv(channels, group, offset_group, tmp_path):
    image = with_special_values(2, channels, 9, 12)
    weights = random.standard_normal((6, channels // group, 3, 2)).astype("float32")
    offsets = 2 * random.standard_normal((2, 12 * offset_group, 9, 13)).astype("float32")
    offsets.reshape(-1)[:3] = [np.nan, np.inf, 1e20]
    mask = random.random((2, 6 * offset_group, 9, 13)).astype("float32")
    node = helper.make_node(
        "DeformConv",
        ["x", "w", "o", "", "m"],
        ["y"],
        pads=[1, 1, 1, 1],
        group=group,
        offset_group=offset_group,
    )
    finite = np.nan_to_num(image, posinf=2, neginf=-3)
    for x in (image, finite):
        expect_equal(tmp_path, [node], {"x": x, "o": offsets, "m": mask}, [("w", weights)], threads=2)


def test_channels_that_are_innermost(tmp_path):
    """Between convolutions, which compute and read vectors of channels."""
    weights = random.standard_normal((16, 16, 1, 1)).astype("float32")
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"]),
        helper.make_node("GridSample", ["a", "g"], ["b"]),
        helper.make_node("Relu", ["b"], ["c"]),
        helper.make_node("Conv", ["c", "w"], ["y"]),
    ]
    inputs = {
        "x": random.standard_normal((1, 16, 9, 20)).astype("float32"),
        "g": coordinates(1, 13, 18, 2),
    }
    expect_equal(tmp_path, nodes, inputs, [("w", weights)], threads=2)


@pytest.mark.parametrize("is_open", (False, True), ids=("known", "open"))
@pytest.mark.parametrize("edge", (np.nan, 1e12, -np.inf))
def test_regions_too_far_away_are_errors(edge, is_open, tmp_path):
    """What a function finds wrong that a kernel calls."""
    node = helper.make_node("RoiAlign", ["x", "r", "i"], ["y"], output_height=2, output_width=2)
    count = "n" if is_open else 3
    infos = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 8, 9]),
        helper.make_tensor_value_info("r", TensorProto.FLOAT, [count, 4]),
        helper.make_tensor_value_info("i", TensorProto.INT64, [count]),
    ]
    graph = helper.make_graph([node], "graph", infos, [onnx.ValueInfoProto(name="y")])
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10), path)
    session = intarsia.compile(path, tune="off", fallback="none", backends=["halide"]).load().bind()
    inputs = {
        "x": random.standard_normal((1, 2, 8, 9)).astype(np.float32),
        "r": np.ones((3, 4), np.float32),
        "i": np.zeros(3, np.int64),
    }
    want = session.run(inputs)["y"].copy()
    regions = inputs["r"].copy()
    regions[1, 2] = edge
    with pytest.raises(intarsia.Error, match="a region is too large or too far away"):
        session.run({**inputs, "r": regions})
    np.testing.assert_array_equal(session.run(inputs)["y"], want)
