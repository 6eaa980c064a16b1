"""A net that finds which of twelve words a second of sound is: samples of 16 bits -> MFCC by ONNX's STFT -> a small convolutional
network with random weights.

Source: Y. Zhang, N. Suda, L. Lai, V. Chandra, "Hello Edge: Keyword Spotting on Microcontrollers", 2017: DS-CNN of size S.
"""

import wave

import numpy as np
from cli_models import save
from onnx import TensorProto, helper
from quantized_models import save_quantized

RATE, FRAME, STEP, BANDS, COEFFICIENTS, CHANNELS = 16000, 640, 320, 40, 10, 64
WORDS = "silence unknown yes no up down left right on off stop go".split()
FRAMES = (RATE - FRAME) // STEP + 1


def mel_bands():
    """[bins, bands]: triangles of equal width on the mel scale, from 20 Hz to 4 kHz."""
    mel = np.linspace(1127 * np.log1p(20 / 700), 1127 * np.log1p(4000 / 700), BANDS + 2)
    edges = 700 * np.expm1(mel / 1127)
    bins = np.linspace(0, RATE / 2, FRAME // 2 + 1)[:, None]
    rising = (bins - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - bins) / (edges[2:] - edges[1:-1])
    return np.maximum(np.minimum(rising, falling), 0).astype(np.float32)


def cosines():
    """[bands, coefficients]: the discrete cosine transform (DCT-II)."""
    bands, order = np.arange(BANDS)[:, None], np.arange(COEFFICIENTS)
    return (np.cos(np.pi / BANDS * (bands + 0.5) * order) * np.sqrt(2 / BANDS)).astype(np.float32)


def front_end():
    """Nodes and constants: samples i16 [1, RATE] -> features [1, 1, FRAMES, COEFFICIENTS]."""
    nodes = [
        helper.make_node("Cast", ["samples"], ["real"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["real", "full_scale"], ["scaled"]),
        helper.make_node("Unsqueeze", ["scaled", "last"], ["signal"]),
        helper.make_node("STFT", ["signal", "step", "window", "frame"], ["spectrum"]),
        helper.make_node("ReduceSumSquare", ["spectrum"], ["power"], axes=[3], keepdims=0),
        helper.make_node("MatMul", ["power", "bands"], ["mel"]),
        helper.make_node("Add", ["mel", "least"], ["positive"]),
        helper.make_node("Log", ["positive"], ["loudness"]),
        helper.make_node("MatMul", ["loudness", "cosines"], ["mfcc"]),
        helper.make_node("Unsqueeze", ["mfcc", "first"], ["features"]),
    ]
    constants = [
        ("full_scale", np.float32(1 / 32768)),
        ("last", np.array([2])),
        ("first", np.array([1])),
        ("step", np.array(STEP)),
        ("frame", np.array(FRAME)),
        ("window", np.hanning(FRAME).astype(np.float32)),
        ("bands", mel_bands()),
        ("least", np.float32(1e-6)),
        ("cosines", cosines()),
    ]
    return nodes, constants


def network():
    """Nodes and constants: features -> scores [1, words]."""
    random = np.random.default_rng(1)
    nodes, constants = [], []

    def convolve(value, name, before, taps, group=1, **attributes):
        weights = random.standard_normal((CHANNELS, before, *taps)) * np.sqrt(2 / (before * np.prod(taps)))
        constants.append((f"{name}_w", weights.astype(np.float32)))
        constants.append((f"{name}_b", random.normal(0, 0.1, CHANNELS).astype(np.float32)))
        inputs = [value, f"{name}_w", f"{name}_b"]
        nodes.append(helper.make_node("Conv", inputs, [f"{name}_y"], name, group=group, **attributes))
        nodes.append(helper.make_node("Relu", [f"{name}_y"], [f"{name}_r"]))
        return f"{name}_r"

    value = convolve("features", "conv", 1, (10, 4), pads=[4, 1, 5, 1], strides=[2, 2])
    for block in range(4):
        value = convolve(value, f"depthwise{block}", 1, (3, 3), CHANNELS, pads=[1, 1, 1, 1])
        value = convolve(value, f"pointwise{block}", CHANNELS, (1, 1))
    constants.append(("words_w", random.normal(0, 0.3, (len(WORDS), CHANNELS)).astype(np.float32)))
    constants.append(("words_b", random.normal(0, 0.1, len(WORDS)).astype(np.float32)))
    nodes += [
        helper.make_node("GlobalAveragePool", [value], ["mean"]),
        helper.make_node("Flatten", ["mean"], ["flat"]),
        helper.make_node("Gemm", ["flat", "words_w", "words_b"], ["scores"], transB=1),
    ]
    return nodes, constants


def save_network(path):
    """features [1, 1, FRAMES, COEFFICIENTS] -> scores [1, words]"""
    nodes, constants = network()
    inputs = [("features", TensorProto.FLOAT, [1, 1, FRAMES, COEFFICIENTS])]
    return save(path, nodes, inputs, [("scores", TensorProto.FLOAT, [1, len(WORDS)])], constants, [("", 17)])


def save_keyword_spotting(path):
    """samples i16 [1, RATE] -> scores [1, words], word [1]"""
    nodes, constants = (front + net for front, net in zip(front_end(), network()))
    nodes.append(helper.make_node("ArgMax", ["scores"], ["word"], axis=1, keepdims=0))
    inputs = [("samples", TensorProto.INT16, [1, RATE])]
    outputs = [("scores", TensorProto.FLOAT, [1, len(WORDS)]), ("word", TensorProto.INT64, [1])]
    return save(path, nodes, inputs, outputs, constants, [("", 17)])


def save_quantized_network(folder):
    real = save_network(folder / "real.onnx")
    return save_quantized(real, folder / "int8.onnx", (1, 1, FRAMES, COEFFICIENTS), 3)


def write_wav(path, seed=3):
    """A second of a chirp in noise, 16 bits, one channel."""
    time = np.arange(RATE) / RATE
    sound = 0.3 * np.sin(2 * np.pi * (200 + 900 * time) * time)
    sound += np.random.default_rng(seed).normal(0, 0.05, RATE)
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, RATE, RATE, "NONE", ""))
        file.writeframes((np.clip(sound, -1, 1) * 32767).astype("<i2").tobytes())


def read_wav(path):
    with wave.open(str(path), "rb") as file:
        assert file.getparams()[:3] == (1, 2, RATE)
        return np.frombuffer(file.readframes(RATE), "<i2")[None]
