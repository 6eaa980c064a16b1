"""The node cases of the onnx package for operators that are made of others, in our compiler alone: sizes, axes and the like, which models
have as constants, are constant. Of operators with many cases every third; with more rounds all.

Covers: src/translate/ onnx_*.cc attention_parts.cc fourier.cc rotary.cc
"""

import collections

import pytest
from onnx_cases import load_cases, run_ours, with_constants
from rounds import ROUNDS

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
    "test_ai_onnx_ml_label_encoder_string_int": "no numbers",
    "test_ai_onnx_ml_label_encoder_string_int_no_default": "no numbers",
    "test_ai_onnx_ml_label_encoder_tensor_mapping": "of string to int16",
    "test_ai_onnx_ml_label_encoder_tensor_value_only_mapping": "no numbers",
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
    return own[:: 3 if ROUNDS == 1 and len(own) > 12 else 1]


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


def test_counts(request):
    if request.session.testscollected == len(CASES) + 1:
        assert {op for op in OPERATORS if passed[op] == 0} <= {"GlobalLpPool", "LabelEncoder"}
