"""Operators of ai.onnx.ml, and those that ONNX Runtime adds to ONNX, in our compiler alone against ONNX Runtime's kernels: with known sizes,
and with open ones.

Covers: src/translate/ onnx_machine_learning.cc onnx_support_vectors.cc onnxruntime_attention.cc onnxruntime_fusions.cc onnx_window.cc
"""

from dataclasses import dataclass, field

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import intarsia

MICROSOFT, ML = "com.microsoft", "ai.onnx.ml"
BATCH = {0: {0: "n"}}
random = np.random.default_rng(1)


def normal(*sizes):
    return random.standard_normal(sizes).astype(np.float32)


def integers(least, end, *sizes, dtype=np.int64):
    return random.integers(least, end, sizes).astype(dtype)


@dataclass
class Case:
    op: str
    domain: str
    inputs: list  # arrays; None for an omitted one
    attributes: dict = field(default_factory=dict)
    outputs: tuple = (0,)  # numbers of those that are compared
    constants: tuple = ()  # numbers of inputs that are in the model
    open_axes: dict = field(default_factory=dict)  # {input: {axis: name}}
    opset: int = 21
    ml_opset: int = 1

    def model(self, is_open):
        names = ["" if array is None else f"x{i}" for i, array in enumerate(self.inputs)]
        outputs = [f"y{i}" if i in self.outputs else "" for i in range(max(self.outputs) + 1)]
        node = helper.make_node(self.op, names, outputs, "node", domain=self.domain, **self.attributes)
        infos = []
        for i, array in enumerate(self.inputs):
            if array is None or i in self.constants:
                continue
            names_of_axes = self.open_axes.get(i, {}) if is_open else {}
            shape = [names_of_axes.get(axis, size) for axis, size in enumerate(array.shape)]
            infos.append(
                helper.make_tensor_value_info(names[i], helper.np_dtype_to_tensor_dtype(array.dtype), shape)
            )
        graph = helper.make_graph(
            [node],
            "graph",
            infos,
            [onnx.ValueInfoProto(name=name) for name in outputs if name],
            [numpy_helper.from_array(self.inputs[i], names[i]) for i in self.constants],
        )
        opsets = [helper.make_opsetid("", self.opset)]
        if self.domain:
            opsets.append(helper.make_opsetid(self.domain, self.ml_opset))
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)

    def given(self):
        return {
            f"x{i}": array
            for i, array in enumerate(self.inputs)
            if array is not None and i not in self.constants
        }


def linear(op, count, **attributes):
    coefficients, intercepts = normal(count * 6), normal(count)
    attributes |= {"coefficients": coefficients.tolist(), "intercepts": intercepts.tolist()}
    return Case(op, ML, [normal(5, 6)], attributes, open_axes={0: {0: "n"}})


def linear_classifier(count, **attributes):
    case = linear("LinearClassifier", count, **attributes)
    case.outputs = (0, 1)
    return case


