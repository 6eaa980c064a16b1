"""Operators whose output's size is data (NonZero, Compress, NonMaxSuppression, Unique) in our compiler alone, between operators that need the
size, against our reference kernels: with known sizes and open ones, of none, some and all elements.

Covers: backends/halide/canonicalize/ canonicalize_counted.cc backends/halide/routines/ counted.cc unique.cc boxes.cc backends/halide/abi/ counted.h
"""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import intarsia

random = np.random.default_rng(3)


def model_of(nodes, inputs, outputs, constants=(), is_open=False):
    """`inputs`: arrays by name. Each axis is open under a name of its own, or known."""
    infos = [
        helper.make_tensor_value_info(
            name,
            helper.np_dtype_to_tensor_dtype(array.dtype),
            [f"{name}{axis}" for axis in range(array.ndim)] if is_open else array.shape,
        )
        for name, array in inputs.items()
    ]
    graph = helper.make_graph(
        [helper.make_node(op, of, made, f"{op}{i}", **rest) for i, (op, of, made, rest) in enumerate(nodes)],
        "graph",
        infos,
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in constants],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def expect_equal(tmp_path, nodes, runs, outputs, constants=(), is_open=False):
    """Runs all of `runs`, of which only the open sizes differ, in both backends."""
    path = tmp_path / "model.onnx"
    onnx.save(model_of(nodes, runs[0], outputs, constants, is_open), path)
    ours, reference = (
        intarsia.compile(path, tune="off", fallback="none", backends=[backend]).load().bind()
        for backend in ("halide", "reference")
    )
    for inputs in runs:
        for one, other in zip(ours.run(inputs).values(), reference.run(inputs).values(), strict=True):
            assert one.dtype == other.dtype and one.shape == other.shape
            np.testing.assert_array_equal(one, other)


def sparse(*sizes, dtype=np.float32, share=0.4):
    x = random.integers(-3, 4, sizes).astype(dtype)
    return np.where(random.random(sizes) < share, x, np.zeros((), dtype)).astype(dtype)


@pytest.mark.parametrize("is_open", (False, True), ids=("known", "open"))
@pytest.mark.parametrize("dtype", (np.float32, np.int64, bool))
def test_non_zero(dtype, is_open, tmp_path):
    runs = [{"x": sparse(5, 4, 6, dtype=dtype, share=share)} for share in (0.4, 0, 1)]
    if is_open:
        runs += [{"x": sparse(*sizes, dtype=dtype)} for sizes in ((1, 1, 1), (7, 2, 3), (3, 0, 2))]
    nodes = [
        ("NonZero", ["x"], ["places"], {}),
        ("Transpose", ["places"], ["rows"], {}),
        ("GatherND", ["x", "rows"], ["taken"], {}),
    ]
    expect_equal(tmp_path, nodes, runs, ["places", "rows", "taken"], is_open=is_open)


def test_non_zero_of_a_transposed_input(tmp_path):
    nodes = [
        ("Transpose", ["x"], ["t"], {"perm": [2, 0, 1]}),
        ("Abs", ["t"], ["a"], {}),
        ("NonZero", ["a"], ["places"], {}),
    ]
    expect_equal(tmp_path, nodes, [{"x": sparse(4, 5, 3)}], ["places", "a"])


@pytest.mark.parametrize("dtype", (np.float32, np.float16, bool))
def test_non_zero_of_a_scalar(dtype, tmp_path):
    """Its places have no numbers, but there are as many."""
    runs = [{"x": np.array(x, dtype)} for x in (0, 1)]
    expect_equal(tmp_path, [("NonZero", ["x"], ["places"], {})], runs, ["places"])


def test_non_zero_of_nan(tmp_path):
    x = np.array([0, -0.0, np.nan, np.inf, 1e-45], np.float32)
    expect_equal(tmp_path, [("NonZero", ["x"], ["y"], {})], [{"x": x}], ["y"])


