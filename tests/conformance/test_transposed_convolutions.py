"""ConvTranspose with automatic padding, even if a kernel is smaller than its stride: sizes and values are ONNX Runtime's.

Covers: src/graph/ op_table_window.cc op_table_contraction.cc
backends/reference/kernels/ convolution.cc
"""

import numpy as np
import pytest
from onnx import TensorProto, helper

from cli_models import call_json, save


def one_axis(mode):
    """(input, weights' shape, attributes), x[1,4,5]."""
    for stride in (2, 3, 4):
        for kernel in (1, 2, 3, 4, 5):
            for extra in (0, 1):
                yield "x", (4, 3, kernel), {"auto_pad": mode, "strides": [stride], "output_padding": [extra]}
    for groups in (2, 4):
        yield "x", (4, 2, 1), {"auto_pad": mode, "strides": [3], "group": groups}
    yield "x", (4, 2, 2), {"auto_pad": mode, "strides": [4], "dilations": [2]}


def two_axes(mode):
    """The same for image[2,4,3,4]."""
    for strides, kernel in (
        ((2, 2), (1, 1)),
        ((2, 3), (3, 2)),
        ((4, 2), (2, 5)),
        ((3, 3), (2, 2)),
        ((3, 4), (4, 1)),
    ):
        yield "image", (4, 2, *kernel), {"auto_pad": mode, "strides": strides}
        yield (
            "image",
            (4, 3, *kernel),
            {"auto_pad": mode, "strides": strides, "group": 2, "output_padding": [1, 0]},
        )


@pytest.mark.parametrize("backend", ["reference", "halide"])
@pytest.mark.parametrize("cases", [one_axis, two_axes])
def test_automatic_padding(tmp_path, backend, cases):
    random = np.random.default_rng(2)
    family = [case for mode in ("SAME_UPPER", "SAME_LOWER") for case in cases(mode)]
    nodes = [
        helper.make_node("ConvTranspose", [source, f"w{i}"], [f"y{i}"], **attributes)
        for i, (source, _, attributes) in enumerate(family)
    ]
    weights = [
        (f"w{i}", random.normal(size=shape).astype(np.float32)) for i, (_, shape, _) in enumerate(family)
    ]
    inputs = {"x": [1, 4, 5], "image": [2, 4, 3, 4]}
    used = [(name, TensorProto.FLOAT, inputs[name]) for name in sorted({source for source, _, _ in family})]
    outputs = [(f"y{i}", TensorProto.FLOAT, None) for i in range(len(family))]
    model = save(tmp_path / "family.onnx", nodes, used, outputs, weights, checked=False)
    report = call_json("check", model, "--backends", backend, "--tune", "off", "--against", "onnxruntime")
    assert report["ok"] and len(report["outputs"]) == len(family)