def svm_classifier(of_class, kind="RBF", labels=None, **attributes):
    """Of so many support vectors of each class; of none, one of the features themselves."""
    classes, vectors = len(of_class), sum(of_class)
    attributes |= {
        "kernel_type": kind,
        "kernel_params": [0.5, 0.25, 3.0],
        **(
            {"vectors_per_class": of_class, "support_vectors": normal(vectors * 3).tolist()}
            if vectors
            else {}
        ),
        "coefficients": normal((classes - 1) * vectors or classes * 3).tolist(),
        "rho": normal(classes * (classes - 1) // 2).tolist(),
        **(labels or {"classlabels_ints": [3 * i - 1 for i in range(classes)]}),
    }
    return Case("SVMClassifier", ML, [normal(50, 3)], attributes, (0, 1), open_axes=BATCH)


def with_nan(*sizes):
    x = normal(*sizes)
    x.flat[::3] = np.nan
    return x


TOKENS = {0: "n", 1: "s"}


def attention(inputs, outputs=(0,), open_axes=None, **attributes):
    return Case(
        "MultiHeadAttention", MICROSOFT, inputs, {"num_heads": 2, **attributes}, outputs, (), open_axes or {}
    )


def tokens(count, *sizes):
    return [normal(2, size, 8) for size in sizes[:count]]


QKV = [normal(2, 3, 8), normal(2, 5, 8), normal(2, 5, 8)]
SAME = [normal(2, 3, 8) for _ in range(3)]
PAST = [normal(2, 2, 4, 4), normal(2, 2, 4, 4)]
MASK = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
OPEN = {0: TOKENS, 1: {0: "n", 1: "t"}, 2: {0: "n", 1: "t"}}
HEADS = [normal(2, 2, 3, 4), normal(2, 2, 5, 4), normal(2, 2, 5, 4)]
OPEN_HEADS = {0: {0: "n", 2: "s"}, 1: {0: "n", 2: "t"}, 2: {0: "n", 2: "t"}}
SAME_HEADS = [normal(2, 2, 3, 4) for _ in range(3)]
SAME_OPEN = {i: {0: "n", 2: "s"} for i in range(3)}
WEIGHTS = [normal(6, 24), normal(24)]
CACHES = [normal(10, 4), normal(10, 4)]


def grouped(steps, buffer, last_keys, total, caches=(), **attributes):
    """4 heads of queries over 2 of keys; `last_keys`: the number of each sequence's last key."""
    batch, size = len(last_keys), 16
    inputs = [normal(batch, steps, heads * size) for heads in (4, 2, 2)]
    inputs += [normal(batch, 2, buffer, size) for _ in range(2)] if buffer else [None, None]
    inputs += [np.array(last_keys, np.int32), np.array(total, np.int32), *caches]
    attributes |= {"num_heads": 4, "kv_num_heads": 2}
    return Case("GroupQueryAttention", MICROSOFT, inputs, attributes, (0, 1, 2), (6,))


CASES = {
    "array_feature_extractor": Case(
        "ArrayFeatureExtractor", ML, [normal(3, 6), np.array([5, 0, 2])], open_axes=BATCH
    ),
    "binarizer": Case("Binarizer", ML, [normal(3, 6)], {"threshold": 0.25}, open_axes=BATCH),
    "feature_vectorizer": Case(
        "FeatureVectorizer",
        ML,
        [normal(3, 2), normal(3, 4)],
        {"inputdimensions": [2, 4]},
        open_axes={0: {0: "n"}, 1: {0: "n"}},
    ),
    "imputer": Case(
        "Imputer",
        ML,
        [with_nan(4, 3)],
        {"imputed_value_floats": [1.0, 2.0, 3.0], "replaced_value_float": float("nan")},
        open_axes=BATCH,
    ),
    "imputer_of_integers": Case(
        "Imputer",
        ML,
        [integers(0, 3, 4, 3)],
        {"imputed_value_int64s": [7], "replaced_value_int64": 1},
        open_axes=BATCH,
    ),
    "label_encoder": Case(
        "LabelEncoder",
        ML,
        [integers(-3, 9, 4, 3)],
        {"keys_int64s": [5, -2, 1, 5], "values_floats": [0.5, 1.5, 2.5, 9.0], "default_float": -7.0},
        open_axes=BATCH,
        ml_opset=2,
    ),
    "label_encoder_of_floats": Case(
        "LabelEncoder",
        ML,
        [np.array([1.5, np.nan, -0.0, 3, 1e9], np.float32)],
        {"keys_floats": [3.0, float("nan"), 0.0, 1.5], "values_int64s": [4, 5, 6, 7]},
        open_axes=BATCH,
        ml_opset=4,
    ),
    "linear_regressor": linear("LinearRegressor", 3, targets=3),
    "linear_regressor_of_one": linear("LinearRegressor", 1),
    "linear_classifier": linear_classifier(3, classlabels_ints=[4, 5, 9]),
    "linear_classifier_softmax": linear_classifier(3, classlabels_ints=[4, 5, 9], post_transform="SOFTMAX"),
    "linear_classifier_logistic": linear_classifier(3, classlabels_ints=[4, 5, 9], post_transform="LOGISTIC"),
    "linear_classifier_of_two": linear_classifier(1, classlabels_ints=[4, 5]),
    "linear_classifier_of_two_logistic": linear_classifier(
        1, classlabels_ints=[4, 5], post_transform="LOGISTIC"
    ),
    "normalizer_max": Case("Normalizer", ML, [normal(4, 6)], {"norm": "MAX"}, open_axes=BATCH),
    "normalizer_l1": Case("Normalizer", ML, [normal(4, 6)], {"norm": "L1"}, open_axes=BATCH),
    "normalizer_l2": Case(
        "Normalizer",
        ML,
        [np.concatenate([normal(4, 6), np.zeros((1, 6), np.float32)])],
        {"norm": "L2"},
        open_axes=BATCH,
    ),
    "one_hot_encoder": Case(
        "OneHotEncoder", ML, [integers(0, 5, 4)], {"cats_int64s": [3, 1, 2]}, open_axes=BATCH
    ),
    "scaler": Case(
        "Scaler", ML, [normal(4, 3)], {"offset": [1.0, 2.0, 3.0], "scale": [0.5, 2.0, 1.0]}, open_axes=BATCH
    ),
    "scaler_of_integers": Case("Scaler", ML, [integers(-9, 9, 4, 3)], {"offset": [1.0], "scale": [0.5]}),
    **{
        f"svm_regressor_{kind.lower()}": Case(
            "SVMRegressor",
            ML,
            [normal(5, 3)],
            {
                "kernel_type": kind,
                "kernel_params": [0.5, 0.25, 2.0],
                "n_supports": 4,
                "support_vectors": normal(12).tolist(),
                "coefficients": normal(4).tolist(),
                "rho": [0.75],
            },
            open_axes=BATCH,
        )
        for kind in ("LINEAR", "RBF", "POLY", "SIGMOID")
    },
    **{
        f"svm_classifier_{kind.lower()}": svm_classifier([4, 2, 5], kind)
        for kind in ("LINEAR", "RBF", "POLY", "SIGMOID")
    },
    "svm_classifier_of_two": svm_classifier([3, 4]),
    "svm_classifier_of_two_logistic": svm_classifier([3, 4], post_transform="LOGISTIC"),
    "svm_classifier_of_two_softmax": svm_classifier([3, 4], post_transform="SOFTMAX"),
    "svm_classifier_with_probabilities": svm_classifier([3, 4], prob_a=[-0.7], prob_b=[0.1]),
    "svm_classifier_with_even_probabilities": svm_classifier([3, 4], prob_a=[-0.003], prob_b=[0.001]),
    "svm_classifier_with_extreme_probabilities": svm_classifier(
        [3, 4], "POLY", prob_a=[-90.0], prob_b=[0.1], post_transform="SOFTMAX"
    ),
    "svm_classifier_of_five": svm_classifier([3, 1, 2, 0, 4], "LINEAR", post_transform="SOFTMAX"),
    "svm_classifier_of_features": svm_classifier([0, 0, 0], "LINEAR"),
    "svm_classifier_of_features_of_two": svm_classifier([0, 0], "LINEAR", post_transform="LOGISTIC"),
    "svm_classifier_of_one_row": Case(
        "SVMClassifier", ML, [normal(3)], svm_classifier([2, 3]).attributes, (0, 1)
    ),
    "svm_classifier_of_integers": Case(
        "SVMClassifier", ML, [integers(-3, 4, 20, 3)], svm_classifier([2, 3, 1]).attributes, (0, 1)
    ),
    "bias_gelu": Case("BiasGelu", MICROSOFT, [normal(2, 3, 8), normal(8)], open_axes={0: TOKENS}),
    "fast_gelu": Case("FastGelu", MICROSOFT, [normal(2, 3, 8), normal(8)], open_axes={0: TOKENS}),
    "fast_gelu_alone": Case("FastGelu", MICROSOFT, [normal(2, 3, 8)], open_axes={0: TOKENS}),
    "fused_matmul": Case(
        "FusedMatMul",
        MICROSOFT,
        [normal(2, 4, 3), normal(2, 5, 4)],
        {"alpha": 0.5, "transA": 1, "transB": 1},
        open_axes={0: {0: "n", 2: "s"}, 1: {0: "n"}},
    ),
    "fused_conv": Case(
        "FusedConv",
        MICROSOFT,
        [normal(1, 3, 8, 8), normal(4, 3, 3, 3), normal(4), normal(1, 4, 8, 8)],
        {"activation": "Relu", "pads": [1, 1, 1, 1]},
        constants=(1, 2),
    ),
    "fused_conv_clip": Case(
        "FusedConv",
        MICROSOFT,
        [normal(1, 3, 8, 8), normal(4, 3, 3, 3)],
        {"activation": "Clip", "activation_params": [-0.5, 0.5]},
        constants=(1,),
    ),
    "fused_gemm": Case(
        "FusedGemm",
        MICROSOFT,
        [normal(3, 4), normal(5, 4), normal(5)],
        {"activation": "LeakyRelu", "activation_alpha": 0.2, "transB": 1},
        open_axes=BATCH,
    ),
    "gather_nd": Case("GatherND", MICROSOFT, [normal(4, 5, 6), integers(0, 4, 3, 2)]),
    "simplified_layer_normalization": Case(
        "SimplifiedLayerNormalization",
        "",
        [normal(2, 3, 8), normal(8)],
        {"epsilon": 1e-3},
        open_axes={0: TOKENS},
    ),
    "skip_layer_normalization": Case(
        "SkipLayerNormalization",
        MICROSOFT,
        [normal(2, 3, 8), normal(2, 3, 8), normal(8), normal(8), normal(8)],
        {"epsilon": 1e-3},
        (0, 3),
        open_axes={0: TOKENS, 1: TOKENS},
    ),
    "skip_simplified_layer_normalization": Case(
        "SkipSimplifiedLayerNormalization",
        MICROSOFT,
        [normal(2, 3, 8), normal(2, 3, 8), normal(8)],
        {"epsilon": 1e-3},
        (0, 3),
        open_axes={0: TOKENS, 1: TOKENS},
    ),
    "embed_layer_normalization": Case(
        "EmbedLayerNormalization",
        MICROSOFT,
        [
            integers(0, 9, 2, 5, dtype=np.int32),
            integers(0, 2, 2, 5, dtype=np.int32),
            normal(9, 8),
            normal(6, 8),
            normal(2, 8),
            normal(8),
            normal(8),
            MASK,
        ],
        {"epsilon": 1e-3},
        (0, 1),
        (2, 3, 4, 5, 6),
        {i: TOKENS for i in (0, 1, 7)},
    ),
    "trilu": Case("Trilu", MICROSOFT, [normal(4, 5), np.array(1)], {"upper": 0}, constants=(1,)),
    "attention_of_heads": attention(QKV, open_axes=OPEN),
    "attention_with_bias": attention([*QKV, normal(24)], open_axes=OPEN),
    "attention_with_padding": attention([*QKV, None, MASK], open_axes={**OPEN, 4: {0: "n", 1: "t"}}),
    "attention_with_added_scores": attention([*QKV, None, None, normal(2, 2, 3, 5)], scale=0.25),
    "attention_with_past": attention([*SAME, None, None, None, *PAST], (0, 1, 2)),
    "attention_one_way": attention(SAME, unidirectional=1),
    "attention_by_weights": Case(
        "Attention",
        MICROSOFT,
        [normal(2, 3, 6), *WEIGHTS],
        {"num_heads": 2},
        constants=(1, 2),
        open_axes={0: TOKENS},
    ),
    "attention_by_weights_with_padding": Case(
        "Attention",
        MICROSOFT,
        [normal(2, 5, 6), *WEIGHTS, MASK],
        {"num_heads": 2},
        constants=(1, 2),
        open_axes={0: TOKENS, 3: TOKENS},
    ),
    "attention_by_weights_one_way": Case(
        "Attention",
        MICROSOFT,
        [normal(2, 5, 6), *WEIGHTS],
        {"num_heads": 2, "unidirectional": 1},
        constants=(1, 2),
        open_axes={0: TOKENS},
    ),
    "attention_by_weights_with_past": Case(
        "Attention",
        MICROSOFT,
        [normal(2, 3, 6), *WEIGHTS, None, normal(2, 2, 2, 5, 4)],
        {"num_heads": 2, "unidirectional": 1},
        (0, 1),
        (1, 2),
    ),
    "grouped_attention_of_a_prompt": grouped(3, 0, [2, 2], 3),
    "grouped_attention_with_past": grouped(1, 4, [4, 4], 5),
    "grouped_attention_with_a_longer_buffer": grouped(1, 8, [4, 2], 5),
    "grouped_attention_of_some_steps": grouped(2, 3, [4], 5, local_window_size=3),
    "grouped_attention_with_rotation": grouped(1, 4, [4, 4], 5, [normal(10, 8), normal(10, 8)], do_rotary=1),
    "grouped_attention_of_a_prompt_with_rotation": grouped(
        3, 0, [2, 2], 3, [normal(10, 8), normal(10, 8)], do_rotary=1, rotary_interleaved=1
    ),
    "rotary_embedding": Case(
        "RotaryEmbedding",
        MICROSOFT,
        [normal(2, 3, 16), integers(0, 10, 2, 3), *CACHES],
        open_axes={0: TOKENS, 1: TOKENS},
    ),
    "rotary_embedding_from_one_place": Case(
        "RotaryEmbedding", MICROSOFT, [normal(2, 3, 16), np.array([4]), *CACHES], {"interleaved": 1}
    ),
    "rotary_embedding_of_heads": Case(
        "RotaryEmbedding",
        MICROSOFT,
        [normal(2, 2, 3, 8), integers(0, 10, 2, 3), *CACHES],
        open_axes={0: {0: "n", 2: "s"}, 1: TOKENS},
    ),
    "standard_attention": Case("Attention", "", HEADS, open_axes=OPEN_HEADS, opset=23),
    "standard_attention_causal_with_past": Case(
        "Attention",
        "",
        [*SAME_HEADS, None, *PAST],
        {"is_causal": 1},
        (0, 1, 2),
        (),
        {**SAME_OPEN, 4: {0: "n", 2: "p"}, 5: {0: "n", 2: "p"}},
        opset=23,
    ),
    "standard_attention_with_mask": Case(
        "Attention",
        "",
        [*HEADS, random.random((3, 5)) < 0.7],
        open_axes={**OPEN_HEADS, 3: {0: "s", 1: "t"}},
        opset=23,
    ),
    "standard_attention_packed": Case(
        "Attention",
        "",
        [normal(2, 3, 16), normal(2, 5, 8), normal(2, 5, 8)],
        {"q_num_heads": 4, "kv_num_heads": 2, "softcap": 2.0},
        open_axes=OPEN,
        opset=23,
    ),
    "standard_attention_of_one_query": Case(
        "Attention",
        "",
        [normal(2, 4, 1, 4), *HEADS[1:], normal(2, 4, 1, 5)],
        {"scale": 0.3},
        open_axes={0: {0: "n"}, 1: {0: "n", 2: "t"}, 2: {0: "n", 2: "t"}, 3: {0: "n", 3: "t"}},
        opset=23,
    ),
    "standard_rotary_embedding": Case(
        "RotaryEmbedding",
        "",
        [normal(2, 3, 16), *CACHES, integers(0, 10, 2, 3)],
        {"num_heads": 2},
        open_axes={0: TOKENS, 3: TOKENS},
        opset=23,
    ),
    "short_time_transform": Case(
        "STFT",
        "",
        [normal(2, 64, 1), np.array(8), normal(16)],
        open_axes={0: TOKENS},
        constants=(1,),
        opset=17,
    ),
    "transform": Case("DFT", "", [normal(2, 16, 1)], {"axis": 1}, open_axes=BATCH, opset=17),
    "loss": Case(
        "SoftmaxCrossEntropyLoss",
        "",
        [normal(4, 5), integers(0, 5, 4)],
        {"ignore_index": 2},
        open_axes={0: {0: "n"}, 1: {0: "n"}},
        opset=13,
    ),
    "lp_pool": Case(
        "LpPool", "", [normal(1, 2, 9, 9)], {"kernel_shape": [3, 3], "p": 3, "pads": [1, 1, 1, 1]}
    ),
    "lp_pool_rounded_up": Case(
        "LpPool",
        "",
        [normal(1, 2, 8, 8)],
        {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1},
        opset=18,
    ),
    "global_lp_pool": Case("GlobalLpPool", "", [normal(2, 3, 4, 5)], {"p": 2}, open_axes=BATCH),
    "global_lp_pool_of_three": Case("GlobalLpPool", "", [normal(2, 3, 4, 5)], {"p": 3}, open_axes=BATCH),
}


@pytest.mark.parametrize("is_open", (False, True), ids=("known", "open"))
@pytest.mark.parametrize("name", CASES)
def test_case(name, is_open, tmp_path):
    case = CASES[name]
    if is_open and not case.open_axes:
        pytest.skip("no open sizes")
    model, path = case.model(is_open), tmp_path / "model.onnx"
    onnx.save(model, path)
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 4
    theirs = onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
    want = theirs.run(None, case.given())
    got = (
        intarsia.compile(path, tune="off", fallback="none", backends=["halide"])
        .load()
        .bind()
        .run(case.given())
    )
    for one, other in zip(got.values(), want, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(
    "attributes, reason",
    (
        ({"prob_a": [1.0] * 3, "prob_b": [1.0] * 3}, "with probabilities .prob_a, prob_b. of 3 labels"),
        ({"coefficients": [1.0] * 5}, "5 coefficients for 6 support vectors of 3 classes"),
        ({"rho": [1.0]}, "1 numbers rho for 3 pairs of classes"),
        ({"vectors_per_class": [3, -1, 4]}, "-1 vectors of a class"),
        ({"vectors_per_class": [3, 3]}, "2 vectors_per_class for 3 labels"),
        ({"support_vectors": [1.0] * 17}, "17 numbers for 6 support vectors of 3 features"),
        ({"kernel_type": "COSINE"}, "kernel_type COSINE"),
    ),
)
def test_refused_support_vectors(attributes, reason, tmp_path):
    case = svm_classifier([1, 2, 3])
    case.attributes |= attributes
    onnx.save(case.model(False), tmp_path / "model.onnx")
    with pytest.raises(intarsia.Error, match=reason):
        intarsia.compile(tmp_path / "model.onnx", tune="off", fallback="none", backends=["halide"])