def test_one_after_the_other(tmp_path):
    """Each ends a region, and the next reads what it left."""
    nodes = [
        ("NonZero", ["x"], ["places"], {}),
        ("Transpose", ["places"], ["rows"], {}),
        ("GatherND", ["x", "rows"], ["taken"], {}),
        ("Greater", ["taken", "zero"], ["above"], {}),
        ("Compress", ["taken", "above"], ["kept"], {"axis": 0}),
        ("Unique", ["kept"], ["distinct", "", "", "counts"], {}),
        ("ReduceMax", ["counts"], ["most"], {"keepdims": 0}),
        ("Relu", ["x"], ["beside"], {}),
    ]
    constants = [("zero", np.array(0, np.float32))]
    expect_equal(tmp_path, nodes, [{"x": sparse(9, 8)}], ["distinct", "most", "beside"], constants)


def test_two_side_by_side(tmp_path):
    nodes = [
        ("NonZero", ["x"], ["a"], {}),
        ("NonZero", ["y"], ["b"], {}),
        ("Concat", ["a", "b"], ["both"], {"axis": 1}),
    ]
    expect_equal(tmp_path, nodes, [{"x": sparse(4, 5), "y": sparse(3, 2)}], ["a", "b", "both"])


@pytest.mark.parametrize("is_open", (False, True), ids=("known", "open"))
@pytest.mark.parametrize("axis, dtype", ((None, np.float32), (0, np.float16), (1, np.int64), (-1, np.uint8)))
def test_compress(axis, dtype, is_open, tmp_path):
    tests = {None: 24, 0: 2, 1: 3, -1: 4}[axis]
    rest = {} if axis is None else {"axis": axis}
    runs = [
        {"x": sparse(2, 3, 4, dtype=dtype, share=1), "c": random.random(tests) < share}
        for share in (0.5, 0, 1)
    ]
    if not is_open:
        runs = [dict(run, c=run["c"][: tests - 1]) for run in runs]
    nodes = [("Compress", ["x", "c"], ["y"], rest), ("Shape", ["y"], ["shape"], {})]
    expect_equal(tmp_path, nodes, runs, ["y", "shape"], is_open=is_open)


def test_a_condition_that_is_too_long_is_an_error(tmp_path):
    nodes = [("Compress", ["x", "c"], ["y"], {"axis": 0})]
    inputs = {"x": sparse(4), "c": np.ones(4, bool)}
    onnx.save(model_of(nodes, inputs, ["y"], is_open=True), tmp_path / "m.onnx")
    session = (
        intarsia.compile(tmp_path / "m.onnx", tune="off", fallback="none", backends=["halide"]).load().bind()
    )
    with pytest.raises(intarsia.Error, match="a condition of c0 for x0"):
        session.run({"x": sparse(4), "c": np.ones(5, bool)})
    assert session.run(inputs)["y"].shape == (4,)


def values(dtype, size):
    x = random.integers(0, 6, size).astype(dtype)
    if np.issubdtype(dtype, np.floating):
        x[:4] = [np.nan, -0.0, np.inf, np.nan]
        x[4:6] = [0.0, -np.inf]
    return x


@pytest.mark.parametrize("is_sorted", (0, 1), ids=("in order of places", "sorted"))
@pytest.mark.parametrize("dtype", (np.float32, np.float64, np.float16, np.int8, np.uint64, bool))
def test_unique(dtype, is_sorted, tmp_path):
    nodes = [
        ("Unique", ["x"], ["y", "places", "groups", "counts"], {"sorted": is_sorted}),
        ("Gather", ["y", "groups"], ["again"], {}),
    ]
    outputs = ["y", "places", "groups", "counts", "again"]
    runs = [{"x": values(dtype, size)} for size in (40, 8, 500)]
    expect_equal(
        tmp_path, nodes, [*runs, {"x": np.ones(1, dtype)}, {"x": np.ones(0, dtype)}], outputs, is_open=True
    )


def colliding(count):
    """Numbers that the hash function maps to 0, 1, 2 ..., so that all want the first slot of a table."""
    mixed = np.arange(count, dtype=np.uint64) * np.uint64(pow(0x9E3779B97F4A7C15, -1, 2**64))
    return (mixed ^ mixed >> np.uint64(32)).view(np.int64) ^ np.int64(-(2**63))


