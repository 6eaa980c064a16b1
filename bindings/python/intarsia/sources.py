"""Sources of models and programs (paths, bytes, ONNX models in memory, our own objects) as paths that the
libraries read."""

from __future__ import annotations

import contextlib
import os
import tempfile
import weakref
from collections.abc import Iterator
from typing import Protocol, TypeAlias

from .errors import Error, InvalidArgumentError

IN_MEMORY = "<in memory>"  # stands for a file name in messages and reports


class OnnxModel(Protocol):
    """An `onnx.ModelProto`. The package onnx itself is not needed."""

    def SerializeToString(self) -> bytes: ...


class Readable(Protocol):
    """A Program or a Compiled, which know a path to their bytes."""

    def _readable_path(self) -> str: ...


Path: TypeAlias = str | os.PathLike[str]
Bytes: TypeAlias = bytes | bytearray | memoryview
Model: TypeAlias = Path | Bytes | OnnxModel
Subject: TypeAlias = Model | Readable


class UnnamedFile:
    """A file without a name, freed with this object, even if the process is killed. Children of fork() have
    it, too."""

    def __init__(self, descriptor: int):
        self.descriptor = descriptor
        self.path = f"/proc/self/fd/{descriptor}"
        self.close = weakref.finalize(self, os.close, descriptor)

    @classmethod
    def of_bytes(cls, content: Bytes) -> UnnamedFile:
        file = cls(os.memfd_create("intarsia"))
        with open(file.descriptor, "wb", closefd=False) as writer:
            writer.write(content)
        return file

    @classmethod
    def of_file(cls, path: str) -> UnnamedFile:
        """Takes over a temporary file, which loses its name."""
        file = cls(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        os.unlink(path)
        return file

    def read(self) -> bytes:
        with open(self.path, "rb") as reader:
            return reader.read()


def name_of(source: Subject) -> str:
    """Returns the name of a source for messages and reports."""
    return os.fspath(source) if isinstance(source, (str, os.PathLike)) else IN_MEMORY


def _bytes_of(model: Bytes | OnnxModel) -> Bytes:
    if isinstance(model, (bytes, bytearray, memoryview)):
        return model
    name = getattr(getattr(model, "DESCRIPTOR", None), "full_name", type(model).__name__)
    if name != "onnx.ModelProto":
        raise InvalidArgumentError(
            f"a model cannot be of type {name}: want a path, the bytes of an ONNX file or an onnx.ModelProto"
        )
    try:
        return model.SerializeToString()
    except ValueError as error:  # protobuf has a limit of 2 GiB
        raise InvalidArgumentError(
            f"the onnx.ModelProto cannot be serialized ({error}): save it with "
            "onnx.save_model(model, path, save_as_external_data=True) and give the path"
        ) from error


@contextlib.contextmanager
def path_of(source: Subject) -> Iterator[str]:
    """Provides a path to read the source from, in a `with` block. Errors in the block hide a path that the
    user did not give."""
    if isinstance(source, (str, os.PathLike)):
        yield os.fspath(source)
    elif (readable := getattr(source, "_readable_path", None)) is not None:
        yield readable()
    else:
        content = _bytes_of(source)  # type: ignore[arg-type]  # rest of the union
        with tempfile.TemporaryDirectory(prefix="intarsia-") as folder:
            path = os.path.join(folder, "model.onnx")
            with open(path, "wb") as writer:
                writer.write(content)
            try:
                yield path
            except Error as error:
                error.args = (str(error).replace(path, IN_MEMORY),)
                raise
