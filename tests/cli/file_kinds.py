"""Files that are taken for models or programs by mistake: the error says what they are, and the way out.

Covers: src/base/files/ file_kind.cc
src/import/ import_model.cc
src/program/ read_program.cc
"""

import bz2
import gzip
import io
import json
import lzma
import pickle
import struct
import tarfile
import zipfile

import h5py
import numpy as np
import pytest
from cli_models import call, compile_small, error_of, save_small


def zipped(*names):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, b"content")
    return file.getvalue()


def hdf5():
    file = io.BytesIO()
    with h5py.File(file, "w") as tree:
        tree["w"] = np.zeros(3)
    return file.getvalue()


def tarred():
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("model.onnx"), io.BytesIO())
    return file.getvalue()


def saved_array(write):
    file = io.BytesIO()
    write(file, np.zeros((1, 3), np.float32))
    return file.getvalue()


HEADER = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
OLD_TORCH = pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2) + bytes(64)
KINDS = {  # a usual name: its bytes, what it is, the way out
    "net.pt": (zipped("net/data.pkl", "net/data/0"), "a PyTorch checkpoint", "torch.onnx.export"),
    "old.pth": (OLD_TORCH, "a PyTorch checkpoint", "torch.onnx.export"),
    "script.pt": (zipped("net/data.pkl", "net/code/net.py"), "a TorchScript archive", "torch.jit.load"),
    "net.pt2": (zipped("net/archive_format", "net/models/model.json"), "an exported program of PyTorch", "torch.export.load"),
    "net.pkl": (pickle.dumps({"w": [1, 2]}), "a Python pickle", "export"),
    "net.keras": (zipped("metadata.json", "config.json", "model.weights.h5"), "a Keras model file", "model.export("),
    "net.h5": (hdf5(), "an HDF5 file, as Keras writes them", "model.export("),
    "net.tflite": (struct.pack("<I", 28) + b"TFL3" + bytes(40), "a TensorFlow Lite model", "tf2onnx"),
    "net.ort": (struct.pack("<I", 28) + b"ORTM" + bytes(40), "ONNX Runtime's own format", "made from"),
    "net.gguf": (b"GGUF" + bytes(40), "a GGUF file", "ONNX"),
    "net.safetensors": (struct.pack("<Q", len(HEADER)) + HEADER + bytes(8), "a safetensors file", "torch.onnx.export"),
    "net.xml": (b'<?xml version="1.0"?>\n<net name="a" version="11"></net>', "a model of OpenVINO", "made from"),
    "cat.png": (b"\x89PNG\r\n\x1a\n" + bytes(40), "a PNG picture", "one of its inputs"),
    "cat.jpg": (b"\xff\xd8\xff\xe0\0\x10JFIF" + bytes(40), "a JPEG picture", "one of its inputs"),
    "x.npy": (saved_array(np.save), "a NumPy array", "one of its inputs"),
    "x.npz": (saved_array(np.savez), "a NumPy archive", "one of its inputs"),
    "net.zip": (zipped("net.onnx"), "a ZIP archive", "unpack it"),
    "net.onnx.gz": (gzip.compress(b"a model"), "a gzip archive", "unpack it"),
    "net.onnx.bz2": (bz2.compress(b"a model"), "a bzip2 archive", "unpack it"),
    "net.onnx.xz": (lzma.compress(b"a model"), "an xz archive", "unpack it"),
    "net.tar": (tarred(), "a tar archive", "unpack it"),
    "pointer.onnx": (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 9\n", "a pointer of Git LFS", "git lfs pull"),
    "page.onnx": (b"<!DOCTYPE html><html><body>Not found</body></html>", "a web page", "download"),
    "plan.json": (b'{"plan": 1}', "a JSON file", "ONNX model"),
    "read.me": ("Größe\n".encode() * 900, "a text file", "ONNX model"),
    "empty.onnx": (b"", "an empty file", "again"),
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_what_is_not_a_model_is_named(tmp_path, name):
    """By its bytes, so that another name changes nothing."""
    content, what, way_out = KINDS[name]
    for path in (tmp_path / name, tmp_path / "model.onnx", tmp_path / "model.pb"):
        path.write_bytes(content)
        for command in ("compile", "check", "explain", "bench"):
            message = error_of(command, path, cwd=tmp_path)
            assert f"model '{path}': is {what}" in message or f"model '{path}': is a" in message, message
            assert what in message and way_out in message, message
            if path.name != name and command == "compile":
                break  # the others read models by the same function
    assert f"is {what}" in error_of("run", tmp_path / name) or what in error_of("run", tmp_path / name)


def test_names_tell_where_bytes_do_not(tmp_path):
    for name, what in (
        ("net.pth", "a PyTorch checkpoint"),
        ("net.h5", "a Keras model file"),
        ("variables.data-00000-of-00001", "a part of a TensorFlow checkpoint"),
        ("net.mlmodel", "a Core ML model"),
    ):
        path = tmp_path / name
        path.write_bytes(bytes(range(250, 0, -1)) * 40)
        assert f"is {what}" in error_of("compile", path, cwd=tmp_path)


def test_folders(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    assert "is a folder without saved_model.pb" in error_of("compile", folder)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"")
    assert "weights for PyTorch" in error_of("compile", folder) and "torch.onnx.export" in error_of(
        "check", folder
    )
    model = save_small(folder / "net.onnx")
    assert f"name the model itself, {model}" in error_of("compile", folder)


def test_a_part_of_a_saved_model(tmp_path):
    """Its bytes begin as those of an ONNX model do."""
    part = tmp_path / "net" / "saved_model.pb"
    part.parent.mkdir()
    part.write_bytes(b"\x08\x01\x12\x02\x0a\x00")
    assert f"name its folder, {part.parent}" in error_of("compile", part)


def test_programs_and_models_are_told_apart(tmp_path):
    program = compile_small(tmp_path)
    message = error_of("compile", program, cwd=tmp_path)
    assert "is a compiled Intarsia program" in message and "the model that it was made from" in message
    renamed = tmp_path / "program.onnx"
    renamed.write_bytes(program.read_bytes())
    assert "is a compiled Intarsia program" in error_of("compile", renamed, cwd=tmp_path)
    library = tmp_path / "library.so"
    library.write_bytes(b"\x7fELF" + bytes(4096))
    assert "not an Intarsia program, or truncated" in error_of("run", library)


def test_damaged_models_keep_their_own_errors(tmp_path):
    """Half a model is an ONNX model still."""
    model = save_small(tmp_path / "net.onnx")
    model.write_bytes(model.read_bytes()[:-40])
    assert "is not a valid ONNX model" in error_of("compile", model)
    call("compile", save_small(tmp_path / "text.txt"), "-o", tmp_path / "net.so", "--backends", "reference")
