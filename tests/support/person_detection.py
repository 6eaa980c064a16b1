"""A net that tells whether a person is in a picture of 96x96 gray pixels, with random weights.

Source: A. Howard et al., "MobileNets: Efficient Convolutional Neural Networks for Mobile Vision Applications", 2017: MobileNetV1
with a quarter of the channels, as TensorFlow Lite Micro's example has it.
"""

import numpy as np
from cli_models import save
from onnx import TensorProto, helper
from quantized_models import save_quantized

SIZE = 96
# Channels and strides of the blocks.
BLOCKS = [(16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), *[(128, 1)] * 5, (256, 2), (256, 1)]


def save_person_detection(path, size=SIZE):
    """image [1, 1, size, size] -> scores [1, 2]"""
    random = np.random.default_rng(1)
    nodes, constants = [], []

    def convolve(value, name, before, after, taps, stride=1, group=1):
        weights = random.standard_normal((after, before // group, taps, taps)) * np.sqrt(
            2 / (before // group * taps * taps)
        )
        constants.append((f"{name}_w", weights.astype(np.float32)))
        constants.append((f"{name}_b", random.normal(0, 0.1, after).astype(np.float32)))
        pads = [0 if stride == 2 else taps // 2] * 2 + [taps // 2] * 2
        inputs = [value, f"{name}_w", f"{name}_b"]
        nodes.append(
            helper.make_node(
                "Conv", inputs, [f"{name}_y"], name, group=group, strides=[stride] * 2, pads=pads
            )
        )
        nodes.append(helper.make_node("Clip", [f"{name}_y", "zero", "six"], [f"{name}_r"], f"{name}_clip"))
        return f"{name}_r"

    constants += [("zero", np.float32(0)), ("six", np.float32(6))]
    value, channels = convolve("image", "conv", 1, 8, 3, 2), 8
    for number, (after, stride) in enumerate(BLOCKS):
        value = convolve(value, f"depthwise{number}", channels, channels, 3, stride, channels)
        value = convolve(value, f"pointwise{number}", channels, after, 1)
        channels = after
    constants.append(("scores_w", random.normal(0, 0.1, (2, channels)).astype(np.float32)))
    constants.append(("scores_b", np.zeros(2, np.float32)))
    nodes += [
        helper.make_node("GlobalAveragePool", [value], ["mean"], "mean"),
        helper.make_node("Flatten", ["mean"], ["flat"], "flat"),
        helper.make_node("Gemm", ["flat", "scores_w", "scores_b"], ["scores"], "scores", transB=1),
    ]
    inputs = [("image", TensorProto.FLOAT, [1, 1, size, size])]
    return save(path, nodes, inputs, [("scores", TensorProto.FLOAT, [1, 2])], constants, [("", 17)])


def save_quantized_network(folder):
    real = save_person_detection(folder / "real.onnx")
    return save_quantized(real, folder / "int8.onnx", (1, 1, SIZE, SIZE), 1)
