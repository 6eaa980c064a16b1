"""Runs both SavedModels in a process that imports only TensorFlow, and compares them with Keras.

serve.py FOLDER reads FOLDER/served, FOLDER/service, FOLDER/pixels.npy and FOLDER/scores.npy.
"""

import pathlib
import sys

import numpy as np
import tensorflow as tf

folder = pathlib.Path(sys.argv[1])
pixels = np.load(folder / "pixels.npy")
for name, image in (("served", pixels / np.float32(255)), ("service", pixels)):
    serve = tf.saved_model.load(folder / name).signatures["serving_default"]
    scores = serve(image=tf.constant(image))["output_0"]
    np.testing.assert_allclose(scores, np.load(folder / "scores.npy"), rtol=1e-3, atol=1e-5)
    print(f"{name}: {scores.dtype.name}{scores.shape.as_list()}, as from Keras")
assert "intarsia" not in sys.modules
