"""Quantized models: frameworks compute in the integers that the model has, as they do by themselves, and what `check` says of them.

Covers: src/onnx/ unfold_constants.cc
src/translate/ onnxruntime.cc
src/measure/ check_model.cc nudge_inputs.cc
backends/openvino/ node_forms.cc node_rules.cc
"""

import intarsia
import numpy as np
import onnx
import pytest
from cli_models import TensorProto, call, call_json, error_of, helper, save
from onnxruntime import quantization


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """x[1,8,12,12] -> two convolutions of i8 by QDQ, weights by channel, a transposed product -> y, quantized between."""
    random = np.random.default_rng(5)
    nodes, constants = [], [("s", np.float32(0.05)), ("z", np.int8(3))]

    def requantize(value):
        nodes.append(
            helper.make_node("QuantizeLinear", [value, "s", "z"], [f"{value}_q"], f"{value}_quantize")
        )
        nodes.append(
            helper.make_node("DequantizeLinear", [f"{value}_q", "s", "z"], [f"{value}_d"], f"{value}_back")
        )
        return f"{value}_d"

    def weights(name, shape):
        scale = (random.random(shape[0]) * 0.01 + 0.001).astype(np.float32)
        constants.append((f"{name}_q", random.integers(-127, 128, shape).astype(np.int8)))
        constants.append((f"{name}_s", scale))
        constants.append((f"{name}_z", np.zeros(shape[0], np.int8)))
        inputs = [f"{name}_q", f"{name}_s", f"{name}_z"]
        nodes.append(helper.make_node("DequantizeLinear", inputs, [name], f"{name}_real", axis=0))
        return name

    value = requantize("x")
    for i in range(2):
        nodes.append(
            helper.make_node(
                "Conv", [value, weights(f"w{i}", (8, 8, 3, 3))], [f"c{i}"], f"conv{i}", pads=[1] * 4
            )
        )
        value = requantize(f"c{i}")
    nodes.append(helper.make_node("Transpose", [weights("m", (10, 12))], ["mt"], "transpose", perm=[1, 0]))
    nodes.append(helper.make_node("MatMul", [value, "mt"], ["p"], "product"))
    requantize("p")
    nodes[-1].output[0] = "y"
    shape = [1, 8, 12, 12]
    path = tmp_path_factory.mktemp("quantized") / "qdq.onnx"
    return save(
        path, nodes, [("x", TensorProto.FLOAT, shape)], [("y", TensorProto.FLOAT, [1, 8, 12, 10])], constants
    )


def test_it_is_what_onnxruntime_computes(model):
    exact = ("--rtol", "0", "--atol", "0")
    report = call_json("check", model, "--backends", "onnxruntime", *exact, "--against", "onnxruntime")
    assert report["ok"], report


@pytest.mark.parametrize(
    ("cpu", "level", "feature"),
    [("alderlake", "x86-64-v3", "avxvnni"), ("cascadelake", "x86-64-v4", "avx512vnni")],
)
def test_dot_products_are_exact(tmp_path, cpu, level, feature):
    """One instruction for four products gives the same as two for two each."""
    random = np.random.default_rng(2)
    weights = random.integers(-127, 128, (40, 48)).astype(np.int8)
    constants = [("s", np.float32(0.02)), ("z", np.uint8(120)), ("w", weights), ("ws", np.float32(0.01))]
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        helper.make_node("DequantizeLinear", ["w", "ws"], ["wd"]),
        helper.make_node("MatMul", ["d", "wd"], ["y"]),
    ]
    inputs, outputs = [("x", TensorProto.FLOAT, [9, 40])], [("y", TensorProto.FLOAT, [9, 48])]
    product = save(tmp_path / "product.onnx", nodes, inputs, outputs, constants)
    x = random.normal(size=(9, 40)).astype(np.float32)
    results = []
    for name in (cpu, level):
        program = tmp_path / f"{name}.so"
        call("compile", product, "-o", program, "--cpu", name, "--fallback", "none", "--tune", "off")
        assert (feature.encode() in program.read_bytes()) == (name == cpu)
        here = intarsia.compile(product, cpu=f"{name},x86-64-v2", dry_run=True, tune="off").report[
            "variants"
        ][0]
        if here["runs_here"]:
            results.append(intarsia.load(program).bind(threads=1).run({"x": x})["y"])
        else:
            assert "lacks" in error_of("run", program)
    assert len(results) < 2 or np.array_equal(*results)


