"""TensorFlow's operators whose output's size is data (Where, Unique, NonMaxSuppression) in our compiler alone, of open sizes, between operators
that need the size, against TensorFlow.

Covers: src/translate/ indexing.cc image.cc src/compile/ translating_target.cc
backends/halide/canonicalize/ canonicalize_counted.cc backends/halide/routines/ counted.cc unique.cc boxes.cc
"""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

import intarsia

random = np.random.default_rng(5)


def expect_equal(tmp_path, function, signature, runs, backends=("halide",)):
    """Compiles `function`, whose arguments are named as in `runs`, for these backends alone."""
    specs = [tf.TensorSpec(shape, dtype, name) for name, (shape, dtype) in signature.items()]
    concrete = convert_variables_to_constants_v2(tf.function(function).get_concrete_function(*specs))
    path = tmp_path / "model.pb"
    path.write_bytes(concrete.graph.as_graph_def().SerializeToString())
    session = intarsia.compile(path, tune="off", fallback="none", backends=list(backends)).load().bind()
    for inputs in runs:
        want = concrete(**{name: tf.constant(value) for name, value in inputs.items()})
        got = session.run(inputs)
        for one, tensor in zip(concrete.outputs, want, strict=True):
            np.testing.assert_array_equal(got[one.name.split(":")[0]], tensor.numpy(), strict=True)


def sparse(*sizes):
    return np.where(random.random(sizes) < 0.4, random.standard_normal(sizes), 0).astype("float32")


BACKENDS = pytest.mark.parametrize("backend", ("halide", "reference"))


@BACKENDS
def test_where(backend, tmp_path):
    def function(x):
        places = tf.where(x)
        return tf.identity(places, "places"), tf.add(tf.gather_nd(x, places), 1.0, "taken")

    runs = [{"x": sparse(*sizes)} for sizes in ((4, 5, 6), (1, 1, 1), (7, 2, 3))]
    runs += [{"x": np.zeros((2, 3, 4), "float32")}, {"x": np.ones((2, 3, 4), "float32")}]
    expect_equal(tmp_path, function, {"x": ([None, None, None], tf.float32)}, runs, [backend])


@BACKENDS
def test_where_of_known_sizes(backend, tmp_path):
    def function(c):
        return (tf.identity(tf.where(c), "places"),)

    runs = [{"c": random.random((5, 3)) < share} for share in (0, 0.5, 1)]
    expect_equal(tmp_path, function, {"c": ([5, 3], tf.bool)}, runs, [backend])


@BACKENDS
def test_boolean_mask(backend, tmp_path):
    def function(x, m):
        return (tf.multiply(tf.boolean_mask(x, m), 2.0, "taken"),)

    runs = [{"x": sparse(6, 3), "m": random.random(6) < share} for share in (0, 0.5, 1)]
    expect_equal(tmp_path, function, {"x": ([6, 3], tf.float32), "m": ([6], tf.bool)}, runs, [backend])


@BACKENDS
@pytest.mark.parametrize(
    "sizes, axes", (([None, 3], 1), ([None, None], 2), ([None, 4, 3], 2), ([5, None], 1))
)
def test_boolean_mask_of_open_sizes(sizes, axes, backend, tmp_path):
    def function(x, m):
        return (tf.multiply(tf.boolean_mask(x, m), 2.0, "taken"), tf.add(x, 1.0, "beside"))

    def run(size, share):
        x = sparse(*(one or size for one in sizes))
        return {"x": x, "m": random.random(x.shape[:axes]) < share}

    runs = [run(size, share) for size in (6, 1, 9) for share in (0, 0.5, 1)]
    signature = {"x": (sizes, tf.float32), "m": (sizes[:axes], tf.bool)}
    expect_equal(tmp_path, function, signature, runs, [backend])


