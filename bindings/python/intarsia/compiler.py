"""Compiling, explaining and checking models."""

from __future__ import annotations

import builtins
import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from . import _intarsia
from .errors import InvalidArgumentError
from .program import Program, load
from .values import to_value


class Compiled:
    """A compiled model. `report` is what `intarsia compile --json` prints. After dry_run or stop_after there is no program:
    whatever needs it raises InvalidArgumentError."""

    def __init__(self, folder: tempfile.TemporaryDirectory, path: str, inputs: Sequence[str], report: dict):
        self._folder = folder
        self._path = path
        self._inputs = list(inputs)
        self.report = report

    def save(self, path: str | os.PathLike) -> Program:
        """Writes the program to `path`, whole or not at all, and loads it.

        Raises Error for a path that is a folder, pipe or device, and for the files that the program was compiled from."""
        self._require_program()
        target = os.fspath(path)
        _intarsia.write_output(target, np.memmap(self._path, np.uint8, "r"), self._inputs)
        return load(target)

    def load(self) -> Program:
        """The program without a permanent file."""
        self._require_program()
        return load(self._path)

    def _require_program(self) -> None:
        if not os.path.exists(self._path):
            raise InvalidArgumentError("compiled with dry_run or stop_after: there is no program")

    def __call__(self, **inputs: object):
        return self.load()(**inputs)


def _several(values: str | os.PathLike | Sequence[str | os.PathLike]) -> list[str]:
    """One name or path, or several: a single string is one, not its letters."""
    one = isinstance(values, (str, os.PathLike))
    return [os.fspath(value) for value in ([values] if one else values)]


def _options(
    devices: str | Sequence[str] = ("cpu",),
    backends: str | Sequence[str] = (),
    shapes: Mapping[str, Sequence[int]] | None = None,
    pins: Mapping[str, str] | None = None,
    fallback: str = "auto",
    threads: int = 1,
    cpu: str = "native",
    kernels: str | os.PathLike | Sequence[str | os.PathLike] = (),
    math: str = "fast",
    tune: str = "fast",
    tune_seconds: float = 0,
    cache: str | os.PathLike = "",
    also: str | Sequence[str] = (),
    memory: Mapping[str, int | str] | None = None,
    objective: str = "latency",
    stages: int | str = "",
    cuts: str | Sequence[str] = (),
    plan: str | os.PathLike = "",
    save_plan: str | os.PathLike = "",
    signature: str | Sequence[str] = (),
    op_libraries: str | os.PathLike | Sequence[str | os.PathLike] = (),
    strip_names: bool = False,
    dry_run: bool = False,
    print_after: str | Sequence[str] = (),
    stop_after: str = "",
) -> _intarsia.CompileOptions:
    options = _intarsia.CompileOptions()
    options.devices = _several(devices)
    options.backends = _several(backends)
    options.shapes = [
        f"{name}={'x'.join(map(str, shape)) or 'scalar'}" for name, shape in (shapes or {}).items()
    ]
    options.pins = [f"{pattern}={target}" for pattern, target in (pins or {}).items()]
    options.fallback = fallback
    options.threads = threads
    options.cpu = cpu
    options.kernels = _several(kernels)
    options.math = math
    options.tune = tune
    options.tune_seconds = tune_seconds
    options.cache = os.fspath(cache)
    options.also = _several(also)
    options.memory = [f"{slot}={size}" for slot, size in (memory or {}).items()]
    options.objective = objective
    options.stages = str(stages)
    options.cuts = _several(cuts)
    options.plan = os.fspath(plan)
    options.save_plan = os.fspath(save_plan)
    options.signatures = _several(signature)
    options.op_libraries = _several(op_libraries)
    options.strip_names = strip_names
    options.dry_run = dry_run
    options.print_after = _several(print_after)
    options.stop_after = stop_after
    return options


