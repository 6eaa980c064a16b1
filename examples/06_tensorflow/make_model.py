"""Exports a small Keras classifier with an operator that only TensorFlow has: RGBToHSV, between a scaling and convolutions.

make_model.py FOLDER writes FOLDER/model (a SavedModel), FOLDER/image.npy and FOLDER/scores.npy, what Keras computes from it.
"""

import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # before the import

import keras
import numpy as np
import tensorflow as tf
from keras import layers


@keras.saving.register_keras_serializable()
class ToHsv(layers.Layer):
    """Hue, saturation and value of each pixel."""

    def call(self, image):
        return tf.image.rgb_to_hsv(image)


def main(folder: pathlib.Path) -> None:
    keras.utils.set_random_seed(0)
    image = keras.Input((48, 48, 3), name="image")
    x = ToHsv()(layers.Rescaling(1 / 255)(image))
    for filters in (32, 64):
        x = layers.Conv2D(filters, 3, strides=2, padding="same", activation="relu")(x)
        x = layers.BatchNormalization()(x)
    model = keras.Model(image, layers.Dense(10, "softmax")(layers.GlobalAveragePooling2D()(x)))
    model.export(folder / "model", verbose=False)

    pixels = np.random.default_rng(1).integers(0, 256, (2, 48, 48, 3)).astype(np.float32)
    np.save(folder / "image.npy", pixels)
    np.save(folder / "scores.npy", model.predict(pixels, verbose=0))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
