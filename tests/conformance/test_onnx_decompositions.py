"""The node cases of the onnx package for operators that are made of others, in our compiler alone: sizes, axes and the like, which models
have as constants, are constant. Of operators with many cases every third; with more rounds all.

Covers: src/translate/ onnx_*.cc attention_parts.cc fourier.cc rotary.cc
"""

import collections

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx_cases import load_cases, run_ours, with_constants
from rounds import one_in

import intarsia

# Inputs that are constant: all their elements are needed to know what is computed.
CONSTANT = {
    "AffineGrid": (1,),
    "BlackmanWindow": (0,),
    "CenterCropPad": (1,),
    "Col2Im": (1, 2),
    "CumProd": (1,),
    "DFT": (1, 2),
    "HammingWindow": (0,),
    "HannWindow": (0,),
    "STFT": (1, 3),
}
OPERATORS = {
    *CONSTANT,
    *(
        "Adagrad",
        "Adam",
        "ArrayFeatureExtractor",
        "Attention",
        "Binarizer",
        "BitCast",
        "CausalConvWithState",
        "Det",
        "EyeLike",
    ),
    *("FlexAttention", "GlobalLpPool", "Hardmax", "LabelEncoder", "LinearAttention", "LpPool", "Momentum"),
    *("NegativeLogLikelihoodLoss", "RotaryEmbedding", "SoftmaxCrossEntropyLoss", "SwiGLU"),
}
REFUSED = {
    "test_ai_onnx_ml_label_encoder_string_int": "not numbers",
    "test_ai_onnx_ml_label_encoder_string_int_no_default": "not numbers",
    "test_ai_onnx_ml_label_encoder_tensor_mapping": "of string to int16",
    "test_ai_onnx_ml_label_encoder_tensor_value_only_mapping": "not numbers",
    "test_causal_conv_with_state_kernel_size_one": "a state of no elements",
    "test_flexattention_causal_mask": "with a subgraph",
    "test_flexattention_prob_mod": "with a subgraph",
    "test_flexattention_relative_positional": "with a subgraph",
    "test_flexattention_score_mod": "with a subgraph",
    "test_flexattention_soft_cap": "with a subgraph",
}


def operator_of(case):
    return next((node.op_type for node in case.model.graph.node if node.op_type in OPERATORS), None)


def cases_of(op):
    """All cases of an operator; of many every third, with more rounds all."""
    own = [
        case
        for case in load_cases()
        if case.kind == "node" and "_expanded" not in case.name and operator_of(case) == op
    ]
    return one_in(3 if len(own) > 12 else 1, own)


CASES = [case for op in sorted(OPERATORS) for case in cases_of(op)]
passed = collections.Counter()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case, tmp_path):
    why = run_ours(with_constants(case, CONSTANT), tmp_path, fallback="none", backends=["halide"])
    passed[operator_of(case)] += not why
    if case.name in REFUSED:
        assert REFUSED[case.name] in why
    else:
        assert why == ""


def transform_of(x, inverse, onesided):
    """The transform of x [n, 1 or 2] by numpy."""
    if inverse and onesided:
        return np.fft.irfft(x[:, 0] + 1j * x[:, 1])[:, None]
    signal = x[:, 0] if x.shape[1] == 1 else x[:, 0] + 1j * x[:, 1]
    made = np.fft.rfft(signal) if onesided else np.fft.ifft(signal) if inverse else np.fft.fft(signal)
    return np.stack([made.real, made.imag], axis=-1)


@pytest.mark.parametrize(
    "length, components, inverse, onesided",
    (
        (384, 1, 0, 1),
        (400, 2, 0, 0),
        (1000, 2, 1, 0),
        (1024, 2, 1, 1),
        (390, 2, 1, 1),
        (509, 1, 0, 0),
    ),
)
def test_long_transform(length, components, inverse, onesided, tmp_path):
    """Lengths of two factors, and a prime number."""
    bins = length // 2 + 1 if inverse and onesided else length
    x = np.random.default_rng(3).standard_normal((2, bins, components)).astype(np.float32)
    node = helper.make_node("DFT", ["x"], ["y"], axis=1, inverse=inverse, onesided=onesided)
    infos = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        for name, shape in (("x", x.shape), ("y", None))
    ]
    graph = helper.make_graph([node], "dft", infos[:1], infos[1:])
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), path)
    session = intarsia.compile(path, tune="off", fallback="none", backends=["halide"]).load().bind()
    (got,) = session.run({"x": x}).values()
    want = np.stack([transform_of(one.astype(np.float64), inverse, onesided) for one in x])
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 * np.abs(want).max())


def test_many_overlapping_blocks(tmp_path):
    """More taps than our compiler's own kernel adds."""
    image, block = np.array([15, 18]), np.array([9, 9])
    x = np.random.default_rng(3).standard_normal((2, 3 * 81, 12)).astype(np.float32)
    node = helper.make_node("Col2Im", ["x", "image", "block"], ["y"], strides=[3, 3])
    infos = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        for name, shape in (("x", x.shape), ("y", None))
    ]
    constants = [numpy_helper.from_array(image, "image"), numpy_helper.from_array(block, "block")]
    graph = helper.make_graph([node], "blocks", infos[:1], infos[1:], constants)
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), path)
    (got,) = (
        intarsia.compile(path, tune="off", fallback="none", backends=["halide"])
        .load()
        .bind()
        .run({"x": x})
        .values()
    )
    want = np.zeros((2, 3, 15, 18), np.float32)
    windows = x.reshape(2, 3, 9, 9, 3, 4)
    for row, column in np.ndindex(9, 9):
        want[:, :, row : row + 7 : 3, column : column + 10 : 3] += windows[:, :, row, column]
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_counts(request):
    if request.session.testscollected > len(CASES):
        assert {op for op in OPERATORS if passed[op] == 0} <= {"GlobalLpPool", "LabelEncoder"}
