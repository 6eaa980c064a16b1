"""Cases of control flow, functions, lists, strings, spectra and small networks in one graph."""

import numpy as np
from tensorflow_operators import array, case, integers, normal, op, uniform
from tensorflow_windows import ramp


def in_v1(build):
    """The builder under control flow of TensorFlow 1: Switch, Merge, Enter, Exit, NextIteration."""

    def run(tf, **placeholders):
        tf.compat.v1.disable_control_flow_v2()
        try:
            return build(tf, **placeholders)
        finally:
            tf.compat.v1.enable_control_flow_v2()

    return run


def branch(tf, x):
    return tf.cond(tf.reduce_sum(x) > 0, lambda: tf.exp(x), lambda: x - 1) * 2


def loop(tf, x):
    return tf.while_loop(lambda i, s: i < 5, lambda i, s: (i + 1, tf.tanh(s @ ramp(4, 4) + x)), [0, x])[1]


def loop_until(tf, x):
    """Ends when the data says so."""
    return tf.while_loop(lambda s: tf.reduce_max(s) < 100, lambda s: [s * 2], [tf.abs(x) + 1])


def nested(tf, x):
    def outer(i, s):
        return i + 1, tf.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t * 0.9 + 0.1), [0, s])[1]

    return tf.while_loop(lambda i, s: i < 4, outer, [0, x])[1]


def function(tf, body):
    return tf.function(body, autograph=False)


def nested_calls(tf, x):
    return function(tf, lambda y: function(tf, lambda z: tf.exp(z))(y) + function(tf, lambda z: z * z)(y))(x)


CONTROL = [
    case("If", {"x": normal(3, 4)}, branch),
    case("If.other", {"x": uniform(-2, -1, 3, 4)}, branch),
    case("If.v1", {"x": normal(3, 4)}, in_v1(branch)),
    case("If.v1_other", {"x": uniform(-2, -1, 3, 4)}, in_v1(branch)),
    case(
        "Case",
        {"x": normal(3, 4), "i": array(1, "int32")},
        lambda tf, x, i: tf.switch_case(i, [lambda: x + 1, lambda: x * 2, lambda: tf.exp(x)]),
    ),
    case("While", {"x": normal(3, 4)}, loop),
    case("While.until", {"x": normal(3, 4)}, loop_until),
    case("While.nested", {"x": normal(3)}, nested),
    case("While.v1", {"x": normal(3, 4)}, in_v1(loop)),
    case("While.v1_until", {"x": normal(3, 4)}, in_v1(loop_until)),
    case("While.v1_nested", {"x": normal(3)}, in_v1(nested)),
    case(
        "While.between",
        {"x": normal(3, 4)},
        lambda tf, x: tf.nn.softmax(loop(tf, tf.nn.relu(x @ ramp(4, 4))) @ ramp(4, 6)),
    ),
    case(
        "While.v1_between",
        {"x": normal(3, 4)},
        in_v1(lambda tf, x: tf.nn.softmax(loop(tf, tf.nn.relu(x @ ramp(4, 4))) @ ramp(4, 6))),
    ),
    case("MapFn", {"x": normal(5, 4)}, lambda tf, x: tf.map_fn(lambda row: tf.reduce_sum(row) * row, x)),
    case("Scan", {"x": normal(5, 4)}, lambda tf, x: tf.scan(lambda s, row: s * 0.5 + row, x)),
    case(
        "TensorArray",
        {"x": normal(4, 3)},
        lambda tf, x: tf.TensorArray(tf.float32, 4).unstack(tf.tanh(x)).gather([2, 0]),
    ),
    case(
        "MapFn.v1",
        {"x": normal(5, 4)},
        in_v1(lambda tf, x: tf.map_fn(lambda row: tf.reduce_sum(row) * row, x)),
    ),
    case(
        "PartitionedCall",
        {"x": normal(3, 4)},
        lambda tf, x: function(tf, lambda y: tf.nn.relu(y @ ramp(4, 4)) + 1)(x) * 2,
    ),
    case("PartitionedCall.nested", {"x": normal(3, 4)}, nested_calls),
    case(
        "PartitionedCall.twice",
        {"x": normal(4, 4)},
        lambda tf, x: (lambda f: f(f(x)))(function(tf, lambda y: tf.tanh(y @ ramp(4, 4)))),
    ),
]