@pytest.mark.parametrize("is_sorted", (0, 1), ids=("in order of places", "sorted"))
def test_unique_of_many(is_sorted, tmp_path):
    """All equal, few distinct, about as many as a hash table takes, all distinct, and keys that collide in it."""
    size = 20000
    runs = [
        *(random.integers(0, most, size) * 2**33 - most for most in (1, 100, 6000, 2**30)),
        random.permutation(size),
        np.tile(colliding(4000), 5),
    ]
    nodes = [("Unique", ["x"], ["y", "places", "groups", "counts"], {"sorted": is_sorted})]
    outputs = ["y", "places", "groups", "counts"]
    expect_equal(tmp_path, nodes, [{"x": x} for x in runs], outputs)
    small = [{"x": (x % 2**31).astype(np.int32)} for x in runs]
    expect_equal(tmp_path, nodes, small, outputs)


def test_unique_of_a_matrix(tmp_path):
    runs = [{"x": random.integers(-9, 9, (7, 5))}]
    expect_equal(tmp_path, [("Unique", ["x"], ["y", "", "g"], {})], runs, ["y", "g"])


@pytest.mark.parametrize("is_open", (False, True), ids=("known", "open"))
@pytest.mark.parametrize("is_sorted", (0, 1), ids=("in order of places", "sorted"))
@pytest.mark.parametrize("axis, dtype", ((0, np.float32), (1, np.int64), (-1, np.float16), (1, np.uint8)))
def test_unique_along_an_axis(axis, dtype, is_sorted, is_open, tmp_path):
    nodes = [
        ("Unique", ["x"], ["y", "places", "groups", "counts"], {"sorted": is_sorted, "axis": axis}),
        ("Gather", ["y", "groups"], ["again"], {"axis": axis}),
    ]

    def slices(*sizes):
        few = random.integers(0, 2, sizes).astype(dtype)
        if dtype == np.float32:
            few[few == 0] = random.choice([np.nan, -0.0, 0, np.inf], np.count_nonzero(few == 0))
        return few

    runs = [{"x": slices(9, 8, 2)} for _ in range(3)]
    if is_open:
        runs += [{"x": slices(*sizes)} for sizes in ((1, 1, 1), (40, 3, 1), (2, 30, 5), (1, 2, 90))]
    expect_equal(tmp_path, nodes, runs, ["y", "places", "groups", "counts", "again"], is_open=is_open)


def test_unique_slices_of_nothing(tmp_path):
    nodes = [("Unique", ["x"], ["y"], {"axis": 0})]
    onnx.save(model_of(nodes, {"x": sparse(4, 3)}, ["y"], is_open=True), tmp_path / "m.onnx")
    compiled = intarsia.compile(tmp_path / "m.onnx", tune="off", fallback="none", backends=["halide"])
    with pytest.raises(intarsia.Error, match="Unique of slices of x1 elements"):
        compiled.load().bind().run({"x": sparse(4, 0)})


def misaligned(array):
    """An array of the same kind whose elements are not aligned."""
    room = np.zeros(array.nbytes + 1, np.uint8)
    return room[1:].view(array.dtype).reshape(array.shape)


def test_buffers_of_the_caller(tmp_path):
    """Each is filled if it has the shape of the result, also where a later region reads it; other shapes are errors."""
    nodes = [
        ("NonZero", ["x"], ["places"], {}),
        ("Unique", ["x"], ["y", "first", "groups", "counts"], {}),
        ("Compress", ["x", "c"], ["rows"], {"axis": 0}),
        ("Neg", ["rows"], ["less"], {}),
    ]
    names = ["places", "y", "first", "groups", "counts", "rows", "less"]
    inputs = {"x": sparse(6, 5), "c": np.array([1, 0, 1, 1, 0, 0], bool)}
    onnx.save(model_of(nodes, inputs, names), tmp_path / "m.onnx")
    compiled = intarsia.compile(tmp_path / "m.onnx", tune="off", fallback="none", backends=["halide"])
    session = compiled.load().bind()
    want = {name: np.array(array) for name, array in session.run(inputs).items()}

    def check(buffers):
        got = session.run(inputs, outputs=buffers)
        for name, buffer in buffers.items():
            assert got[name] is buffer
            np.testing.assert_array_equal(buffer, want[name])

    check({name: np.full_like(array, 77) for name, array in want.items()})
    check({name: misaligned(array) for name, array in want.items()})
    check({"rows": np.full_like(want["rows"], 77)})
    for name in ("places", "y", "rows"):
        for difference in (-1, 1):
            sizes = list(want[name].shape)
            sizes[1 if name == "places" else 0] += difference
            with pytest.raises(intarsia.Error, match=f"output '{name}' has shape"):
                session.run(inputs, outputs={name: np.empty(sizes, want[name].dtype)})
    for name, array in session.run(inputs).items():
        np.testing.assert_array_equal(array, want[name])
    inputs["c"][:] = False
    assert session.run(inputs, outputs={"rows": np.empty((0, 5), np.float32)})["rows"].shape == (0, 5)