def save_convolutions(path, channels, layers, size):
    """x[1,3,size,size] -> convolutions, each added to its input, a mean, a product -> y[1,10]"""
    random = np.random.default_rng(0)
    nodes, constants, value, depth = [], [], "x", 3
    for i in range(layers):
        weights = random.normal(size=(channels, depth, 3, 3)) * np.sqrt(2 / (9 * depth))
        constants += [(f"w{i}", weights.astype(np.float32)), (f"b{i}", np.full(channels, 0.1, np.float32))]
        nodes += [
            helper.make_node("Conv", [value, f"w{i}", f"b{i}"], [f"c{i}"], f"conv{i}", pads=[1] * 4),
            helper.make_node("Relu", [f"c{i}"], [f"r{i}"], f"relu{i}"),
        ]
        if i > 0:
            nodes.append(helper.make_node("Add", [f"r{i}", value], [f"a{i}"], f"add{i}"))
        value, depth = nodes[-1].output[0], channels
    nodes += [
        helper.make_node("GlobalAveragePool", [value], ["p"], "pool"),
        helper.make_node("Flatten", ["p"], ["f"], "flatten"),
        helper.make_node("Gemm", ["f", "m", "b"], ["y"], "gemm", transB=1),
    ]
    constants.append(("m", random.normal(size=(10, channels)).astype(np.float32)))
    constants.append(("b", random.normal(size=10).astype(np.float32)))
    inputs, outputs = [("x", TensorProto.FLOAT, [1, 3, size, size])], [("y", TensorProto.FLOAT, [1, 10])]
    return save(path, nodes, inputs, outputs, constants, opsets=[("", 17)])


def quantize(real, path, **options):
    """Quantizes by ONNX Runtime's own tool, with weights of 7 bits: with 8 its sums of two products saturate on processors
    without VNNI (its documentation of quantization)."""
    random = np.random.default_rng(1)
    samples = [{"x": random.uniform(-1, 1, (1, 3, 16, 16)).astype(np.float32)} for _ in range(4)]

    class Samples(quantization.CalibrationDataReader):
        def get_next(self):
            return samples.pop() if samples else None

    quantization.quantize_static(real, path, Samples(), reduce_range=True, **options)
    return path


@pytest.fixture(scope="module")
def convolutions(tmp_path_factory):
    """A network of i8 numbers, with weights by channel."""
    folder = tmp_path_factory.mktemp("quantized")
    real = save_convolutions(folder / "real.onnx", channels=128, layers=3, size=16)
    return quantize(
        real,
        folder / "int8.onnx",
        quant_format=quantization.QuantFormat.QDQ,
        activation_type=quantization.QuantType.QInt8,
        weight_type=quantization.QuantType.QInt8,
        per_channel=True,
    )


FORMATS, TYPES = quantization.QuantFormat, quantization.QuantType


