"""Writes functions.so: two functions written with Halide, one of them in three schedules, of which the fastest is taken."""

import sys

import halide as hl
import intarsia
import numpy as np

x, y = hl.Var("x"), hl.Var("y")


def addone():
    a, b = hl.ImageParam(hl.Float(32), 1, "a"), hl.Func("b")
    b[x] = a[x] + 1.0
    return b


def blur(rows_at_a_time):
    """The means of 3 x 3 elements, in bands of rows that threads share."""
    image = hl.ImageParam(hl.Float(32), 2, "image")
    across, blurred, band = hl.Func("across"), hl.Func("blurred"), hl.Var("band")
    across[x, y] = (image[x, y] + image[x + 1, y] + image[x + 2, y]) / 3.0
    blurred[x, y] = (across[x, y] + across[x, y + 1] + across[x, y + 2]) / 3.0
    guard = hl.TailStrategy.GuardWithIf
    blurred.split(y, band, y, rows_at_a_time, guard).parallel(band).vectorize(x, 8, guard)
    across.compute_at(blurred, band).vectorize(x, 8, guard)
    return blurred


program = intarsia.export_functions(
    {"addone": addone(), "blur": [blur(4), blur(16), blur(64)]},
    sys.argv[1],
    tune_at={"image_0": 480, "image_1": 640},
)
for name in program.functions:
    _, inputs, outputs = program.signature(name)
    print(f"{name}: {', '.join(map(str, inputs))} -> {', '.join(map(str, outputs))}")
image = np.arange(30, dtype="float32").reshape(5, 6)
print("blur of 5 x 6:", program.run({"image": image}, "blur")["blurred"].shape)
