"""The Python package: what it takes as arguments, the files it writes, its progress.

Covers: bindings/python/ compile_module.cc
bindings/python/intarsia/ compiler.py
"""

import os
import pathlib

import numpy as np
import pytest
from cli_models import save_relu, save_small

import intarsia


@pytest.mark.parametrize("several", [lambda name: name, lambda name: [name], lambda name: (name,)])
def test_a_string_is_one_device_not_its_letters(tmp_path, several):
    model = save_relu(tmp_path / "relu.onnx")
    compiled = intarsia.compile(model, devices=several("a=sim:0"), backends=several("reference"))
    assert {"name": "a", "kind": "sim", "device": "sim:0", "cores": None}.items() <= compiled.report["slots"][
        0
    ].items()
    assert compiled.report["regions"][0]["target"] == "reference@a"
    assert np.array_equal(compiled(x=np.full((2, 3), -1, np.float32)), np.zeros((2, 3)))


@pytest.mark.parametrize("option", ["kernels", "op_libraries"])
def test_a_path_is_one_library(tmp_path, option):
    for path in (pathlib.Path("no/library.so"), "no/library.so"):
        with pytest.raises(intarsia.Error, match="no/library.so"):
            options = {"backends": "tensorflow"} if option == "op_libraries" else {}
            intarsia.compile(save_relu(tmp_path / "relu.onnx"), **options, **{option: path})


@pytest.fixture
def compiled(tmp_path):
    return intarsia.compile(save_small(tmp_path / "small.onnx"), backends=["reference"])


def test_save_writes_whole_programs(compiled, tmp_path):
    (tmp_path / "link.so").symlink_to("program.so")
    assert compiled.save(tmp_path / "link.so").functions == ["main"]
    assert (tmp_path / "link.so").is_symlink() and intarsia.load(tmp_path / "program.so").functions == [
        "main"
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.so", "program.so", "small.onnx"]


def test_save_replaces_neither_pipes_nor_the_model(compiled, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    model = (tmp_path / "small.onnx").read_bytes()
    for name, why in (
        ("pipe", "it is a pipe"),
        ("small.onnx", "it is the input"),
        (".", "it is a folder"),
        ("none/x.so", "No such file"),
    ):
        with pytest.raises(intarsia.Error, match=why):
            compiled.save(tmp_path / name)
    assert (tmp_path / "pipe").is_fifo() and (tmp_path / "small.onnx").read_bytes() == model


def test_progress_never_goes_back(tmp_path):
    told = []
    intarsia.compile(
        save_small(tmp_path / "small.onnx"), cache=tmp_path, progress=lambda *step: told.append(step)
    )
    done = [done for _, done, _ in told]
    assert done == sorted(done) and told[0][0] == "import" and told[-1][0] == "emit_program"
    assert {total for _, _, total in told} == {done[-1]}