@pytest.mark.parametrize(
    "activations, weights",
    ((TYPES.QInt8, TYPES.QInt8), (TYPES.QUInt8, TYPES.QInt8), (TYPES.QUInt8, TYPES.QUInt8)),
    ids=("s8s8", "u8s8", "u8u8"),
)
@pytest.mark.parametrize("form", (FORMATS.QDQ, FORMATS.QOperator), ids=("qdq", "qoperator"))
def test_our_kernels_compute_in_the_integers_of_the_model(tmp_path, form, activations, weights):
    """Without a framework: weights stay in 8 bits, and results are ONNX Runtime's but for numbers half-way between two."""
    real = save_convolutions(tmp_path / "real.onnx", channels=64, layers=3, size=16)
    options = {"quant_format": form, "activation_type": activations, "weight_type": weights}
    model = quantize(real, tmp_path / "int8.onnx", per_channel=weights == TYPES.QInt8, **options)
    program = tmp_path / "int8.so"
    report = call_json("compile", model, "-o", program, "--fallback", "none")
    assert [region["target"] for region in report["regions"]] == ["halide@cpu"]
    assert report["constants_bytes"] < 1.5 * ((3 + 2 * 64) * 9 * 64 + 64 * 10)
    near = ("--rtol", "0", "--atol", 2.01 * step_of(model))
    assert call_json("check", program, "--against", "onnxruntime", *near)["ok"]


@pytest.mark.parametrize(
    "op, domain, constants, attributes",
    (
        ("MatMulNBits", "com.microsoft", "nbits", {"K": 64, "N": 24, "bits": 4, "block_size": 16}),
        ("DynamicQuantizeMatMul", "com.microsoft", "dynamic", {}),
    ),
)
def test_products_of_onnxruntime_are_ours(tmp_path, op, domain, constants, attributes):
    random = np.random.default_rng(3)
    named = {
        "nbits": [
            ("w", random.integers(0, 256, (24, 4, 8)).astype(np.uint8)),
            ("s", random.uniform(0.01, 0.02, 24 * 4).astype(np.float32)),
            ("z", random.integers(0, 256, 24 * 2).astype(np.uint8)),
        ],
        "dynamic": [
            ("w", random.integers(-64, 64, (64, 24)).astype(np.int8)),
            ("s", random.uniform(0.01, 0.02, 24).astype(np.float32)),
            ("z", np.zeros(24, np.int8)),
        ],
    }[constants]
    node = helper.make_node(op, ["x", "w", "s", "z"], ["y"], domain=domain, **attributes)
    model = save(
        tmp_path / "product.onnx",
        [node],
        [("x", TensorProto.FLOAT, [3, 64])],
        [("y", TensorProto.FLOAT, [3, 24])],
        named,
        opsets=[("", 17), ("com.microsoft", 1)],
        checked=False,
    )
    report = call_json("check", model, "--fallback", "none", "--against", "onnxruntime")
    assert report["ok"] and report["plans"][0]["targets"] == "halide@cpu"


@pytest.mark.parametrize(
    "scale, zero_point, axis, want",
    (
        (0.0, 0, 0, "a scale is 0 (input 1), want a positive number"),
        (-0.5, 0, 0, "a scale is -0.5"),
        (float("nan"), 0, 0, "a scale is nan"),
        ([0.1, 0.0], [0, 0], 0, "a scale is 0"),
        ([0.1, 0.2], [0, 0], 2, "axis 2"),
        ([0.1, 0.2, 0.3], [0, 0, 0], 0, "the axis of the scales"),
        ([0.1, 0.2], 0, 0, "scales have shape [2], zero points []"),
    ),
)
def test_impossible_quantizations_are_errors(tmp_path, scale, zero_point, axis, want):
    model = save_quantize(tmp_path / "q.onnx", scale, zero_point, axis)
    assert want in error_of("compile", model, "-o", tmp_path / "q.so")
    assert not (tmp_path / "q.so").exists()


def test_a_zero_point_of_another_type_is_an_error(tmp_path):
    model = save(
        tmp_path / "q.onnx",
        [helper.make_node("DequantizeLinear", ["x", "s", "z"], ["y"])],
        [("x", TensorProto.INT8, [2, 500])],
        [("y", TensorProto.FLOAT, [2, 500])],
        [("s", np.float32(0.1)), ("z", np.uint8(3))],
        checked=False,
    )
    assert "it reads i8, its zero point is u8" in error_of("compile", model, "-o", tmp_path / "q.so")


