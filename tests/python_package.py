"""What the Python package takes as arguments."""

import pathlib

import numpy as np
import pytest
from cli_models import save_relu

import intarsia


@pytest.mark.parametrize("several", [lambda name: name, lambda name: [name], lambda name: (name,)])
def test_a_string_is_one_device_not_its_letters(tmp_path, several):
    model = save_relu(tmp_path / "relu.onnx")
    compiled = intarsia.compile(model, devices=several("a=sim:0"), backends=several("reference"))
    assert {"name": "a", "kind": "sim", "device": "sim:0"} in compiled.report["slots"]
    assert compiled.report["regions"][0]["target"] == "reference@a"
    assert np.array_equal(compiled(x=np.full((2, 3), -1, np.float32)), np.zeros((2, 3)))


@pytest.mark.parametrize("option", ["kernels", "op_libraries"])
def test_a_path_is_one_library(tmp_path, option):
    for path in (pathlib.Path("no/library.so"), "no/library.so"):
        with pytest.raises(intarsia.Error, match="no/library.so"):
            options = {"backends": "tensorflow"} if option == "op_libraries" else {}
            intarsia.compile(save_relu(tmp_path / "relu.onnx"), **options, **{option: path})
