"""Inputs that do not fit, and damaged .npy files: one `error: ...` line that says what, where and what to do.

Covers: cli/inputs/ inputs.cc npy.cc npy_header.cc
"""

import struct

import numpy as np
import pytest
from cli_models import TensorProto, call, compile_small, error_of, save_relu


def test_wrong_inputs(tmp_path):
    program = compile_small(tmp_path)
    good = np.zeros((2, 3, 8, 8), np.float32)
    for array, words in (
        (good.astype(np.float64), ("f64", "f32")),
        (good[0], ("rank",)),
        (good[:1], ("1x3x8x8", "2x3x8x8")),
        (np.array(["a"]), ("string",)),
        (good.view(np.int32), ("i32",)),
    ):
        np.save(tmp_path / "x.npy", array)
        for command in ("run", "check"):
            message = error_of(command, program, "-i", f"x={tmp_path / 'x.npy'}", status=2)
            assert "'x'" in message and all(word in message for word in words)
    np.save(tmp_path / "x.npy", good)
    assert "'z'" in error_of("run", program, "-i", f"z={tmp_path / 'x.npy'}", status=2)
    assert "'z'" in error_of("check", program, "-i", f"z={tmp_path / 'x.npy'}", status=2)
    assert "twice" in error_of(
        "run", program, "-i", f"x={tmp_path / 'x.npy'}", "-i", f"x={tmp_path / 'x.npy'}", status=2
    )
    assert "missing.npy" in error_of("run", program, "-i", "x=missing.npy")


def test_strings_must_be_given(tmp_path):
    program = tmp_path / "text.so"
    call(
        "compile",
        save_relu(tmp_path / "text.onnx", TensorProto.STRING, (2,), "Identity"),
        "-o",
        program,
        "--backends",
        "reference",
    )
    assert "give it" in error_of("run", program, status=2)
    assert "give it" in error_of("check", program, "--against", "reference", status=2)


def npy(header, data=b"", version=1):
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + data


@pytest.mark.parametrize(
    "file",
    [
        b"",
        b"\x93NUMPY",
        b"\x93NUMPY\x01\x00",
        b"\x93NUMPY\x01\x00\xff\xff{",
        b"PK\x03\x04 a zip file",
        npy(b""),
        npy(b"{"),
        npy(b"{}"),
        npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", bytes(23)),
        npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", bytes(25)),
        npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (-2, 3)}", bytes(24)),
        npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999999, 9999999999999)}"),
        npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,)}"),
        npy(b"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2, 3)}", bytes(24)),
        npy(b"{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3)}", bytes(24)),
        npy(b"{'descr': '|O', 'fortran_order': False, 'shape': (2, 3)}", bytes(24)),
        npy(b"{'descr': '<f99', 'fortran_order': False, 'shape': (2, 3)}", bytes(24)),
        npy(b"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3)}", bytes(24)),
        npy(b"{'descr': '<U1', 'fortran_order': False, 'shape': (1,)}", b"\xff\xff\xff\xff"),
        npy(b"{'descr': '|S0', 'fortran_order': False, 'shape': (99999999999999,)}"),
        npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'more': 1}", bytes(24)),
        npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", bytes(24), 9),
        npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (" + b"1," * 100 + b")}", bytes(4)),
    ],
)
def test_damaged_npy(tmp_path, file):
    program = tmp_path / "relu.so"
    call("compile", save_relu(tmp_path / "relu.onnx"), "-o", program, "--backends", "reference")
    (tmp_path / "x.npy").write_bytes(file)
    assert "x.npy" in error_of("run", program, "-i", f"x={tmp_path / 'x.npy'}")
