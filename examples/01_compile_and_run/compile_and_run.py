"""Compile, save, load and run from Python; arrays of any library pass through DLPack."""

import sys

import numpy as np

import intarsia

model = sys.argv[1]
compiled = intarsia.compile(model, devices=["cpu"], shapes={"image": (2, 3, 32, 32)})
print("regions:", [(region["target"], region["nodes"]) for region in compiled.report["regions"]])

program = compiled.load()
images = np.random.default_rng(1).random((2, 3, 32, 32), dtype=np.float32)
scores = program(image=images)
print("scores:", scores.shape, scores.dtype)

session = program.bind(threads=2)  # a separate session, for another thread
assert np.allclose(session.run({"image": images})["scores"], scores, rtol=1e-5)