@BACKENDS
def test_mask_that_is_computed(backend, tmp_path):
    """Of rows, of single elements, and along a later axis."""

    def function(x):
        rows = tf.boolean_mask(x, tf.reduce_sum(x, 1) > 0)
        columns = tf.boolean_mask(x, tf.reduce_sum(x, 0) > 0, axis=1)
        return (
            tf.multiply(rows, 2.0, "rows"),
            tf.multiply(columns, 2.0, "columns"),
            tf.multiply(x[x > 0], 2.0, "elements"),
        )

    runs = [{"x": sparse(size, 4)} for size in (3, 1, 8)]
    expect_equal(tmp_path, function, {"x": ([None, 4], tf.float32)}, runs, [backend])


def few(dtype, *sizes):
    """Few different numbers, also NaN, of which TensorFlow takes each for one of its own, and both zeros."""
    return random.choice(np.array([1.5, -2, np.nan, -0.0, 0, np.inf], dtype), sizes)


@BACKENDS
@pytest.mark.parametrize("dtype", (tf.float32, tf.float64), ids=lambda dtype: dtype.name)
def test_unique_of_floats(dtype, backend, tmp_path):
    def function(x):
        values, groups, counts = tf.unique_with_counts(x)
        return tf.identity(values, "values"), tf.identity(groups, "groups"), tf.identity(counts, "counts")

    numbers = dtype.as_numpy_dtype
    runs = [{"x": few(numbers, size)} for size in (30, 4, 0, 1)]
    runs += [{"x": random.standard_normal(500).astype(numbers)}, {"x": np.full(50, np.nan, numbers)}]
    runs += [{"x": np.tile(np.array([1, 2, np.nan, 3, 1, 1, 1, 1], numbers), 20)}]
    expect_equal(tmp_path, function, {"x": ([None], dtype)}, runs, [backend])


@BACKENDS
@pytest.mark.parametrize("axis", (0, 1))
@pytest.mark.parametrize("dtype", (tf.float32, tf.int64), ids=lambda dtype: dtype.name)
def test_unique_along_an_axis(dtype, axis, backend, tmp_path):
    def function(x):
        values, groups, counts = tf.raw_ops.UniqueWithCountsV2(x=x, axis=[axis], out_idx=tf.int64)
        others = tf.raw_ops.UniqueV2(x=x, axis=[axis])
        names = ("values", "groups", "counts", "others", "groups_of_others")
        return tuple(
            tf.identity(value, f"{name}_out")
            for name, value in zip(names, [values, groups, counts, *others], strict=True)
        )

    def run(*sizes):
        x = few("float32", *sizes)
        return {"x": x if dtype == tf.float32 else np.nan_to_num(x, posinf=7).astype("int64")}

    runs = [run(*sizes) for sizes in ((12, 2), (1, 1), (2, 40), (60, 3))]
    expect_equal(tmp_path, function, {"x": ([None, None], dtype)}, runs, [backend])


@BACKENDS
def test_unique(backend, tmp_path):
    def function(x):
        values, groups = tf.unique(x)
        return (
            tf.identity(values, "values"),
            tf.identity(groups, "groups"),
            tf.gather(values, groups, name="again"),
        )

    runs = [{"x": random.integers(-3, 4, size)} for size in (15, 1, 200)]
    expect_equal(tmp_path, function, {"x": ([None], tf.int64)}, runs, [backend])


@BACKENDS
def test_groups_alone(backend, tmp_path):
    def function(x):
        return (tf.identity(tf.unique(x)[1], "groups"),)

    runs = [{"x": random.integers(0, 9, 30).astype("int32")}]
    expect_equal(tmp_path, function, {"x": ([None], tf.int32)}, runs, [backend])


@BACKENDS
@pytest.mark.parametrize("index", (tf.int32, tf.int64), ids=lambda dtype: dtype.name)
def test_counts(index, backend, tmp_path):
    def function(x):
        values, groups, counts = tf.unique_with_counts(x, index)
        return tf.identity(values, "values"), tf.identity(groups, "groups"), tf.identity(counts, "counts")

    runs = [{"x": random.integers(0, 5, size)} for size in (30, 4, 0)]
    expect_equal(tmp_path, function, {"x": ([None], tf.int64)}, runs, [backend])


