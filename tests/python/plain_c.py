"""`intarsia.emit_c`: plain C from Python.

Covers: bindings/python/intarsia/plain_c.py
"""

import subprocess

import numpy as np
import onnx
import pytest
from cli_models import save, save_small
from emitted_c import build
from onnx import TensorProto, helper

import intarsia


def test_a_model_becomes_plain_c(tmp_path):
    model = save_small(tmp_path / "small.onnx")
    x = np.random.default_rng(1).standard_normal((2, 3, 8, 8)).astype(np.float32)
    options = {"tune": "off", "constants": "array", "c_names": {"x": "image"}}
    report = intarsia.emit_c(model, tmp_path / "c/net", inputs={"x": x}, **options)
    [function] = report["plain_c"]["functions"]
    assert function["inputs"] == [{"name": "x", "identifier": "image"}]
    test = build(tmp_path / "c", report, "net_test.c")
    assert subprocess.run([test], capture_output=True, text=True).stdout == "y: ok\n"
    in_memory = intarsia.emit_c(onnx.load(model), tmp_path / "other/net", inputs={"x": x}, **options)
    assert in_memory["plain_c"] == report["plain_c"]
    assert (tmp_path / "other/net.c").read_bytes() == (tmp_path / "c/net.c").read_bytes()


def test_what_is_refused_is_told_in_words_of_python(tmp_path):
    model = save_small(tmp_path / "small.onnx")
    with pytest.raises(
        intarsia.InvalidArgumentError,
        match="devices=accel=sim:0: plain C runs on one processor: leave devices",
    ):
        intarsia.emit_c(model, tmp_path / "c/net", devices="accel=sim:0")
    node = helper.make_node("Relu", ["int"], ["y"])
    named = [("int", TensorProto.FLOAT, [3])], [("y", TensorProto.FLOAT, [3])]
    with pytest.raises(intarsia.UnsupportedError, match="'int' is a keyword of C") as caught:
        intarsia.emit_c(save(tmp_path / "int.onnx", [node], *named), tmp_path / "c/net", tune="off")
    assert "--" not in str(caught.value)
