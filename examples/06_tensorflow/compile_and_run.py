"""A SavedModel compiled and run from Python, in a process that never imports TensorFlow, compared with the results of Keras."""

import pathlib
import sys

import numpy as np

import intarsia

folder = pathlib.Path(sys.argv[1])
images = np.load(folder / "image.npy")
compiled = intarsia.compile(
    folder / "model", signature="serving_default", shapes={"image": images.shape}, tune="off"
)
print("regions:", [(region["target"], region["nodes"]) for region in compiled.report["regions"]])

scores = compiled(image=images)
np.testing.assert_allclose(scores, np.load(folder / "scores.npy"), rtol=1e-3, atol=1e-5)
print("scores:", scores.shape, scores.dtype, "as from Keras")
