"""Writes a small Keras classifier as a SavedModel, and an ONNX model of one node, y = x + 1.

make_models.py FOLDER writes FOLDER/classifier, FOLDER/pixels.npy, FOLDER/scores.npy (what Keras computes from the pixels,
divided by 255) and FOLDER/addone.onnx.
"""

import pathlib
import sys

import keras
import numpy as np
import onnx
from keras import layers
from onnx import TensorProto, helper, numpy_helper


def make_classifier(folder: pathlib.Path) -> None:
    keras.utils.set_random_seed(0)
    image = keras.Input((32, 32, 3), name="image")
    x = image
    for filters in (16, 32):
        x = layers.Conv2D(filters, 3, strides=2, padding="same", activation="relu")(x)
        x = layers.BatchNormalization()(x)
    model = keras.Model(image, layers.Dense(10, "softmax")(layers.GlobalAveragePooling2D()(x)))
    model.export(folder / "classifier", verbose=False)

    pixels = np.random.default_rng(1).integers(0, 256, (5, 32, 32, 3)).astype(np.uint8)
    np.save(folder / "pixels.npy", pixels)
    np.save(folder / "scores.npy", model.predict(pixels / np.float32(255), verbose=0))


def make_addone(path: pathlib.Path) -> None:
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "one"], ["y"])],
        "addone",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])],
        [numpy_helper.from_array(np.float32(1), "one")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


if __name__ == "__main__":
    make_classifier(pathlib.Path(sys.argv[1]))
    make_addone(pathlib.Path(sys.argv[1], "addone.onnx"))
