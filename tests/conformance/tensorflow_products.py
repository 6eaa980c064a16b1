"""Cases of products, reductions and operators that sort or accumulate along an axis."""

import numpy as np
from tensorflow_operators import array, booleans, case, integers, normal, op, uniform, values_of


def attention_of_keras(tf, x):
    """The products of Keras' MultiHeadAttention, of 2 heads."""
    random = np.random.default_rng(3)
    weights = lambda *shape: (0.3 * random.normal(size=shape)).astype("float32")
    x = tf.reshape(x, [tf.shape(x)[0], tf.shape(x)[1], 16])
    query, key, value = (tf.einsum("abc,cde->abde", x, weights(16, 2, 8)) for _ in range(3))
    scores = tf.nn.softmax(tf.einsum("BTNH,BSNH->BNTS", query, key))
    mixed = tf.einsum("BNTS,BSNH->BTNH", scores, value)
    return tf.einsum("abcd,cde->abe", mixed, weights(2, 8, 16))


PRODUCTS = [
    *(
        op(
            f"MatMul.{a}{b}",
            {"a": normal(*((4, 6) if a == "n" else (6, 4))), "b": normal(*((6, 5) if b == "n" else (5, 6)))},
            transpose_a=a == "t",
            transpose_b=b == "t",
        )
        for a in "nt"
        for b in "nt"
    ),
    op("MatMul.weights", {"a": normal(3, 32)}, b=normal(32, 10)),
    op("MatMul.weights_transposed", {"a": normal(3, 32)}, b=normal(10, 32), transpose_b=True),
    op("MatMul.vector", {"a": normal(1, 64)}, b=normal(64, 1)),
    op("MatMul.float64", {"a": normal(3, 8, dtype="float64"), "b": normal(8, 4, dtype="float64")}),
    op("MatMul.float16", {"a": normal(3, 8, dtype="float16"), "b": normal(8, 4, dtype="float16")}),
    op("MatMul.int32", {"a": integers(-9, 9, 3, 8), "b": integers(-9, 9, 8, 4)}),
    op(
        "MatMul.int64", {"a": integers(-9, 9, 3, 8, dtype="int64"), "b": integers(-9, 9, 8, 4, dtype="int64")}
    ),
    case(
        "MatMul.bias_relu",
        {"x": normal(3, 16)},
        lambda tf, x: tf.nn.relu(
            tf.nn.bias_add(x @ np.eye(16, 8, dtype="float32"), np.arange(8, dtype="float32") - 4)
        ),
    ),
    op("BatchMatMul", {"x": normal(2, 3, 4), "y": normal(2, 4, 5)}),
    op("BatchMatMul.adjoint", {"x": normal(2, 4, 3), "y": normal(2, 5, 4)}, adj_x=True, adj_y=True),
    *(
        op(
            f"{name}.{what}",
            {"x": normal(*x), "y": normal(*y)},
            adj_x=adj_x,
            adj_y=adj_y,
            **({"Tout": "float32"} if name == "BatchMatMulV3" else {}),
        )
        for name in ("BatchMatMulV2", "BatchMatMulV3")
        for what, x, y, adj_x, adj_y in (
            ("plain", (2, 3, 4), (2, 4, 5), False, False),
            ("adj_x", (2, 4, 3), (2, 4, 5), True, False),
            ("adj_y", (2, 3, 4), (2, 5, 4), False, True),
            ("one_matrix", (2, 6, 3, 4), (4, 5), False, False),
            ("broadcast", (3, 1, 2, 4), (1, 2, 4, 3), False, False),
            ("matrix_first", (3, 4), (2, 4, 5), False, False),
            ("attention", (1, 2, 7, 8), (1, 2, 7, 8), False, True),
        )
    ),
    op("BatchMatMulV2.weights", {"x": normal(2, 7, 16)}, y=normal(16, 8)),
    op("BatchMatMulV2.int32", {"x": integers(-5, 5, 2, 3, 4), "y": integers(-5, 5, 2, 4, 2)}),
    *(
        case(
            "Einsum." + equation.replace(",", "_").replace("->", "_to_").replace("...", "x"),
            {f"a{i}": normal(*shape) for i, shape in enumerate(shapes)},
            lambda tf, equation=equation, **tensors: tf.raw_ops.Einsum(
                inputs=list(tensors.values()), equation=equation
            ),
        )
        for equation, *shapes in (
            ("ij,jk->ik", (3, 4), (4, 5)),
            ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
            ("bhid,bhjd->bhij", (1, 2, 5, 4), (1, 2, 6, 4)),
            ("bhij,bhjd->bihd", (1, 2, 5, 6), (1, 2, 6, 4)),
            ("abc,cde->abde", (2, 3, 4), (4, 2, 5)),
            ("aecd,abcd->acbe", (2, 3, 4, 5), (2, 6, 4, 5)),
            ("acbe,aecd->abcd", (2, 4, 6, 3), (2, 3, 4, 5)),
            ("abcd,cde->abe", (2, 3, 4, 5), (4, 5, 6)),
            ("...ij,jk->...ik", (2, 3, 4, 5), (5, 6)),
            ("ij->ji", (3, 4)),
            ("ii->i", (4, 4)),
            ("ij->i", (3, 4)),
            ("bij,bj->bi", (2, 3, 4), (2, 4)),
            ("i,j->ij", (3,), (4,)),
            ("i,i->", (5,), (5,)),
            ("ijk->kij", (2, 3, 4)),
        )
    ),
    case("Idiom.attention_of_keras", {"x": normal(2, 5, 16)}, attention_of_keras, open=("x",)),
    case(
        "Tensordot",
        {"x": normal(2, 3, 4), "y": normal(4, 3, 5)},
        lambda tf, x, y: tf.tensordot(x, y, [[1, 2], [1, 0]]),
    ),
    case(
        "Idiom.dense_rank3",
        {"x": normal(2, 5, 8)},
        lambda tf, x: tf.tensordot(x, np.eye(8, 6, dtype="float32"), [[2], [0]]) + 1,
        open=("x",),
    ),
    case(
        "Idiom.attention",
        {"q": normal(1, 2, 6, 8), "k": normal(1, 2, 6, 8), "v": normal(1, 2, 6, 8)},
        lambda tf, q, k, v: tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / 8**0.5) @ v,
    ),
    op("Cross", {"a": normal(4, 3), "b": normal(4, 3)}),
    op(
        "MatrixInverse",
        {"input": lambda random: (np.eye(4) * 3 + random.normal(size=(2, 4, 4))).astype("float32")},
    ),
    op(
        "Cholesky",
        {
            "input": lambda random: (lambda m: (m @ m.T + 4 * np.eye(4)).astype("float32"))(
                random.normal(size=(4, 4))
            )
        },
    ),
    op("MatrixDeterminant", {"input": normal(2, 3, 3)}),
]

