"""Each kind of error as its exception class, which is also the one that Python programs catch for it.

Covers: bindings/python/ module.cc
bindings/python/intarsia/ errors.py
"""

import re
import struct

import intarsia
import numpy as np
import pytest
from cli_models import SOURCE, compile_small, helper, save, save_small, TensorProto


@pytest.fixture
def program(tmp_path):
    return compile_small(tmp_path)


def test_kinds_of_the_header_have_classes():
    kinds = intarsia.errors.BY_KIND
    header = (SOURCE / "include/intarsia/intarsia.h").read_text()
    assert sorted(kinds) == [int(number) for number in re.findall(r"INTARSIA_ERROR_\w+ = (\d+)", header)]
    assert all(issubclass(kind, intarsia.Error) for kind in kinds.values())
    assert all(kind.__name__ in intarsia.__all__ for kind in kinds.values())


def test_invalid_argument(tmp_path, program):
    model = str(save_small(tmp_path / "other.onnx"))
    with pytest.raises(intarsia.InvalidArgumentError, match="^tune=sometimes: want fast or off or full$"):
        intarsia.compile(model, tune="sometimes")
    with pytest.raises(ValueError, match="there are"):
        intarsia.compile(model, backends=["nobody"])
    loaded = intarsia.load(str(program))
    with pytest.raises(intarsia.InvalidArgumentError, match="has dtype float64, want float32"):
        loaded(x=np.zeros((2, 3, 8, 8)))
    with pytest.raises(ValueError, match="'z'"):
        loaded(z=np.zeros(1, np.float32))


def test_not_found(tmp_path, program):
    with pytest.raises(FileNotFoundError, match="missing.so"):
        intarsia.load(str(tmp_path / "missing.so"))
    with pytest.raises(intarsia.NotFoundError, match="missing.onnx"):
        intarsia.compile(str(tmp_path / "missing.onnx"))
    with pytest.raises(intarsia.NotFoundError, match="abacus"):
        intarsia.load(str(program)).bind({"cpu": "abacus:0"})


def test_unsupported(tmp_path):
    model = save(
        tmp_path / "foreign.onnx",
        [helper.make_node("Invented", ["x"], ["y"], domain="nowhere")],
        [("x", TensorProto.FLOAT, (2,))],
        [("y", TensorProto.FLOAT, (2,))],
        opsets=(("", 18), ("nowhere", 1)),
        checked=False,
    )
    with pytest.raises(intarsia.UnsupportedError, match="nowhere.Invented"):
        intarsia.compile(str(model), fallback="none")
    assert issubclass(intarsia.UnsupportedError, NotImplementedError)


def test_corrupt(tmp_path, program):
    model = tmp_path / "damaged.onnx"
    model.write_bytes(b"\x08\xff")
    with pytest.raises(intarsia.CorruptError, match="damaged.onnx"):
        intarsia.compile(str(model))
    program.write_bytes(program.read_bytes()[:-9])
    with pytest.raises(intarsia.CorruptError, match="truncated"):
        intarsia.load(str(program))


def test_version(program):
    """The last 16 bytes: version, size of the footer, magic."""
    whole = bytearray(program.read_bytes())
    whole[-16:-12] = struct.pack("<I", 999)
    program.write_bytes(whole)
    with pytest.raises(intarsia.VersionError, match="newer"):
        intarsia.load(str(program))


def test_io(tmp_path):
    model = str(save_small(tmp_path / "small.onnx"))
    with pytest.raises(OSError, match="/proc/x.so"):
        intarsia.compile(model, backends=["reference"]).save("/proc/x.so")


def test_any_kind_is_an_error_of_intarsia(program):
    program.write_bytes(b"")
    with pytest.raises(intarsia.Error):
        intarsia.load(str(program))


def test_files_of_another_kind(tmp_path, program):
    picture, model = tmp_path / "cat.png", tmp_path / "small.onnx"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(40))
    with pytest.raises(intarsia.CorruptError, match="is a PNG picture, not an ONNX or TensorFlow model"):
        intarsia.compile(str(picture))
    with pytest.raises(intarsia.CorruptError, match="is a PNG picture, not a compiled program"):
        intarsia.load(str(picture))
    with pytest.raises(
        intarsia.CorruptError, match="is an ONNX model, not a compiled program: compile it first"
    ):
        intarsia.load(str(model))
    with pytest.raises(intarsia.CorruptError, match="is a compiled Intarsia program"):
        intarsia.compile(str(program))


def test_a_wrong_layout(program):
    with pytest.raises(ValueError, match=r"it looks like NHWC .*transpose\(0, 3, 1, 2\)"):
        intarsia.load(str(program))(x=np.zeros((2, 8, 8, 3), np.float32))