TEXTS = np.array([b"one two  three", b"", b"4 5.5", "größer".encode()])
STRINGS = [
    op("StringLower", {"input": np.array([b"AbC", b""])}),
    op("StringLength", {"input": TEXTS}),
    op("StringLength.utf8", {"input": TEXTS}, unit="UTF8_CHAR"),
    op("StringToHashBucketFast", {"input": TEXTS}, num_buckets=100),
    op("StringToNumber", {"string_tensor": np.array([b"1.5", b"-3", b"1e3"])}),
    op("AsString", {"input": integers(-99, 99, 5)}),
    op("AsString.float32", {"input": array([1.5, -2])}, precision=2),
    case("StringJoin", {"x": TEXTS, "y": TEXTS}, lambda tf, x, y: tf.strings.join([x, y], "-")),
    op("Substr", {"input": np.array([b"abcdef", b"xyzuvw"])}, pos=np.int32(1), len=np.int32(3)),
    op("RegexReplace", {"input": TEXTS}, pattern="[a-o]", rewrite="_"),
    op("StaticRegexFullMatch", {"input": TEXTS}, pattern=".*e.*"),
    case(
        "StringSplit",
        {"x": TEXTS},
        lambda tf, x: (lambda ragged: [ragged.flat_values, ragged.row_splits])(tf.strings.split(x)),
    ),
    case("StringSplit.padded", {"x": TEXTS}, lambda tf, x: tf.strings.split(x).to_tensor("-")),
    op("Equal.string", {"x": TEXTS, "y": np.array([b"", b"", b"4 5.5", b"x"])}),
    op("DecodeRaw", {"bytes": np.array([b"\x01\x02\x03\x04", b"\x05\x06\x07\x08"])}, out_type="uint8"),
    op("EncodeBase64", {"input": TEXTS}),
    op("ReduceJoin", {"inputs": TEXTS}, reduction_indices=[0], separator="|"),
    case(
        "Idiom.hash_embedding",
        {"x": TEXTS},
        lambda tf, x: tf.gather(ramp(50, 8), tf.strings.to_hash_bucket_fast(x, 50)) @ ramp(8, 4),
    ),
    case("DecodeJpeg", {"x": normal(1, 6, 7, 3)}, lambda tf, x: decode_encoded(tf, x)),
    case(
        "DecodePng",
        {"x": integers(0, 255, 6, 7, 3, dtype="uint8")},
        lambda tf, x: tf.io.decode_png(tf.io.encode_png(x)),
    ),
]


def decode_encoded(tf, x):
    pixels = tf.cast(tf.clip_by_value(x[0] * 60 + 128, 0, 255), tf.uint8)
    return (
        tf.cast(
            tf.io.decode_jpeg(tf.io.encode_jpeg(pixels, quality=100), dct_method="INTEGER_ACCURATE"),
            tf.float32,
        )
        / 255
    )


def spectrum(tf, x):
    return tf.abs(tf.signal.rfft(x))


SPECTRA = [
    case("RFFT", {"x": normal(2, 16)}, spectrum),
    case("RFFT.padded", {"x": normal(2, 12)}, lambda tf, x: tf.abs(tf.signal.rfft(x, [16]))),
    case("RFFT2D", {"x": normal(2, 8, 8)}, lambda tf, x: tf.abs(tf.signal.rfft2d(x))),
    case("IRFFT", {"x": normal(2, 16)}, lambda tf, x: tf.signal.irfft(tf.signal.rfft(x) * 2)),
    case("FFT", {"x": normal(8)}, lambda tf, x: tf.signal.fft(tf.cast(x, tf.complex64))),
    case(
        "Idiom.stft",
        {"x": normal(1, 128)},
        lambda tf, x: tf.math.log(tf.abs(tf.signal.stft(x, 32, 16)) + 0.1),
    ),
    case("Svd.values", {"x": normal(2, 5, 4)}, lambda tf, x: tf.linalg.svd(x, compute_uv=False)),
    case(
        "SelfAdjointEigV2.values", {"x": normal(4, 4)}, lambda tf, x: tf.linalg.eigvalsh(x @ tf.transpose(x))
    ),
    case(
        "MatrixSolve",
        {"x": normal(4, 4), "y": normal(4, 2)},
        lambda tf, x, y: tf.linalg.solve(x + 4 * np.eye(4, dtype="float32"), y),
    ),
    case(
        "Complex.parts",
        {"x": normal(5), "y": normal(5)},
        lambda tf, x, y: (lambda z: [tf.math.real(z), tf.math.imag(z), tf.abs(z)])(
            tf.complex(x, y) * tf.complex(x + 1, y)
        ),
    ),
]