SOFTMAX = [
    *(
        op(f"{name}.{dtype}", {"logits": normal(3, 7, dtype=dtype)})
        for name in ("Softmax", "LogSoftmax")
        for dtype in ("float32", "float64", "float16")
    ),
    *(
        op(f"{name}.rank{rank}", {"logits": normal(*(2, 3, 4, 9)[-rank:])})
        for name in ("Softmax", "LogSoftmax")
        for rank in (1, 3, 4)
    ),
    op("Softmax.large", {"logits": uniform(-200, 200, 4, 9)}),
    case("Softmax.axis1", {"x": normal(2, 5, 3)}, lambda tf, x: tf.nn.softmax(x, 1)),
    case("LogSoftmax.axis0", {"x": normal(2, 5, 3)}, lambda tf, x: tf.nn.log_softmax(x, 0)),
    case("Idiom.logsumexp", {"x": normal(3, 5)}, lambda tf, x: tf.reduce_logsumexp(x, 1)),
    case(
        "Idiom.variance",
        {"x": normal(3, 5)},
        lambda tf, x: [tf.math.reduce_variance(x, 1), tf.math.reduce_std(x)],
    ),
    case(
        "SoftmaxCrossEntropyWithLogits",
        {"x": normal(3, 5)},
        lambda tf, x: tf.nn.softmax_cross_entropy_with_logits(np.eye(3, 5, dtype="float32"), x),
    ),
]

AXES = {
    "first": [0],
    "last": [-1],
    "inner": [1, 2],
    "negative": [-2, 0],
    "all": [0, 1, 2],
    "none": [],
    "scalar": np.int32(1),
}
REDUCTIONS = [
    *(
        op(
            f"{name}.{what}{'_kept' if keep else ''}",
            {"input": uniform(0.5, 1.5, 2, 3, 4) if name == "Prod" else normal(2, 3, 4)},
            axis=np.array(axis, "int32"),
            keep_dims=keep,
        )
        for name in ("Sum", "Mean", "Max", "Min", "Prod")
        for what, axis in AXES.items()
        for keep in (False, True)
    ),
    *(
        op(
            f"{name}.{what}",
            {"input": booleans(2, 3, 4, share=0.15 if name == "Any" else 0.85)},
            axis=np.array(axis, "int32"),
            keep_dims=what == "last",
        )
        for name in ("Any", "All")
        for what, axis in AXES.items()
    ),
    *(
        op(f"{name}.{dtype}", {"input": values_of(dtype, 3, 5)}, axis=[1])
        for name in ("Sum", "Mean", "Max", "Min", "Prod")
        for dtype in ("float64", "int32", "int64")
    ),
    op("Sum.float16", {"input": normal(3, 5, dtype="float16")}, axis=[1]),
    op("Max.float16", {"input": normal(3, 5, dtype="float16")}, axis=[1]),
    op("Sum.int64_axes", {"input": normal(2, 3, 4)}, axis=np.array([1], "int64")),
    op("Sum.many", {"input": normal(4, 3000)}, axis=[1]),
    op("Mean.many", {"input": normal(300, 40)}, axis=[0]),
    op("Sum.of_none", {"input": np.zeros((3, 0), "float32")}, axis=[1]),
    op("Max.of_none", {"input": np.zeros((3, 0), "float32")}, axis=[1]),
    op("EuclideanNorm", {"input": normal(3, 5)}, axis=[1]),
    case("Idiom.norm", {"x": normal(3, 5)}, lambda tf, x: tf.norm(x, axis=1)),
    case("Mean.square", {"x": normal(3, 5)}, lambda tf, x: tf.reduce_mean(tf.square(x), -1, keepdims=True)),
    case(
        "Sum.open",
        {"x": normal(3, 5, 2)},
        lambda tf, x: tf.reduce_sum(x, [1, 2]) / tf.cast(tf.size(x), tf.float32),
        open=("x",),
    ),
]

