"""Cases of operators that work element by element."""

import numpy as np
from tensorflow_operators import array, booleans, case, each_element, integers, normal, op, uniform, values_of

FLOATS = ("float32", "float64", "float16")
NUMBERS = (*FLOATS, "int32", "int64")
SPECIAL = array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-30, -1e30, 88, -104])
HALVES = array([-2.5, -1.5, -0.5, -0.0, 0.49999997, 0.5, 0.50000006, 1.5, 2.5, 3.4999998, 8388609, -7.7])


def only_float(name, where, draw, argument="x"):
    """An operator on floats, of three types and at special values, if it has them there."""
    cases = [op(f"{name}.{dtype}", {argument: draw(dtype)}) for dtype in FLOATS]
    return [*cases, op(f"{name}.special", {argument: SPECIAL})] if where else cases


def everywhere(dtype):
    return uniform(-3, 3, 2, 3, 5, dtype=dtype)


def positive(dtype):
    return uniform(0.05, 4, 3, 7, dtype=dtype)


def inside(dtype):
    return uniform(-0.95, 0.95, 3, 7, dtype=dtype)


def above_one(dtype):
    return uniform(1.05, 5, 3, 7, dtype=dtype)


UNARY = [
    *(
        case
        for name in (
            "Abs",
            "Neg",
            "Exp",
            "Expm1",
            "Square",
            "Sign",
            "Floor",
            "Ceil",
            "Round",
            "Sin",
            "Cos",
            "Atan",
            "Sinh",
            "Cosh",
            "Tanh",
            "Asinh",
            "Erf",
            "Erfc",
            "Sigmoid",
        )
        for case in only_float(name, name not in ("Sin", "Cos"), everywhere)
    ),
    *(
        case
        for name in ("Log", "Sqrt", "Rsqrt", "Reciprocal", "Inv", "Lgamma", "Digamma")
        for case in only_float(name, name in ("Log", "Sqrt"), positive)
    ),
    op("Rint.float32", {"x": everywhere("float32")}),
    op("Rint.float64", {"x": everywhere("float64")}),
    op("Rint.special", {"x": SPECIAL}),
    *only_float("Log1p", True, positive),
    *only_float("Tan", False, inside),
    *only_float("Asin", False, inside),
    *only_float("Acos", False, inside),
    *only_float("Atanh", False, inside),
    *only_float("Acosh", False, above_one),
    *(
        case
        for name in ("Softplus", "Softsign", "Relu", "Relu6", "Elu", "Selu")
        for case in only_float(name, False, everywhere, "features")
    ),
    op("LeakyRelu", {"features": normal(3, 7)}),
    op("LeakyRelu.alpha", {"features": normal(3, 7, dtype="float16")}, alpha=0.01),
    op("Relu.int32", {"features": integers(-5, 6, 3, 4)}),
    op("Erfinv", {"x": inside("float32")}),
    op("Ndtri", {"x": uniform(0.02, 0.98, 3, 4)}),
    op("BesselI0e", {"x": normal(3, 4)}),
    *(op(f"{name}.halves", {"x": HALVES}) for name in ("Round", "Rint", "Floor", "Ceil")),
    *(
        op(f"{name}.{dtype}", {"x": values_of(dtype, 3, 4)})
        for name in ("Abs", "Neg", "Sign", "Square")
        for dtype in ("int32", "int64")
    ),
    *(op(f"{name}", {"x": SPECIAL}) for name in ("IsNan", "IsInf", "IsFinite")),
    op("Exp.large", {"x": uniform(-90, 90, 40)}),
    op("Tanh.large", {"x": uniform(-30, 30, 40)}),
    op("Sigmoid.large", {"x": uniform(-100, 100, 40)}),
    op("Softplus.large", {"features": uniform(-60, 60, 40)}),
    op("Log1p.small", {"x": uniform(-1e-4, 1e-4, 40)}),
    op("Expm1.small", {"x": uniform(-1e-4, 1e-4, 40)}),
    op("Sin.large", {"x": uniform(-500, 500, 40)}),
    op("Cos.large", {"x": uniform(-500, 500, 40)}),
]