def boxes(count):
    corners = random.integers(0, 12, (count, 2, 2)).astype("float32")
    return {
        "boxes": np.concatenate([corners[:, 0], corners[:, 1]], 1),
        "scores": (random.integers(0, 8, count) / 8).astype("float32"),
    }


@BACKENDS
@pytest.mark.parametrize(
    "most, overlap, score", ((5, 0.5, 0.1), (100, 0.7, -np.inf), (0, 0.0, 0.5), (100, 1, 2))
)
def test_non_max_suppression(backend, most, overlap, score, tmp_path):
    def function(boxes, scores):
        places = tf.raw_ops.NonMaxSuppressionV3(
            boxes=boxes,
            scores=scores,
            max_output_size=most,
            iou_threshold=np.float32(overlap),
            score_threshold=np.float32(score),
        )
        return tf.identity(places, "places"), tf.gather(boxes, places, name="left")

    signature = {"boxes": ([None, 4], tf.float32), "scores": ([None], tf.float32)}
    runs = [boxes(count) for count in (12, 1, 300)]
    runs[0]["scores"][3:5] = [np.nan, np.inf]
    # The boxes share 7 of 10, which is more than 0.7 in f64 alone.
    rounded = np.array([[0, 0, 1, 10], [0, 0, 1, 7]], "float32")
    runs.append({"boxes": rounded, "scores": np.array([0.9, 0.8], "float32")})
    expect_equal(tmp_path, function, signature, runs, [backend])


@BACKENDS
@pytest.mark.parametrize("is_padded", (False, True), ids=("counted", "padded"))
@pytest.mark.parametrize(
    "most, overlap, score, sigma",
    ((7, 0.5, 0.1, 0), (40, 0.7, 0.2, 0.5), (300, 1, 0.001, 0.05), (1, 0, 0, 2)),
)
def test_soft_suppression(backend, is_padded, most, overlap, score, sigma, tmp_path):
    """Scores between others, which move candidates back, ties, NaN and infinite scores, none that is left."""

    def function(boxes, scores):
        common = {"boxes": boxes, "scores": scores, "pad_to_max_output_size": is_padded}
        limits = {"iou_threshold": np.float32(overlap), "score_threshold": np.float32(score)}
        soft = tf.raw_ops.NonMaxSuppressionV5(
            **common, **limits, max_output_size=most, soft_nms_sigma=np.float32(sigma)
        )
        hard = tf.raw_ops.NonMaxSuppressionV4(**common, **limits, max_output_size=most)
        names = ("places", "scores", "count", "hard", "hard_count")
        return tuple(
            tf.identity(value, f"{name}_out") for name, value in zip(names, [*soft, *hard], strict=True)
        )

    signature = {"boxes": ([None, 4], tf.float32), "scores": ([None], tf.float32)}
    runs = [boxes(count) for count in (12, 1, 300)]
    runs[0]["scores"][3:6] = [np.nan, np.inf, -np.inf]
    runs[2]["scores"] = random.standard_normal(300).astype("float32")
    runs.append({**runs[2], "scores": np.full(300, -2, "float32")})
    expect_equal(tmp_path, function, signature, runs, [backend])


def test_refused_limits_stay_in_tensorflow(tmp_path):
    """TensorFlow says what is wrong with an overlap of 2, and where."""

    def function(boxes, scores):
        return (
            tf.raw_ops.NonMaxSuppressionV2(boxes=boxes, scores=scores, max_output_size=3, iou_threshold=2.0),
        )

    with pytest.raises(intarsia.Error, match="with an overlap of 2"):
        expect_equal(
            tmp_path, function, {"boxes": ([5, 4], tf.float32), "scores": ([5], tf.float32)}, [], ["halide"]
        )
