"""Writes a network in 8 bits that knows the words of make_wav.py, and their names for C: make_model.py FRONT_END FOLDER

FRONT_END is features.c as a library: the network learns from the numbers that it gets on a board.
The network is DS-CNN of size S (Y. Zhang et al., "Hello Edge: Keyword Spotting on Microcontrollers", 2017). Its convolutions are
random; only its last layer is trained, on what they give in 8 bits. That is enough for words as clear as these.
"""

import ctypes
import logging
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from make_wav import WORDS, speak, to_samples
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import quantization

FRAMES, COEFFICIENTS, CHANNELS = 49, 10, 64


def hear(front_end, sounds_per_word, seed):
    """Features [sounds, 1, FRAMES, COEFFICIENTS] and the numbers of their words."""
    random = np.random.default_rng(seed)
    words = np.repeat(np.arange(len(WORDS)), sounds_per_word)
    features = np.zeros((len(words), 1, FRAMES, COEFFICIENTS), np.float32)
    for word, out in zip(words, features):
        samples = to_samples(speak(list(WORDS)[word], random))
        front_end.compute_features(
            samples.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p)
        )
    return features, words


def make_network(center, scale):
    """features -> scores, whose sum is 1. `center` and `scale` are of each coefficient."""
    random = np.random.default_rng(0)
    nodes = [
        helper.make_node("Sub", ["features", "center"], ["centered"]),
        helper.make_node("Mul", ["centered", "scale"], ["scaled"]),
    ]
    constants = {"center": center, "scale": scale}

    def convolve(value, name, depth, taps, **attributes):
        deviation = np.sqrt(2 / (depth * np.prod(taps)))
        constants[f"{name}_w"] = random.normal(0, deviation, (CHANNELS, depth, *taps))
        constants[f"{name}_b"] = random.normal(0, 0.1, CHANNELS)
        inputs = [value, f"{name}_w", f"{name}_b"]
        nodes.append(helper.make_node("Conv", inputs, [f"{name}_y"], name, **attributes))
        nodes.append(helper.make_node("Relu", [f"{name}_y"], [f"{name}_r"]))
        return f"{name}_r"

    value = convolve("scaled", "conv", 1, (10, 4), pads=[4, 1, 5, 1], strides=[2, 2])
    for block in range(4):
        value = convolve(value, f"depthwise{block}", 1, (3, 3), pads=[1, 1, 1, 1], group=CHANNELS)
        value = convolve(value, f"pointwise{block}", CHANNELS, (1, 1))
    nodes += [
        helper.make_node("GlobalAveragePool", [value], ["mean"]),
        helper.make_node("Flatten", ["mean"], ["means"]),
        helper.make_node("Gemm", ["means", "last_w", "last_b"], ["sums"]),
        helper.make_node("Softmax", ["sums"], ["scores"], axis=1),
    ]
    constants |= {"last_w": np.zeros((CHANNELS, len(WORDS))), "last_b": np.zeros(len(WORDS))}
    graph = helper.make_graph(
        nodes,
        "words",
        [helper.make_tensor_value_info("features", TensorProto.FLOAT, [1, 1, FRAMES, COEFFICIENTS])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, len(WORDS)])],
        [numpy_helper.from_array(value.astype(np.float32), name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def quantize_convolutions(model, path, features):
    """Weights have 7 bits: with 8, ONNX Runtime's sums of two products saturate on processors without VNNI."""
    samples = iter([{"features": one[None]} for one in features])

    class Samples(quantization.CalibrationDataReader):
        def get_next(self):
            return next(samples, None)

    kinds = {"op_types_to_quantize": ["Conv", "Relu"], "per_channel": True, "reduce_range": True}
    quantization.quantize_static(model, path, Samples(), **kinds)
    return onnx.load(path)


def compute(model, features, output):
    """A value of a model for each of the features, [sounds, ...]."""
    if output not in [value.name for value in model.graph.output]:
        model = onnx.ModelProto.FromString(model.SerializeToString())
        model.graph.output.append(helper.make_tensor_value_info(output, TensorProto.FLOAT, None))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return np.concatenate([session.run([output], {"features": one[None]})[0] for one in features])


def train_last_layer(model, features, words, steps=500, rate=0.1):
    """Softmax regression, by gradient descent on what the layer reads, normalized."""
    means = compute(model, features, "means")
    center, scale = means.mean(0), means.std(0) + 1e-3
    x, wanted = (means - center) / scale, np.eye(len(WORDS))[words]
    weights, bias = np.zeros((CHANNELS, len(WORDS))), np.zeros(len(WORDS))
    for _ in range(steps):
        sums = np.exp(x @ weights + bias)
        error = (sums / sums.sum(1, keepdims=True) - wanted) / len(x)
        weights -= rate * x.T @ error
        bias -= rate * error.sum(0)
    weights /= scale[:, None]
    trained = {"last_w": weights, "last_b": bias - center @ weights}
    for constant in model.graph.initializer:
        if constant.name in trained:
            value = trained[constant.name].astype(np.float32)
            constant.CopyFrom(numpy_helper.from_array(value, constant.name))


def main(front_end, folder):
    front_end, folder = ctypes.CDLL(front_end), pathlib.Path(folder)
    logging.disable(logging.WARNING)  # quantize_static recommends a preparation that finds nothing here
    features, words = hear(front_end, sounds_per_word=40, seed=1)
    model = make_network(features.mean((0, 1, 2)), 1 / features.std((0, 1, 2)))
    model = quantize_convolutions(model, folder / "words.onnx", features[::4])
    train_last_layer(model, features, words)
    onnx.save(model, folder / "words.onnx")
    names = ", ".join(f'"{word}"' for word in WORDS)
    (folder / "words.h").write_text(
        f"enum {{ WORD_COUNT = {len(WORDS)} }};\nstatic const char* const words[WORD_COUNT] = {{{names}}};\n"
    )
    others, their_words = hear(front_end, sounds_per_word=10, seed=2)
    right = compute(model, others, "scores").argmax(1) == their_words
    print(f"network: recognizes {right.sum()} of {len(right)} other sounds")


if __name__ == "__main__":
    main(*sys.argv[1:])
