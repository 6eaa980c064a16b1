"""Forms of operators that OpenVINO computes otherwise than ONNX says are refused; what it takes it computes as the reference.
Each form has an input of its own: OpenVINO is wrong where several recurrences read one value, which is no form of a node.

Covers: backends/openvino/ node_forms.cc node_rules.cc
"""

import itertools

import numpy as np
import pytest
from onnx import TensorProto, helper

from cli_models import call_json, save

random = np.random.default_rng(3)


def given(**attributes):
    return {name: value for name, value in attributes.items() if value is not None}


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


def softmaxes(op, x):
    """Over every axis of a rank, before they are over one alone."""
    rank = len(x)
    for axis in (None, *range(-rank, rank)):
        yield op, ["x"], given(axis=axis), 1, {}


def transposed_convolutions(x):
    for padding, extra, stride, kernel in itertools.product(
        (None, "SAME_UPPER", "SAME_LOWER", "VALID"), (None, 0, 1), (1, 2, 3), (2, 3)
    ):
        sizes = None if extra is None else [size * stride + extra for size in x[2:]]
        attributes = given(auto_pad=padding, output_shape=sizes, strides=[stride, stride])
        yield "ConvTranspose", ["x", "w"], attributes, 1, {"w": floats(x[1], 3, kernel, kernel)}


def recurrences(x):
    hidden, inputs = 8, x[2]
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}
    for op, direction, clip, peepholes, forget in itertools.product(
        gates, ("forward", "bidirectional"), (None, 0.5), (False, True), (None, 1)
    ):
        if op != "LSTM" and (peepholes or forget):
            continue
        ways = 2 if direction == "bidirectional" else 1
        rows = gates[op] * hidden
        weights = {"w": floats(ways, rows, inputs), "r": floats(ways, rows, hidden)}
        if peepholes:
            weights["p"] = floats(ways, 3 * hidden)
        names = ["x", "w", "r"] + (["", "", "", "", "p"] if peepholes else [])
        attributes = given(direction=direction, hidden_size=hidden, input_forget=forget, clip=clip)
        yield op, names, attributes, 3 if op == "LSTM" else 2, weights


def resizes(x):
    for mode, transformation, outside, by_scales, factors in itertools.product(
        ("nearest", "linear", "cubic"),
        ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"),
        (None, 1),
        (False, True),
        ((2, 2), (1.3, 0.5), (0.7, 3)),
    ):
        attributes = given(
            mode=mode,
            coordinate_transformation_mode=transformation,
            exclude_outside=outside if mode == "cubic" else None,
            antialias=outside if mode == "linear" else None,
        )
        if by_scales:
            yield "Resize", ["x", "", "s"], attributes, 1, {"s": np.float32([1, 1, *factors])}
        else:
            sizes = [int(size * factor) for size, factor in zip(x[2:], factors, strict=True)]
            yield "Resize", ["x", "", "", "z"], attributes, 1, {"z": np.int64([*x[:2], *sizes])}


FAMILIES = {
    "softmax 11": (
        11,
        [3, 4, 5],
        lambda x: itertools.chain(softmaxes("Softmax", x), softmaxes("LogSoftmax", x)),
    ),
    "softmax 13": (13, [3, 4, 5], lambda x: softmaxes("Softmax", x)),
    "transposed convolution": (16, [1, 4, 9, 11], transposed_convolutions),
    "recurrence": (14, [6, 2, 5], recurrences),
    "resize": (18, [1, 3, 6, 7], resizes),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_what_it_takes_is_right(name, tmp_path):
    opset, shape, forms = FAMILIES[name]
    nodes, weights, inputs_of_model, outputs = [], [], [], []
    for i, (op, inputs, attributes, count, constants) in enumerate(forms(shape)):
        made = [f"y{i}_{j}" for j in range(count)]
        read = [f"{one}{i}" if one else "" for one in inputs]
        nodes.append(helper.make_node(op, read, made, f"form{i}", **attributes))
        weights += [(f"{one}{i}", array) for one, array in constants.items()]
        inputs_of_model.append((f"x{i}", TensorProto.FLOAT, shape))
        outputs += [(one, TensorProto.FLOAT, None) for one in made]
    model = save(
        tmp_path / "m.onnx", nodes, inputs_of_model, outputs, weights, opsets=(("", opset),), checked=False
    )
    options = ("--backends", "openvino,reference", "--tune", "off")
    report = call_json("check", model, *options, "--against", "reference")
    assert report["ok"], [output["why"] for output in report["outputs"] if not output["ok"]]
    compiled = call_json("compile", model, "--dry-run", *options)
    taken = sum(region["nodes"] for region in compiled["regions"] if region["target"] == "openvino@cpu")
    assert 0 < taken
    assert taken < len(nodes) or name == "softmax 13"
