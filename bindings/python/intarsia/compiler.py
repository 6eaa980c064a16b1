"""Compiling, explaining and checking models."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence

from . import _intarsia
from .program import Program, load


class Compiled:
    """A compiled model. `report` is what `intarsia compile --json` prints."""

    def __init__(self, folder: tempfile.TemporaryDirectory, path: str, report: dict):
        self._folder = folder
        self._path = path
        self.report = report

    def save(self, path: str | os.PathLike) -> Program:
        """Writes the program to `path`, whole or not at all, and loads it."""
        target = os.fspath(path)
        part = f"{target}.part{os.getpid()}"
        try:
            shutil.copyfile(self._path, part)
            os.replace(part, target)
        finally:
            if os.path.exists(part):
                os.unlink(part)
        return load(target)

    def load(self) -> Program:
        """The program without a file of one's own."""
        return load(self._path)

    def __call__(self, **inputs: object):
        return self.load()(**inputs)


def _request(model: str | os.PathLike, **options: object) -> dict:
    request = {"model": os.fspath(model)}
    request.update({name: value for name, value in options.items() if value is not None})
    return request


def _shapes(shapes: Mapping[str, Sequence[int]] | None) -> list[str]:
    return [f"{name}={'x'.join(map(str, shape)) or 'scalar'}" for name, shape in (shapes or {}).items()]


def compile(
    model: str | os.PathLike,
    *,
    devices: Sequence[str] = ("cpu",),
    backends: Sequence[str] = (),
    shapes: Mapping[str, Sequence[int]] | None = None,
    pins: Mapping[str, str] | None = None,
    fallback: str = "auto",
    threads: int = 1,
    cpu: str = "native",
    kernels: Sequence[str | os.PathLike] = (),
    progress: Callable[[str, int, int], None] | None = None,
) -> Compiled:
    """Compiles an ONNX model.

    devices: "cpu", "sim:0", or with a slot's name "accel=sim:0". backends: names in order of preference (none: all).
    shapes: sizes for inputs that the model leaves open (else 1). pins: node name pattern -> "backend@slot". fallback:
    "auto" lets frameworks run what our compiler lacks, "none" forbids it. kernels: libraries with operators of your own.
    progress: called with (phase, done, total). Raises Error, with one line that says what, where and what to do.
    """
    folder = tempfile.TemporaryDirectory(prefix="intarsia-")
    path = os.path.join(folder.name, "program.so")
    request = _request(
        model, program=path, devices=list(devices), backends=list(backends), shapes=_shapes(shapes),
        pins=[f"{pattern}={target}" for pattern, target in (pins or {}).items()], fallback=fallback, threads=threads,
        cpu=cpu, kernels=[os.fspath(k) for k in kernels],
    )
    report = json.loads(_intarsia.compile(request, progress))
    return Compiled(folder, path, report)


def explain(model: str | os.PathLike, **options: object) -> dict:
    """Who runs what and why, of a model or a program; unsupported operators ranked. `intarsia explain --json`."""
    return json.loads(_intarsia.explain(_request(model, **options)))


def check(model: str | os.PathLike, **options: object) -> dict:
    """Compares a model or program with its oracle (`against`, `rtol`, `atol`). `intarsia check --json`."""
    return json.loads(_intarsia.check(_request(model, **options)))


def devices() -> dict:
    """The devices and backends of this machine. `intarsia devices --json`."""
    return json.loads(_intarsia.devices())