ARGUMENTS = [
    *(
        op(f"{name}.{what}", {"input": normal(3, 4, 5)}, dimension=np.int32(axis), output_type=dtype)
        for name in ("ArgMax", "ArgMin")
        for what, axis, dtype in (("first", 0, "int64"), ("last", -1, "int64"), ("middle_int32", 1, "int32"))
    ),
    op("ArgMax.ties", {"input": array([[1, 3, 3], [2, 2, 2], [5, 5, 1]])}, dimension=np.int32(1)),
    op("ArgMin.ties", {"input": array([[1, 1, 3], [2, 2, 2], [5, 1, 1]])}, dimension=np.int32(1)),
    op("ArgMax.int32", {"input": array([[1, 3, 2], [7, 5, 2]], "int32")}, dimension=np.int32(1)),
    *(
        op(
            f"{name}.{what}",
            {"x": uniform(0.5, 1.5, 3, 4, 5)},
            axis=np.int32(axis),
            exclusive=exclusive,
            reverse=reverse,
        )
        for name in ("Cumsum", "Cumprod")
        for what, axis, exclusive, reverse in (
            ("plain", 0, False, False),
            ("exclusive", 1, True, False),
            ("reverse", -1, False, True),
            ("both", 1, True, True),
        )
    ),
    op("Cumsum.int32", {"x": integers(-5, 5, 3, 4)}, axis=np.int32(1)),
    op("CumulativeLogsumexp", {"x": normal(3, 4)}, axis=np.int32(1)),
    op("TopKV2", {"input": normal(3, 9)}, k=np.int32(4)),
    op("TopKV2.all", {"input": normal(2, 3, 5)}, k=np.int32(5)),
    op(
        "TopKV2.int32",
        {"input": lambda random: random.permutation(20).astype("int32").reshape(2, 10)},
        k=np.int32(3),
    ),
    op("TopKV2.ties", {"input": array([[1, 2, 2, 1, 2], [3, 3, 3, 3, 3]])}, k=np.int32(3)),
    case("Sort", {"x": normal(3, 9)}, lambda tf, x: [tf.sort(x), tf.argsort(x, direction="DESCENDING")]),
    op("InTopKV2", {"predictions": normal(4, 6), "targets": integers(0, 6, 4)}, k=np.int32(2)),
    op("InTopK", {"predictions": normal(4, 6), "targets": integers(0, 6, 4)}, k=3),
    op("NthElement", {"input": normal(3, 7)}, n=np.int32(2)),
    op("LowerBound", {"sorted_inputs": array([[1, 2, 2, 3, 9]]), "values": array([[0, 2, 3, 10]])}),
    op("UpperBound", {"sorted_inputs": array([[1, 2, 2, 3, 9]]), "values": array([[0, 2, 3, 10]])}),
    op("Bincount", {"arr": integers(0, 6, 20), "weights": np.zeros(0, "float32")}, size=np.int32(6)),
    op("DenseBincount", {"input": integers(0, 6, 20), "weights": normal(20)}, size=np.int32(6)),
    op("SegmentSum", {"data": normal(6, 3)}, segment_ids=array([0, 0, 1, 1, 1, 3], "int32")),
    op("SegmentMean", {"data": normal(6, 3), "segment_ids": array([0, 0, 1, 1, 1, 3], "int32")}),
    op(
        "UnsortedSegmentSum",
        {"data": normal(6, 3), "segment_ids": integers(0, 4, 6)},
        num_segments=np.int32(4),
    ),
    op(
        "UnsortedSegmentMax",
        {"data": normal(6, 3)},
        segment_ids=array([2, 0, 1, 1, 0, 2], "int32"),
        num_segments=np.int32(3),
    ),
]

CASES = [*PRODUCTS, *SOFTMAX, *REDUCTIONS, *ARGUMENTS]
