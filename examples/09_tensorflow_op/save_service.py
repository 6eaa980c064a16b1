"""Saves the compiled classifier for a service, in two ways: alone, as a signature, and within a Keras model.

save_service.py FOLDER reads FOLDER/classifier.so and writes the SavedModels FOLDER/served and FOLDER/service.
"""

import pathlib
import sys

import intarsia.tensorflow
import keras
import tensorflow as tf
from keras import layers

folder = pathlib.Path(sys.argv[1])
program = folder / "classifier.so"

module = intarsia.tensorflow.Module(program)
print(module[None])
tf.saved_model.save(module, folder / "served", signatures={"serving_default": module[None].signature})

image = keras.Input((32, 32, 3), name="image", dtype="uint8")
scaled = layers.Rescaling(1 / 255)(image)
# As bytes, the program is part of the graph that Keras exports.
scores = intarsia.tensorflow.Layer(program.read_bytes(), name="classifier")(scaled)
keras.Model(image, scores).export(folder / "service", verbose=False)