def boxes(images, count):
    corners = random.integers(0, 12, (images, count, 2, 2)).astype(np.float32)
    return np.concatenate([corners[:, :, 0], corners[:, :, 1]], 2)


def suppression(images, classes, count):
    scores = (random.integers(0, 8, (images, classes, count)) / 8).astype(np.float32)
    return {"boxes": boxes(images, count), "scores": scores}


@pytest.mark.parametrize(
    "most, score, center", ((0, None, 0), (3, None, 1), (3, 0.25, 0), (100, 0.25, 1), (100, 2.0, 0))
)
def test_non_max_suppression(most, score, center, tmp_path):
    constants = [("most", np.array([most])), ("overlap", np.array([0.3], np.float32))]
    of = ["boxes", "scores", "most", "overlap"]
    if score is not None:
        constants.append(("score", np.array([score], np.float32)))
        of.append("score")
    nodes = [
        ("NonMaxSuppression", of, ["left"], {"center_point_box": center}),
        ("Gather", ["left", "column"], ["places"], {"axis": 1}),
    ]
    constants.append(("column", np.array(2)))
    runs = [suppression(2, 3, 20)]
    runs[0]["scores"][0, 0, 3:6] = np.nan
    expect_equal(tmp_path, nodes, runs, ["left", "places"], constants)


def test_non_max_suppression_with_given_limits(tmp_path):
    nodes = [("NonMaxSuppression", ["boxes", "scores", "most", "overlap", "score"], ["left"], {})]
    limits = [(5, 0.5, 0.1), (0, 0.5, 0.1), (-1, 0.5, 0), (1000, 0, -1)]
    runs = [
        suppression(1, 2, 30)
        | {"most": np.array(most), "overlap": np.array(o, np.float32), "score": np.array(s, np.float32)}
        for most, o, s in limits
    ]
    expect_equal(tmp_path, nodes, runs, ["left"])


def test_non_max_suppression_of_open_sizes(tmp_path):
    nodes = [("NonMaxSuppression", ["boxes", "scores", "most", "overlap"], ["left"], {})]
    constants = [("most", np.array([4])), ("overlap", np.array([0.4], np.float32))]
    model = model_of(nodes, suppression(1, 2, 9), ["left"], constants)
    for i, names in enumerate((["n", "b", 4], ["n", "c", "b"])):
        for axis, name in enumerate(names):
            if isinstance(name, str):
                model.graph.input[i].type.tensor_type.shape.dim[axis].dim_param = name
    onnx.save(model, tmp_path / "model.onnx")
    ours, reference = (
        intarsia.compile(tmp_path / "model.onnx", tune="off", fallback="none", backends=[backend])
        .load()
        .bind()
        for backend in ("halide", "reference")
    )
    for sizes in ((1, 2, 9), (3, 1, 40), (2, 2, 0), (1, 1, 1)):
        inputs = suppression(*sizes)
        np.testing.assert_array_equal(ours.run(inputs)["left"], reference.run(inputs)["left"])


def test_regions_end_where_sizes_are_counted(tmp_path):
    nodes = [
        ("Relu", ["x"], ["r"], {}),
        ("NonZero", ["r"], ["places"], {}),
        ("Transpose", ["places"], ["rows"], {}),
        ("Neg", ["r"], ["n"], {}),
    ]
    onnx.save(model_of(nodes, {"x": sparse(4, 5)}, ["rows", "n"]), tmp_path / "m.onnx")
    compiled = intarsia.compile(tmp_path / "m.onnx", tune="off", fallback="none", backends=["halide"])
    assert len(compiled.report["regions"]) == 2