RAGGED = [
    op(
        "RaggedRange",
        {},
        starts=array([0, 5], "int32"),
        limits=array([3, 9], "int32"),
        deltas=array([1, 2], "int32"),
    ),
    op(
        "SparseToDense",
        {"sparse_values": normal(2)},
        sparse_indices=np.array([[0, 1], [2, 0]]),
        output_shape=np.array([3, 3]),
        default_value=np.float32(0),
    ),
    op(
        "SparseTensorDenseMatMul",
        {"a_values": normal(2), "b": normal(3, 4)},
        a_indices=np.array([[0, 1], [2, 0]]),
        a_shape=np.array([3, 3]),
    ),
    op(
        "SparseSegmentMean",
        {
            "data": normal(6, 3),
            "indices": array([0, 5, 2], "int32"),
            "segment_ids": array([0, 0, 1], "int32"),
        },
    ),
    case(
        "RaggedTensorToTensor",
        {"values": normal(7), "splits": np.array([0, 3, 3, 7])},
        lambda tf, values, splits: tf.RaggedTensor.from_row_splits(values, splits, validate=False).to_tensor(
            -1.0
        ),
    ),
    case(
        "RaggedMean",
        {"values": normal(7, 2), "splits": np.array([0, 3, 4, 7])},
        lambda tf, values, splits: tf.reduce_mean(
            tf.RaggedTensor.from_row_splits(values, splits, validate=False), 1
        ),
    ),
    op(
        "SparseReduceSum",
        {"input_values": normal(2)},
        input_indices=np.array([[0, 1], [2, 0]]),
        input_shape=np.array([3, 3]),
        reduction_axes=np.array([1], "int32"),
    ),
]


def residual_block(tf, x):
    y = tf.nn.relu(tf.nn.conv2d(x, ramp(3, 3, 8, 8), 1, "SAME") + ramp(8))
    return tf.nn.relu(x + tf.nn.conv2d(y, ramp(3, 3, 8, 8), 1, "SAME"))


def squeeze_excite(tf, x):
    s = tf.reduce_mean(x, [1, 2], keepdims=True)
    s = tf.nn.relu(tf.nn.conv2d(s, ramp(1, 1, 8, 2), 1, "SAME"))
    return x * tf.sigmoid(tf.nn.conv2d(s, ramp(1, 1, 2, 8), 1, "SAME"))


def island(tf, x):
    """What only TensorFlow has, twice on one of two branches."""
    y = tf.math.bessel_i0e(tf.nn.conv2d(x, ramp(3, 3, 8, 8), 1, "SAME"))
    return tf.nn.relu(x) + tf.math.bessel_i1e(tf.nn.conv2d(y, ramp(1, 1, 8, 8), 1, "SAME"))


def transposed_middle(tf, x):
    """Like a channels-first model after conversion."""
    y = tf.nn.conv2d(tf.transpose(x, [0, 2, 3, 1]), ramp(3, 3, 8, 8), 1, "SAME")
    return tf.transpose(tf.nn.relu(y), [0, 3, 1, 2]) + x


SMALL_NETWORKS = [
    case("Network.residual", {"x": normal(1, 8, 8, 8)}, residual_block),
    case("Network.squeeze_excite", {"x": normal(2, 6, 6, 8)}, squeeze_excite),
    case("Network.island", {"x": normal(1, 6, 6, 8)}, island),
    case("Network.transposed", {"x": normal(1, 8, 6, 6)}, transposed_middle),
    case("Network.residual_open", {"x": normal(2, 8, 8, 8)}, residual_block, open=("x",)),
    case(
        "Network.concat",
        {"x": normal(1, 6, 6, 8)},
        lambda tf, x: tf.concat(
            [tf.nn.conv2d(x, ramp(1, 1, 8, 4), 1, "SAME"), tf.nn.max_pool2d(x, 3, 1, "SAME")], -1
        ),
    ),
    case(
        "Network.flatten_dense",
        {"x": normal(2, 4, 4, 3)},
        lambda tf, x: tf.nn.softmax(tf.reshape(x, [-1, 48]) @ ramp(48, 5) + ramp(5)),
        open=("x",),
    ),
    case(
        "Network.constant_output",
        {"x": normal(2)},
        lambda tf, x: [x + 1, tf.constant([1.0, 2.0]), tf.constant(3)],
    ),
]

CASES = [*CONTROL, *STRINGS, *SPECTRA, *RAGGED, *SMALL_NETWORKS]