BINARY = [
    *(
        op(f"{name}.{dtype}", {"x": values_of(dtype, 2, 3), "y": values_of(dtype, 2, 3)})
        for name in ("AddV2", "Add", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference")
        for dtype in NUMBERS
    ),
    *(
        op(
            f"{name}.{dtype}",
            {"x": integers(0, 4, 6, 5, dtype=dtype), "y": integers(0, 4, 6, 5, dtype=dtype)},
        )
        for name in ("Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual")
        for dtype in ("float32", "int32", "int64")
    ),
    *(
        op(f"{name}.{shape}", {"x": normal(*x), "y": normal(*y)})
        for name in ("AddV2", "Sub", "Mul", "RealDiv", "Maximum")
        for shape, x, y in (
            ("row", (2, 3), (3,)),
            ("column", (2, 3), (2, 1)),
            ("both", (2, 1, 4), (3, 1)),
            ("scalar", (2, 3), ()),
            ("left", (3,), (2, 2, 3)),
        )
    ),
    *(
        op(f"{name}.constant", {"x": normal(2, 5, 4)}, y=normal(4))
        for name in ("AddV2", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference")
    ),
    op("RealDiv.float32", {"x": normal(3, 4), "y": uniform(0.5, 2, 3, 4)}),
    op("RealDiv.zero", {"x": array([1, -1, 0, 2]), "y": array([0, 0, 0, -0.0])}),
    op("RealDiv.float64", {"x": normal(3, 4, dtype="float64"), "y": uniform(0.5, 2, 3, 4, dtype="float64")}),
    op("RealDiv.float16", {"x": normal(3, 4, dtype="float16"), "y": uniform(0.5, 2, 3, 4, dtype="float16")}),
    op("Div.float32", {"x": normal(3, 4), "y": uniform(0.5, 2, 3, 4)}),
    op("Div.int32", {"x": integers(-20, 20, 4, 5), "y": integers(1, 6, 4, 5)}),
    op("DivNoNan", {"x": normal(6), "y": array([0, 1, 2, -0.0, -3, 0.5])}),
    op("MulNoNan", {"x": array([np.inf, np.nan, 1, 2]), "y": array([0, 0, 3, 0])}),
    *(
        op(
            f"{name}.{dtype}",
            {
                "x": values_of(dtype, 6, 5),
                "y": lambda random, dtype=dtype: (
                    random.integers(1, 5, (6, 5)) * random.choice([-1, 1], (6, 5))
                ).astype(dtype),
            },
        )
        for name in ("FloorDiv", "FloorMod")
        for dtype in ("float32", "int32", "int64")
    ),
    *(
        op(f"{name}.int32", {"x": integers(-20, 20, 4, 5), "y": array([-3, -2, 2, 3, 5], "int32")})
        for name in ("TruncateDiv", "TruncateMod", "Mod")
    ),
    op("FloorMod.fractions", {"x": uniform(-5, 5, 30), "y": uniform(0.3, 2, 30)}),
    op("FloorDiv.fractions", {"x": uniform(-5, 5, 30), "y": uniform(0.3, 2, 30)}),
    op("Pow.float32", {"x": uniform(0.1, 3, 3, 4), "y": uniform(-2, 2, 3, 4)}),
    op("Pow.float64", {"x": uniform(0.1, 3, 3, 4, dtype="float64"), "y": uniform(-2, 2, 4, dtype="float64")}),
    op("Pow.int32", {"x": integers(-4, 5, 3, 4), "y": integers(0, 4, 4)}),
    op("Pow.squared", {"x": normal(3, 4)}, y=np.float32(2)),
    op("Pow.root", {"x": uniform(0.1, 3, 3, 4)}, y=np.float32(0.5)),
    op("Pow.of_negative", {"x": normal(3, 4)}, y=np.float32(3)),
    op("Pow.inverse", {"x": uniform(0.3, 3, 3, 4)}, y=np.float32(-1)),
    op("Atan2", {"y": normal(20), "x": normal(20)}),
    op("Atan2.axes", {"y": array([0, 0, 1, -1, 0]), "x": array([1, -1, 0, 0, 0])}),
    *(
        op(
            f"{name}.{dtype}",
            {"gradients": normal(3, 4, dtype=dtype), "features": uniform(-1, 8, 3, 4, dtype=dtype)},
        )
        for name in ("ReluGrad", "Relu6Grad", "LeakyReluGrad", "SoftplusGrad", "SoftsignGrad")
        for dtype in ("float32", "float64")
    ),
    op("EluGrad", {"gradients": normal(3, 4), "outputs": uniform(-0.9, 2, 3, 4)}),
    *(
        op(name, {"y": uniform(0.2, 0.9, 3, 4), "dy": normal(3, 4)})
        for name in ("InvGrad", "ReciprocalGrad", "RsqrtGrad", "SigmoidGrad", "SqrtGrad", "TanhGrad")
    ),
    op("BiasAddGrad", {"out_backprop": normal(2, 3, 4, 5)}),
    op("BiasAddGrad.NCHW", {"out_backprop": normal(2, 3, 4, 5)}, data_format="NCHW"),
    op("Xdivy", {"x": array([0, 1, 2]), "y": array([0, 2, 4])}),
    op("Xlogy", {"x": array([0, 1, 2]), "y": array([0, 2, 4])}),
    op("Xlog1py", {"x": array([0, 1, 2]), "y": array([-1, 2, 4])}),
    op("Equal.bool", {"x": booleans(9), "y": booleans(9)}),
    op("Equal.nan", {"x": array([np.nan, 1]), "y": array([np.nan, 1])}),
    op("NotEqual.row", {"x": integers(0, 2, 4, 3), "y": integers(0, 2, 3)}),
    op("ApproximateEqual", {"x": array([1, 2, 3]), "y": array([1.05, 2.2, 3])}, tolerance=0.1),
    *(op(name, {"x": booleans(8, 6), "y": booleans(6)}) for name in ("LogicalAnd", "LogicalOr")),
    op("LogicalNot", {"x": booleans(4, 3)}),
    *(
        op(f"{name}.{dtype}", {"x": integers(0, 100, 8, dtype=dtype), "y": integers(0, 100, 8, dtype=dtype)})
        for name in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")
        for dtype in ("int32", "uint8", "int64")
    ),
    *(
        op(
            f"{name}.{dtype}",
            {
                "x": integers(-100 if dtype[0] == "i" else 0, 100, 8, dtype=dtype),
                "y": integers(0, 5, 8, dtype=dtype),
            },
        )
        for name in ("LeftShift", "RightShift")
        for dtype in ("int32", "uint8")
    ),
    op("Invert.int32", {"x": integers(-100, 100, 8)}),
    op("Invert.uint8", {"x": integers(0, 100, 8, dtype="uint8")}),
    op("Add.string", {"x": np.array([b"a", b"bc"]), "y": np.array([b"d", b""])}),
]

CHOICE = [
    op("Select", {"condition": booleans(3, 4), "x": normal(3, 4), "y": normal(3, 4)}),
    op("Select.rows", {"condition": booleans(3), "x": normal(3, 4), "y": normal(3, 4)}),
    op("Select.one", {"condition": np.array(True), "x": normal(3, 4), "y": normal(3, 4)}),
    op("SelectV2", {"condition": booleans(3, 4), "t": normal(3, 4), "e": normal(3, 4)}),
    op("SelectV2.broadcast", {"condition": booleans(3, 1), "t": normal(4), "e": normal()}),
    op(
        "SelectV2.int64",
        {
            "condition": booleans(5),
            "t": integers(0, 9, 5, dtype="int64"),
            "e": integers(0, 9, 5, dtype="int64"),
        },
    ),
    op("ClipByValue", {"t": normal(4, 5)}, clip_value_min=np.float32(-0.5), clip_value_max=np.float32(0.7)),
    op("ClipByValue.fed", {"t": normal(4, 5), "clip_value_min": array(-1), "clip_value_max": array(0.2)}),
    op(
        "ClipByValue.int32",
        {"t": integers(-9, 9, 12)},
        clip_value_min=np.int32(-3),
        clip_value_max=np.int32(4),
    ),
    case(
        "AddN",
        {"x": normal(3, 4), "y": normal(3, 4), "z": normal(3, 4)},
        lambda tf, x, y, z: tf.raw_ops.AddN(inputs=[x, y, z]),
    ),
    case("AddN.one", {"x": normal(3, 4)}, lambda tf, x: tf.raw_ops.AddN(inputs=[x])),
    case(
        "AccumulateNV2",
        {"x": normal(3, 4), "y": normal(3, 4)},
        lambda tf, x, y: tf.raw_ops.AccumulateNV2(inputs=[x, y], shape=[3, 4]),
    ),
]

CASTS = [
    *(
        op(
            f"Cast.{source}_{target}",
            {"x": uniform(-9, 9, 3, 4, dtype=source) if source[0] == "f" else values_of(source, 3, 4)},
            DstT=target,
        )
        for source, target in (
            ("float32", "int32"),
            ("float32", "int64"),
            ("float32", "float64"),
            ("float32", "float16"),
            ("float32", "int8"),
            ("float64", "float32"),
            ("float64", "int32"),
            ("float16", "float32"),
            ("float16", "int32"),
            ("int32", "float32"),
            ("int32", "float16"),
            ("int32", "int64"),
            ("int32", "int8"),
            ("int64", "int32"),
            ("int64", "float32"),
            ("bool", "float32"),
            ("bool", "int32"),
            ("uint8", "float32"),
            ("uint8", "int32"),
            ("int8", "float32"),
        )
    ),
    op("Cast.float32_uint8", {"x": uniform(0, 255, 3, 4)}, DstT="uint8"),
    op("Cast.int32_wraps", {"x": array([300, -200, 70000], "int32")}, DstT="int8"),
    *(
        op(f"Cast.{dtype}_bool", {"x": integers(0, 2, 3, 4, dtype=dtype)}, DstT="bool")
        for dtype in ("float32", "int32", "uint8")
    ),
    op("Cast.same", {"x": normal(3, 4)}, DstT="float32"),
    case("Cast.bfloat16", {"x": normal(3, 40)}, lambda tf, x: tf.cast(tf.cast(x, tf.bfloat16), tf.float32)),
    case(
        "Mul.bfloat16",
        {"x": normal(3, 40)},
        lambda tf, x: tf.cast(tf.cast(x, tf.bfloat16) * tf.cast(1.7, tf.bfloat16), tf.float32),
    ),
    op("Bitcast", {"input": normal(3, 4)}, type="int32"),
    op("Bitcast.smaller", {"input": normal(3)}, type="uint8"),
    op(
        "ComplexAbs",
        {"x": lambda random: (random.normal(size=8) + 1j * random.normal(size=8)).astype("complex64")},
    ),
]

IDIOMS = [
    case("Idiom.gelu", {"x": normal(4, 8)}, lambda tf, x: tf.nn.gelu(x)),
    case("Idiom.gelu_tanh", {"x": normal(4, 8)}, lambda tf, x: tf.nn.gelu(x, approximate=True)),
    case("Idiom.silu", {"x": normal(4, 8)}, lambda tf, x: tf.nn.silu(x)),
    case("Idiom.hard_swish", {"x": normal(4, 8)}, lambda tf, x: x * tf.nn.relu6(x + 3) / 6),
    case("Idiom.mish", {"x": normal(4, 8)}, lambda tf, x: x * tf.tanh(tf.nn.softplus(x))),
    case("Idiom.clip", {"x": normal(4, 8)}, lambda tf, x: tf.clip_by_value(x, -0.5, 0.5)),
    case(
        "Idiom.prelu",
        {"x": normal(4, 8), "a": normal(8)},
        lambda tf, x, a: tf.nn.relu(x) - a * tf.nn.relu(-x),
    ),
    case(
        "Idiom.elu_chain", {"x": normal(4, 8)}, lambda tf, x: tf.nn.elu(tf.nn.selu(tf.nn.leaky_relu(x, 0.3)))
    ),
    case(
        "Idiom.identity_n",
        {"x": normal(4), "y": integers(0, 9, 3)},
        lambda tf, x, y: tf.raw_ops.IdentityN(input=[x, y]),
    ),
    case(
        "Idiom.check_numerics",
        {"x": normal(4)},
        lambda tf, x: tf.raw_ops.CheckNumerics(tensor=x, message="bad") + 1,
    ),
    case("Idiom.shared_value", {"x": normal(4, 3)}, lambda tf, x: [tf.exp(x), tf.exp(x) + 1, x]),
    case("Idiom.no_work", {"x": normal(4, 3)}, lambda tf, x: x),
    case("Idiom.control_edge", {"x": normal(4, 3)}, lambda tf, x: with_control(tf, x)),
    op("FakeQuantWithMinMaxArgs", {"inputs": uniform(-7, 7, 3, 40)}),
    op(
        "FakeQuantWithMinMaxArgs.narrow",
        {"inputs": uniform(-2, 4, 3, 40)},
        min=-1.3,
        max=3.1,
        narrow_range=True,
    ),
    op("FakeQuantWithMinMaxArgs.few_bits", {"inputs": uniform(-2, 4, 3, 40)}, min=0.0, max=3.1, num_bits=4),
    op(
        "FakeQuantWithMinMaxVars",
        {"inputs": uniform(-2, 4, 3, 40)},
        min=np.float32(-1.7),
        max=np.float32(3.3),
    ),
    op(
        "FakeQuantWithMinMaxVarsPerChannel",
        {"inputs": uniform(-3, 3, 2, 9, 3)},
        min=np.float32([-1, -2, 0]),
        max=np.float32([1, 0.5, 2]),
    ),
    case(
        "FakeQuantWithMinMaxVars.convolution",
        {"x": uniform(-1, 1, 1, 9, 9, 6)},
        lambda tf, x: tf.nn.relu(
            tf.nn.conv2d(
                tf.raw_ops.FakeQuantWithMinMaxVars(inputs=x, min=-1.0, max=1.0),
                tf.raw_ops.FakeQuantWithMinMaxVarsPerChannel(
                    inputs=np.linspace(-1, 1, 3 * 3 * 6 * 4, dtype="float32").reshape(3, 3, 6, 4),
                    min=np.float32([-1, -1, -1, -1]),
                    max=np.float32([1, 1, 1, 1]),
                    narrow_range=True,
                ),
                1,
                "SAME",
            )
        ),
    ),
    case(
        "Idiom.quantized_weights",
        {"x": normal(4, 8)},
        lambda tf, x: x @ tf.raw_ops.FakeQuantWithMinMaxArgs(inputs=np.eye(8, 5, dtype="float32") * 0.3),
    ),
]


def with_control(tf, x):
    with tf.control_dependencies([tf.no_op(), tf.debugging.assert_less(x, 1e9)]):
        return tf.identity(x) * 2


PLAIN = [
    *(
        op(f"{name}.{dtype}", {argument: values_of(dtype, 2, 3)})
        for name, argument in (
            ("Identity", "input"),
            ("StopGradient", "input"),
            ("Snapshot", "input"),
            ("ZerosLike", "x"),
            ("OnesLike", "x"),
        )
        for dtype in ("float32", "int32", "bool")
        if (name, dtype) != ("Snapshot", "bool")
    ),
    op("PreventGradient", {"input": normal(3)}),
    op("EnsureShape", {"input": normal(3, 4)}, shape=[3, 4]),
    op("PlaceholderWithDefault", {"input": normal(3)}, shape=[3]),
]

CASES = [*each_element([*UNARY, *BINARY, *CHOICE, *CASTS]), *IDIOMS, *PLAIN]