def compile(
    model: str | os.PathLike,
    *,
    progress: Callable[[str, int, int], None] | None = None,
    print: Callable[[str], None] | None = builtins.print,
    **options: object,
) -> Compiled:
    """Compiles a model: an ONNX file, a frozen GraphDef (.pb) or a SavedModel folder.

    Options (a string where several are possible is one): devices: "cpu", "cpu:0-1", "opencl:0", "sim:0", or with a slot's name
    "accel=sim:0";
    "auto": all of this machine, of which the plan takes those that pay. backends: names in order of preference (none:
    all). shapes: {input: sizes} for inputs that the model leaves open (else 1). pins: {node name pattern:
    "backend@slot"}. fallback: "auto" lets frameworks run what our compiler lacks, "none" forbids it. threads: that a run
    will use. cpu: "native" or a level such as "x86-64-v3". kernels: libraries with your own operators. math:
    "fast" allows errors up to 1e-4 of the largest output, "exact" only rounding. tune: "off", "fast" or "full": choose
    kernels by a formula, or by measuring few or many variants, and what a framework runs by measuring plans, for at most
    tune_seconds (0: as long as it takes). cache: folder of the measured times (none: the user's). also: slots that must be enough to run,
    with an alternative for where other devices are missing. memory: {slot: size}, in bytes or as "64MB", that constants
    and working memory of one session may take of the memory that the slot works in; a plan that needs less is
    searched for. objective: "latency", or "throughput": the program has stages for a pipeline, stages of them ("auto", or none:
    as many as are best), or one more than cuts, names of values at which stages end. plan: a file that says where
    each node runs, so that nothing is measured. save_plan: where to write the plan of this compile. signature: of a
    SavedModel, one name or several, each a function of the program (none: "serving_default", or else all). op_libraries:
    libraries with your own TensorFlow operators. strip_names: leave node names out of the program.
    dry_run: everything except writing the program. print_after: passes (of `pass_names()`) whose result goes to `print`. stop_after:
    end after this pass, without a program.

    progress is called with (phase, done, total): what is being done, and how much of the whole compile is done, by
    time; it never goes back. Raises Error: one line that says what, where and what to do.
    """
    folder = tempfile.TemporaryDirectory(prefix="intarsia-")
    path = os.path.join(folder.name, "program.so")
    chosen = _options(**options)
    report = json.loads(_intarsia.compile(os.fspath(model), path, chosen, progress, print))
    return Compiled(folder, path, [os.fspath(model), *chosen.kernels, *chosen.op_libraries], report)


def explain(model: str | os.PathLike, **options: object) -> dict:
    """What runs where and why, for a model (options as of `compile`) or a program. The object of `intarsia explain --json`."""
    return json.loads(_intarsia.explain(os.fspath(model), _options(**options)))


def explain_html(model: str | os.PathLike, **options: object) -> str:
    """The same as `explain` says, as a page that needs no other file: what `intarsia explain --html` writes."""
    return _intarsia.explain_html(os.fspath(model), _options(**options))


def annotate(model: str | os.PathLike, path: str | os.PathLike, **options: object) -> None:
    """Writes a copy of an ONNX model to `path` whose nodes say where the plan that `explain` tells of, or that of the
    option `plan`, runs them, so that compiling the copy gives this plan. Nothing else changes; weights in other files
    stay there. Raises Error for a model that is not ONNX or whose nodes cannot hold the plan. options: as of `compile`."""
    _intarsia.annotate(os.fspath(model), os.fspath(path), _options(**options))


def split(
    model: str | os.PathLike,
    folder: str | os.PathLike,
    cuts: str | Sequence[str],
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> dict:
    """Cuts an ONNX model at these values into models of their own: writes stage0.onnx, stage1.onnx, ... and pipeline.json into
    the folder, which is made. Compile each with options of its own to stage0.so, ...; `PipelineBuilder(folder /
    "pipeline.json")` then runs them. A stage holds what its value depends on and no earlier stage has.

    Returns the object of `intarsia split --json`. Raises Error for a model that is not ONNX, a cut that cuts nothing off, or a
    stage with more than 2 GiB of weights."""
    options = _options(shapes=shapes)
    return json.loads(_intarsia.split(os.fspath(model), _several(cuts), os.fspath(folder), options))


def check(
    path: str | os.PathLike,
    *,
    model: str | os.PathLike | None = None,
    against: str = "",
    rtol: float = -1,
    atol: float = -1,
    bisect: bool = False,
    inputs: Mapping[str, object] | None = None,
    bind: Mapping[str, str] | None = None,
    **options: object,
) -> dict:
    """Compares a model or program, with every plan that it carries, with another runtime. The object of `intarsia check
    --json`.

    inputs: arrays by name; all others are filled. bind: {slot: device} of the program. model: what a program is compared with (None: the model it was compiled from). against: "onnxruntime" or "tensorflow",
    each for its own models, or "reference" ("": the framework if it is available). rtol, atol: negative for the defaults.
    bisect: after a mismatch, look for the first node whose value is wrong (`first_bad_node`; for a program its model is
    compiled again). options: as of `compile`.
    """
    return json.loads(
        _intarsia.check(
            os.fspath(path),
            _options(**options),
            os.fspath(model or ""),
            against,
            rtol,
            atol,
            bisect,
            [(name, to_value(value)) for name, value in (inputs or {}).items()],
            list((bind or {}).items()),
        )
    )


def devices() -> list[tuple[str, str]]:
    """The devices of this machine: (name, description)."""
    return _intarsia.devices()


def pass_names() -> list[str]:
    """The names that print_after and stop_after take, in order."""
    return json.loads(_intarsia.pass_names())["passes"]


def backends() -> list[dict]:
    """The backends in order of preference: name, version, whether present, and why not."""
    return json.loads(_intarsia.backends())["backends"]
