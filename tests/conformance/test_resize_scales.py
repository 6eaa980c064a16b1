"""Resize by scales that make no whole number of elements, by the reference and by our kernels as by ONNX Runtime.

Covers: backends/reference/kernels/ resize.cc backends/halide/canonicalize/ canonicalize_resize.cc
backends/halide/core/ resize_taps.h
"""

import intarsia
import numpy as np
import onnxruntime
import pytest
from cli_models import helper, save
from onnx import TensorProto

SIZES_AND_SCALES = [(5, 0.7), (5, 1.5), (5, 0.5), (7, 0.4), (3, 2.5), (4, 1.3), (6, 0.17), (5, 0.3), (9, 1.3)]
TRANSFORMS = ("align_corners", "pytorch_half_pixel", "half_pixel", "half_pixel_symmetric", "asymmetric")


def forms(backend):
    """Mode, transform, other attributes and the region of each form."""
    for mode in ("nearest", "linear", "cubic"):
        for transform in TRANSFORMS:
            if (mode, transform) != ("nearest", "half_pixel_symmetric"):  # whole positions, but for rounding
                yield mode, transform, {"nearest_mode": "floor"} if mode == "nearest" else {}, ""
    if backend == "reference":
        yield "linear", "tf_crop_and_resize", {}, "region"


@pytest.mark.parametrize("backend", ["reference", "halide"])
def test_fractions_of_elements(tmp_path, backend):
    """All forms in one model, whose weights are constants for our kernels."""
    nodes, inputs, outputs = [], [], []
    constants = [("region", np.float32([0, 0, 0, 0.1, 1, 1, 1, 0.7]))]
    for size, scale in SIZES_AND_SCALES:
        at = f"{size}_{scale}"
        inputs.append((f"x{at}", TensorProto.FLOAT, [1, 2, 3, size]))
        constants.append((f"s{at}", np.float32([1, 1, 1, scale])))
        for mode, transform, attributes, region in forms(backend):
            y = f"{mode}_{transform}_{at}"
            attributes = {"mode": mode, "coordinate_transformation_mode": transform, **attributes}
            nodes.append(helper.make_node("Resize", [f"x{at}", region, f"s{at}"], [y], **attributes))
            outputs.append((y, TensorProto.FLOAT, None))
    model = save(tmp_path / "m.onnx", nodes, inputs, outputs, constants, opsets=(("", 19),), checked=False)
    oracle = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    random = np.random.default_rng(4)
    given = {name: random.standard_normal(shape).astype(np.float32) for name, _, shape in inputs}
    got = intarsia.compile(model, backends=[backend], tune="off").load().run(given)
    for output, want in zip(oracle.get_outputs(), oracle.run(None, given), strict=True):
        np.testing.assert_allclose(got[output.name], want, rtol=1e-4, atol=1e-5, err_msg=output.name)