def step_of(model):
    """By how much neighbors among the quantized numbers of the output differ."""
    graph = onnx.load(model).graph
    (last,) = [node for node in graph.node if node.output[0] == graph.output[0].name]
    (scale,) = [constant for constant in graph.initializer if constant.name == last.input[1]]
    return float(onnx.numpy_helper.to_array(scale))


def test_openvino_computes_in_the_integers_of_the_model(convolutions, tmp_path):
    """Weights stay in 8 bits, and results are ONNX Runtime's but for numbers half-way between two."""
    program = tmp_path / "int8.so"
    report = call_json("compile", convolutions, "-o", program, "--backends", "openvino")
    assert [region["target"] for region in report["regions"]] == ["openvino@cpu"]
    weights = (3 + 2 * 128) * 9 * 128 + 128 * 10
    assert weights < program.stat().st_size < 1.3 * weights
    near = ("--rtol", "0", "--atol", 2.01 * step_of(convolutions))
    assert call_json("check", program, "--against", "onnxruntime", *near)["ok"]


def test_openvino_is_a_candidate(convolutions, tmp_path):
    """It was timed, or its values differ on some inputs, which is told."""
    options = ("--cache", tmp_path / "cache", "--backends", "onnxruntime,openvino,reference")
    report = call_json("compile", convolutions, "-o", tmp_path / "int8.so", *options)
    assert ("openvino" in report["single_backend_ms"]) != ("openvino" in report["plan"]["faults"])
    assert report["single_backend_ms"]["onnxruntime"] > 0


