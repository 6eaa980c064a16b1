#!/usr/bin/env python3
"""Writes two published detectors as ONNX, in the structure in which they are exported: SSDLite on MobileNetV2 (Sandler et al.,
2018) and YOLOv3-tiny (Redmon and Farhadi, 2018), both to the boxes that non-maximum suppression keeps.

    build/venv/bin/python scripts/make_detectors.py [FOLDER]

Weights are random, from a fixed seed. SSDLite's backbone is build/models/mobilenetv2.onnx.
"""

import argparse
import pathlib

import numpy as np

import onnx
from onnx import TensorProto, helper, numpy_helper

SEED, OPSET = 20, 17
ROOT = pathlib.Path(__file__).resolve().parent.parent
FLOAT = TensorProto.FLOAT


class Builder:
    """Nodes and weights; every method gives the name of the value that it makes."""

    def __init__(self):
        self.nodes, self.weights = [], []
        self.random = np.random.default_rng(SEED)

    def constant(self, array):
        self.weights.append(numpy_helper.from_array(np.asarray(array), f"weight{len(self.weights)}"))
        return self.weights[-1].name

    def add(self, op, *inputs, outputs=1, **attributes):
        number = len(self.nodes)
        names = [f"{op.lower()}{number}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, f"{op}_{number}", **attributes))
        return names[0] if outputs == 1 else names

    def conv(self, x, channels_in, channels_out, kernel, stride=1, groups=1):
        fan_in = channels_in // groups * kernel * kernel
        shape = (channels_out, channels_in // groups, kernel, kernel)
        weights = self.random.standard_normal(shape).astype(np.float32) * np.sqrt(
            2 / fan_in, dtype=np.float32
        )
        bias = self.random.standard_normal(channels_out).astype(np.float32) / 10
        padding = kernel // 2
        return self.add(
            *("Conv", x, self.constant(weights), self.constant(bias)),
            kernel_shape=[kernel] * 2,
            strides=[stride] * 2,
            pads=[padding] * 4,
            group=groups,
        )

    def relu6(self, x):
        return self.add("Clip", x, self.constant(np.float32(0)), self.constant(np.float32(6)))

    def leaky(self, x):
        return self.add("LeakyRelu", x, alpha=0.1)

    def reshape(self, x, *shape):
        return self.add("Reshape", x, self.constant(np.array(shape, np.int64)))

    def suppress(self, boxes, scores, most, overlap, least_score):
        limits = [
            np.array([most], np.int64),
            np.array([overlap], np.float32),
            np.array([least_score], np.float32),
        ]
        return self.add("NonMaxSuppression", boxes, scores, *map(self.constant, limits))

    def model(self, name, inputs, outputs):
        read = {value for node in self.nodes for value in node.input}
        weights = [tensor for tensor in self.weights if tensor.name in read]
        graph = helper.make_graph(self.nodes, name, inputs, outputs, weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


def ssd_anchors(size, scale):
    """Of six aspect ratios in each cell, as center and size in [0, 1]: float32[size * size * 6, 4]."""
    ratios = np.array([1, 2, 1 / 2, 3, 1 / 3, 1])
    centers = (np.arange(size) + 0.5) / size
    y, x, ratio = np.meshgrid(centers, centers, ratios, indexing="ij")
    sizes = [scale / np.sqrt(ratio), scale * np.sqrt(ratio)]
    return np.stack([y, x, *sizes], -1).reshape(-1, 4).astype(np.float32)


def ssdlite_head(made, feature, channels, size, scale, classes):
    """Depthwise, then pointwise convolutions to boxes and scores of six anchors in each cell."""
    parts = []
    for width in (4, classes):
        x = made.relu6(made.conv(feature, channels, channels, 3, groups=channels))
        x = made.add("Transpose", made.conv(x, channels, 6 * width, 1), perm=[0, 2, 3, 1])
        parts.append(made.reshape(x, 1, -1, width))
    return *parts, ssd_anchors(size, scale)


def ssdlite_mobilenetv2(backbone):
    model = onnx.load(backbone)
    made = Builder()
    taps = {"block_13_expand_relu_1": (576, 14), "out_relu_1": (1280, 7)}
    made.weights = list(model.graph.initializer)
    made.nodes = list(model.graph.node)
    name_of = {tap: next(n.output[0] for n in made.nodes if f"/{tap}/" in n.name) for tap in taps}
    last = next(i for i, node in enumerate(made.nodes) if node.output[0] == name_of["out_relu_1"])
    made.nodes = made.nodes[: last + 1]
    features = [(name_of[tap], *of_tap) for tap, of_tap in taps.items()]
    for channels, size in ((512, 4), (256, 2), (128, 1)):
        x, channels_in, _ = features[-1]
        x = made.relu6(made.conv(x, channels_in, channels // 2, 1))
        x = made.relu6(made.conv(x, channels // 2, channels // 2, 3, stride=2, groups=channels // 2))
        features.append((made.relu6(made.conv(x, channels // 2, channels, 1)), channels, size))
    classes = 91
    heads = [
        ssdlite_head(made, *feature, 0.2 + 0.15 * level, classes) for level, feature in enumerate(features)
    ]
    boxes = made.add("Concat", *(head[0] for head in heads), axis=1)
    scores = made.add("Softmax", made.add("Concat", *(head[1] for head in heads), axis=1), axis=-1)
    anchors = np.concatenate([head[2] for head in heads])
    offset, growth = made.add("Split", boxes, axis=2, outputs=2)
    variance = made.constant(np.float32(0.1))
    center = made.add("Add", made.add("Mul", made.add("Mul", offset, variance), made.constant(anchors[:, 2:])),
                      made.constant(anchors[:, :2]))  # fmt: skip
    sizes = made.add("Mul", made.add("Exp", made.add("Mul", growth, variance)), made.constant(anchors[:, 2:]))
    half = made.add("Mul", sizes, made.constant(np.float32(0.5)))
    corners = made.add("Concat", made.add("Sub", center, half), made.add("Add", center, half), axis=2)
    by_class = made.add("Transpose", scores, perm=[0, 2, 1])
    kept = made.suppress(corners, by_class, 100, 0.6, 0.5)
    outputs = [
        helper.make_tensor_value_info(corners, FLOAT, [1, len(anchors), 4]),
        helper.make_tensor_value_info(by_class, FLOAT, [1, classes, len(anchors)]),
        helper.make_tensor_value_info(kept, TensorProto.INT64, ["kept", 3]),
    ]
    return made.model(
        "ssdlite_mobilenetv2", [helper.make_tensor_value_info("image", FLOAT, [1, 224, 224, 3])], outputs
    )


def yolo_boxes(made, x, size, stride, anchors, classes):
    """Boxes in pixels and scores of three anchors in each cell."""
    x = made.reshape(x, 1, 3, 5 + classes, size * size)
    x = made.add("Transpose", x, perm=[0, 3, 1, 2])
    parts = made.constant(np.array([2, 2, 1, classes], np.int64))
    offset, growth, objectness, scores = made.add("Split", x, parts, axis=3, outputs=4)
    grid = np.stack(np.meshgrid(np.arange(size), np.arange(size)), -1).reshape(-1, 1, 2).astype(np.float32)
    center = made.add("Mul", made.add("Add", made.add("Sigmoid", offset), made.constant(grid)),
                      made.constant(np.float32(stride)))  # fmt: skip
    half = made.add("Mul", made.add("Exp", growth), made.constant(np.array(anchors, np.float32) / 2))
    corners = made.add("Concat", made.add("Sub", center, half), made.add("Add", center, half), axis=3)
    scores = made.add("Mul", made.add("Sigmoid", scores), made.add("Sigmoid", objectness))
    return made.reshape(corners, 1, -1, 4), made.reshape(scores, 1, -1, classes)


def yolov3_tiny():
    made = Builder()
    classes, x, channels = 80, "image", 3
    route = None
    for level, width in enumerate((16, 32, 64, 128, 256, 512, 1024)):
        x = made.leaky(made.conv(x, channels, width, 3))
        route, channels = (x, width) if level == 4 else route, width
        if level < 5:
            x = made.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
        elif level == 5:
            x = made.add("MaxPool", x, kernel_shape=[2, 2], strides=[1, 1], auto_pad="SAME_UPPER")
    x = made.leaky(made.conv(x, 1024, 256, 1))
    coarse = made.conv(made.leaky(made.conv(x, 256, 512, 3)), 512, 3 * (5 + classes), 1)
    up = made.leaky(made.conv(x, 256, 128, 1))
    up = made.add("Resize", up, "", made.constant(np.array([1, 1, 2, 2], np.float32)), mode="nearest",
                  coordinate_transformation_mode="asymmetric", nearest_mode="floor")  # fmt: skip
    joined = made.leaky(made.conv(made.add("Concat", up, route[0], axis=1), 128 + route[1], 256, 3))
    fine = made.conv(joined, 256, 3 * (5 + classes), 1)
    scales = [
        yolo_boxes(made, coarse, 13, 32, [(81, 82), (135, 169), (344, 319)], classes),
        yolo_boxes(made, fine, 26, 16, [(23, 27), (37, 58), (81, 82)], classes),
    ]
    corners = made.add("Concat", *(scale[0] for scale in scales), axis=1)
    scores = made.add(
        "Transpose", made.add("Concat", *(scale[1] for scale in scales), axis=1), perm=[0, 2, 1]
    )
    kept = made.suppress(corners, scores, 20, 0.45, 0.9)
    boxes = 3 * (13 * 13 + 26 * 26)
    outputs = [
        helper.make_tensor_value_info(corners, FLOAT, [1, boxes, 4]),
        helper.make_tensor_value_info(scores, FLOAT, [1, classes, boxes]),
        helper.make_tensor_value_info(kept, TensorProto.INT64, ["kept", 3]),
    ]
    return made.model(
        "yolov3_tiny", [helper.make_tensor_value_info("image", FLOAT, [1, 3, 416, 416])], outputs
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=ROOT / "build/detectors")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    models = {
        "ssdlite_mobilenetv2": ssdlite_mobilenetv2(ROOT / "build/models/mobilenetv2.onnx"),
        "yolov3_tiny": yolov3_tiny(),
    }
    for name, model in models.items():
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, folder / f"{name}.onnx")


if __name__ == "__main__":
    main()