def save_quantize(path, scale, zero_point, axis=0, **attributes):
    """x[2,500] -> y[2,500], i8"""
    return save(
        path,
        [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"], axis=axis, **attributes)],
        [("x", TensorProto.FLOAT, [2, 500])],
        [("y", TensorProto.INT8, [2, 500])],
        [("s", np.float32(scale)), ("z", np.int8(zero_point))],
        opsets=[("", 25)],
        checked=False,
    )


@pytest.mark.parametrize("scale, zero_point", ((0.05, 0), ([0.05, 0.25], [3, -7])))
def test_openvino_rounds_as_onnx_says_but_half_way(tmp_path, scale, zero_point):
    model = save_quantize(tmp_path / "q.onnx", scale, zero_point)
    steps = np.random.default_rng(0).integers(-200, 200, (2, 500)) + np.linspace(-0.49, 0.49, 500)
    scales, zeros = (np.reshape(np.float32(part), (-1, 1)) for part in (scale, zero_point))
    np.save(tmp_path / "x.npy", (steps * scales).astype(np.float32))
    call("compile", model, "-o", tmp_path / "q.so", "--backends", "openvino")
    call("run", tmp_path / "q.so", "-i", f"x={tmp_path / 'x.npy'}", "-o", tmp_path)
    wanted = np.clip(np.round(steps) + zeros, -128, 127)
    assert np.array_equal(np.load(tmp_path / "y.npy"), wanted)


def test_openvino_refuses_other_forms_of_quantization(tmp_path):
    def refusal(*arguments, **attributes):
        model = save_quantize(tmp_path / "q.onnx", *arguments, **attributes)
        return error_of("compile", model, "--backends", "openvino", "--dry-run")

    scales = np.full((2, 5), 0.1)
    assert "no quantization in blocks" in refusal(scales, np.zeros((2, 5)), axis=1, block_size=100)
    assert "ignores the precision" in refusal(0.1, 0, precision=TensorProto.FLOAT16)


class Encoder:
    """An encoder like BERT's as an ONNX model: ids[1,tokens] -> y[1,tokens,width]"""

    def __init__(self, width, tokens, layers):
        self.width, self.tokens = width, tokens
        self.random = np.random.default_rng(0)
        self.nodes, self.constants = [], []
        heads = self.constant(np.array([1, tokens, 4, width // 4]))
        self.split = lambda x, axes: self.node("Transpose", self.node("Reshape", x, heads), perm=axes)
        ids = self.node("Gather", self.constant(self.normal(100, width)), "ids")
        value = self.normalize(self.node("Add", ids, self.constant(self.normal(tokens, width))))
        for _ in range(layers):
            value = self.normalize(self.node("Add", value, self.attention(value)))
            value = self.normalize(self.node("Add", value, self.feed_forward(value)))
        self.nodes[-1].output[0] = "y"

    def normal(self, *shape):
        return self.random.normal(size=shape).astype(np.float32)

    def constant(self, array):
        self.constants.append((f"c{len(self.constants)}", array))
        return self.constants[-1][0]

    def node(self, op, *inputs, **attributes):
        name = f"{op}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        return name

    def normalize(self, x):
        parts = (self.constant(self.random.uniform(0.8, 1.2, self.width).astype(np.float32)) for _ in "ab")
        return self.node("LayerNormalization", x, *parts, axis=-1)

    def dense(self, x, inputs, outputs, gain=1.0):
        weights = self.constant(self.normal(inputs, outputs) * np.float32(gain / np.sqrt(inputs)))
        return self.node("Add", self.node("MatMul", x, weights), self.constant(self.normal(outputs)))

    def attention(self, x):
        query, key, value = (self.dense(x, self.width, self.width, gain) for gain in (2, 2, 1))
        scores = self.node("MatMul", self.split(query, [0, 2, 1, 3]), self.split(key, [0, 2, 3, 1]))
        scaled = self.node("Mul", scores, self.constant(np.float32(2 / np.sqrt(self.width))))
        mixed = self.node("MatMul", self.node("Softmax", scaled, axis=-1), self.split(value, [0, 2, 1, 3]))
        whole = self.constant(np.array([1, self.tokens, self.width]))
        joined = self.node("Reshape", self.node("Transpose", mixed, perm=[0, 2, 1, 3]), whole)
        return self.dense(joined, self.width, self.width)

    def feed_forward(self, x):
        return self.dense(
            self.node("Relu", self.dense(x, self.width, 4 * self.width)), 4 * self.width, self.width
        )

    def save_dynamic(self, path):
        """Quantized by ONNX Runtime's tool: DynamicQuantizeLinear and MatMulInteger, with weights of 7 bits (see above)."""
        real = path.with_suffix(".real.onnx")
        inputs = [("ids", TensorProto.INT64, [1, self.tokens])]
        outputs = [("y", TensorProto.FLOAT, [1, self.tokens, self.width])]
        save(real, self.nodes, inputs, outputs, self.constants, opsets=[("", 17)])
        quantization.quantize_dynamic(real, path, weight_type=quantization.QuantType.QInt8, reduce_range=True)
        return path


@pytest.mark.parametrize("options", ((), ("--fallback", "none")), ids=("default", "no framework"))
def test_a_small_dynamically_quantized_encoder(tmp_path, options):
    """So few numbers are rounded that none lies half-way."""
    model = Encoder(32, tokens=8, layers=1).save_dynamic(tmp_path / "small.onnx")
    report = call_json("check", model, *options, "--against", "onnxruntime", "--rtol", "1e-5")
    assert report["ok"], report


@pytest.mark.parametrize("options", ((), ("--fallback", "none")), ids=("default", "no framework"))
def test_a_deep_dynamically_quantized_encoder_is_told_to_be_sensitive(tmp_path, options):
    """It has no float inputs: its weights are nudged. No plan differs by more than rounding explains."""
    model = Encoder(128, tokens=48, layers=4).save_dynamic(tmp_path / "deep.onnx")
    strict = ("--against", "onnxruntime", "--rtol", "0", "--atol", "1e-12")
    report = call_json("check", model, *options, *strict, status=1)
    outputs = [plan["outputs"][0] for plan in report["plans"] if not plan["ok"]]
    assert outputs
    for y in outputs:
        assert y["sensitivity"]["max_rel"] > 1e-3 and "when the weights change" in y["why"]
        assert y["max_rel"] < 0.1, "several times as much as single steps make of it"
