"""Compiling, explaining and checking of models."""

from __future__ import annotations

import builtins
import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from . import _intarsia
from .errors import InvalidArgumentError
from .options import Paths, Several, Sizes, Tuned, read_options, several
from .program import Program
from .reports import Report, read_report
from .sources import IN_MEMORY, Model, Path, Subject, UnnamedFile, name_of, path_of
from .values import to_value


class Compiled:
    """A compiled model. `report` is what `intarsia compile --json` prints, with numpy's names of dtypes and
    without the path of a program. A dry run, or a compile that stop_after ends, makes no program: calls
    that need one raise InvalidArgumentError.

    A `with` block closes it at its end. It pickles as the program's bytes and the report."""

    def __init__(self, file: UnnamedFile | None, inputs: Sequence[str], report: Report):
        self._file = file
        self._inputs = list(inputs)
        self._called: Program | None = None
        self._closed = False
        self.report = report

    def write(self, path: Path) -> None:
        """Writes the program to `path`, whole or not at all. It may be for another machine.

        Raises Error for a path that is a folder, pipe or device, and for files that the program was compiled
        from."""
        _intarsia.write_output(os.fspath(path), np.memmap(self._readable_path(), np.uint8, "r"), self._inputs)

    def save(self, path: Path) -> Program:
        """Writes the program as `write` does, and loads it.

        Raises Error for what `write` refuses, and, with the file written, for a program that this machine cannot
        run."""
        self.write(path)
        return Program(path)

    def load(self) -> Program:
        """Loads the program without saving it to a file."""
        return Program(self._open_file())

    def __call__(self, **inputs: object) -> Any:
        """Runs the only function, as `Program` does. The first call loads the program."""
        program = self._called
        if program is None:
            program = self._called = self.load()
        return program(**inputs)

    def close(self) -> None:
        """Frees the program's bytes as soon as no Program uses them; later calls are errors."""
        if self._called is not None:
            self._called.close()
        self._file = self._called = None
        self._closed = True

    def __enter__(self) -> Compiled:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        targets = ", ".join(dict.fromkeys(region["target"] for region in self.report.get("regions") or []))
        return f"<intarsia.Compiled {self.report['model']!r}: {targets}{' (closed)' if self._closed else ''}>"

    def __reduce__(self) -> tuple[Callable[..., Compiled], tuple[object, ...]]:
        content = None if self._file is None and not self._closed else self._open_file().read()
        return _unpickle, (content, self._inputs, self.report)

    def _open_file(self) -> UnnamedFile:
        if self._closed:
            raise InvalidArgumentError("the compiled model is closed: compile it again, or save it before")
        if self._file is None:
            raise InvalidArgumentError("compiled with dry_run or stop_after: there is no program")
        return self._file

    def _readable_path(self) -> str:
        return self._open_file().path


def _unpickle(content: bytes | None, inputs: Sequence[str], report: Report) -> Compiled:
    return Compiled(None if content is None else UnnamedFile.of_bytes(content), inputs, report)


def _compile(
    model: Model,
    options: _intarsia.CompileOptions,
    progress: Callable[[str, int, int], None] | None,
    print: Callable[[str], None] | None,
    given: Mapping[str, object],
) -> Compiled:
    values = [(name, to_value(value)) for name, value in given.items()]
    inputs = [*options.kernels, *options.op_libraries]
    with path_of(model) as path, tempfile.TemporaryDirectory(prefix="intarsia-") as folder:
        target = os.path.join(folder, "program.so")
        report = read_report(_intarsia.compile(path, target, options, progress, print, values))
        file = UnnamedFile.of_file(target) if os.path.exists(target) else None
    if name_of(model) != IN_MEMORY:
        inputs.append(name_of(model))
    report.update(model=name_of(model), program=None)
    return Compiled(file, inputs, report)


def compile(
    model: Model,
    *,
    devices: Several = (),
    backends: Several = (),
    shapes: Mapping[str, Sizes] | None = None,
    pins: Mapping[str, str] | None = None,
    fallback: Literal["auto", "none"] = "auto",
    threads: int = 0,
    arch: str = "",
    cpu: str = "native",
    kernels: Paths = (),
    math: Literal["fast", "exact"] = "fast",
    precision: Literal["f32", "bf16", "f16", "auto"] = "f32",
    max_error: float = 0,
    optimize: Literal["speed", "size"] = "speed",
    tune: Literal["off", "fast", "full"] = "fast",
    tune_seconds: float = 0,
    tune_at: Mapping[str, Tuned] | None = None,
    cache: Path = "",
    also: Several = (),
    memory: Mapping[str, int | str] | None = None,
    objective: Literal["latency", "throughput"] = "latency",
    stages: int | str = "",
    cuts: Several = (),
    prefer: Literal["self-contained", "fastest"] = "self-contained",
    plan: Path = "",
    signature: Several = (),
    op_libraries: Paths = (),
    save_plan: Path = "",
    strip_names: bool = False,
    dry_run: bool = False,
    print_after: Several = (),
    stop_after: str = "",
    inputs: Mapping[str, object] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    print: Callable[[str], None] | None = builtins.print,
) -> Compiled:
    """Compiles a model: the path of an ONNX file, a frozen GraphDef (.pb) or a SavedModel folder; or the bytes of an ONNX
    file or an `onnx.ModelProto` with its weights. Where several strings are possible, a single one is fine, too.

    devices: "cpu", "cpu:0-1", "opencl:0", "sim:0", or with a slot's name "accel=sim:0"; "auto": those of this machine that
        pay off; empty: "cpu", or for throughput all cores of this process, each (or each `threads` of them) an executor.
    backends: names in order of preference; empty: all.
    shapes: {input: sizes} for inputs of open sizes, which stay open otherwise (1 where a plug-in takes numbers only). A size
        is a number, None (open until a run), or an open one's name ("N"), range ("1..32"), or fastest sizes ("1,8,32").
    pins: {node name pattern: "backend@slot"}.
    fallback: "auto" lets frameworks run what our compiler lacks, "none" forbids it.
    threads: threads that a run will use; 0: all cores that this process may use.
    arch: architecture that the program is for, as `--arch` lists them; empty: this machine's.
    cpu: "native", a level ("x86-64-v3") or a processor, as `--cpu` lists them; of "A,B" a machine takes the best it runs.
    kernels: libraries with your own operators.
    math: "fast" allows errors up to 1e-4 of the largest output, "exact" only rounding.
    precision: "bf16": products of f32 may round their factors; "f16": their constant weights; "auto": within `max_error`.
    max_error: limit with precision "auto", relative to the largest element of an output; 0: 0.01.
    optimize: "size": no weights larger than the model's for speed, no second plan without frameworks.
    tune: "off": choose by a formula; "fast", "full": by measuring few or many variants of kernels, and plans.
    tune_seconds: limit of the measuring time; 0: none.
    tune_at: {symbol: size or sizes} to be fastest at, of sizes that stay open; plans are measured with the first.
    cache: folder of the measured times and generated code; empty: the user's.
    also: slots that must suffice to run the program, with an alternative for when other devices are missing.
    memory: {slot: size}, in bytes or as "64MB": limits on constants and the working memory of a session together.
    objective: "latency", or "throughput": the program has stages for a pipeline.
    stages: number of stages; "auto" or empty: as many as are best.
    cuts: names of values at which stages end, instead of `stages`.
    prefer: "self-contained": a plan that needs no framework, unless another takes 3% less; "fastest": the fastest one.
    plan: file that says where each node runs; nothing is measured then.
    signature: one or several of a SavedModel, each a function of the program; empty: "serving_default", or else all.
    op_libraries: libraries with your own TensorFlow operators.
    save_plan: file to write the plan of this compile to.
    strip_names: whether to leave node names out of the program.
    dry_run: whether to do everything except write the program.
    print_after: passes (of `pass_names()`) whose result goes to `print`.
    stop_after: pass to stop after, without a program.
    inputs: arrays by name, on which the precisions are compared; all others are filled.
    progress: called with (phase, done, total): the activity, and how much of the compile is done, by time.

    Raises Error: one line that says what, where and what to do.
    """
    return _compile(model, read_options(locals()), progress, print, inputs or {})


def explain(
    model: Subject,
    *,
    devices: Several = (),
    backends: Several = (),
    shapes: Mapping[str, Sizes] | None = None,
    pins: Mapping[str, str] | None = None,
    fallback: Literal["auto", "none"] = "auto",
    threads: int = 0,
    arch: str = "",
    cpu: str = "native",
    kernels: Paths = (),
    math: Literal["fast", "exact"] = "fast",
    precision: Literal["f32", "bf16", "f16", "auto"] = "f32",
    max_error: float = 0,
    optimize: Literal["speed", "size"] = "speed",
    tune: Literal["off", "fast", "full"] = "fast",
    tune_seconds: float = 0,
    tune_at: Mapping[str, Tuned] | None = None,
    cache: Path = "",
    also: Several = (),
    memory: Mapping[str, int | str] | None = None,
    objective: Literal["latency", "throughput"] = "latency",
    stages: int | str = "",
    cuts: Several = (),
    prefer: Literal["self-contained", "fastest"] = "self-contained",
    plan: Path = "",
    signature: Several = (),
    op_libraries: Paths = (),
) -> Report:
    """Explains what runs where and why, in a model or a program. The options are those of `compile`. Returns
    the object of `intarsia explain --json`, with numpy's names of dtypes."""
    options = read_options(locals())
    with path_of(model) as path:
        return {**read_report(_intarsia.explain(path, options)), "subject": name_of(model)}


def explain_html(
    model: Subject,
    *,
    devices: Several = (),
    backends: Several = (),
    shapes: Mapping[str, Sizes] | None = None,
    pins: Mapping[str, str] | None = None,
    fallback: Literal["auto", "none"] = "auto",
    threads: int = 0,
    arch: str = "",
    cpu: str = "native",
    kernels: Paths = (),
    math: Literal["fast", "exact"] = "fast",
    precision: Literal["f32", "bf16", "f16", "auto"] = "f32",
    max_error: float = 0,
    optimize: Literal["speed", "size"] = "speed",
    tune: Literal["off", "fast", "full"] = "fast",
    tune_seconds: float = 0,
    tune_at: Mapping[str, Tuned] | None = None,
    cache: Path = "",
    also: Several = (),
    memory: Mapping[str, int | str] | None = None,
    objective: Literal["latency", "throughput"] = "latency",
    stages: int | str = "",
    cuts: Several = (),
    prefer: Literal["self-contained", "fastest"] = "self-contained",
    plan: Path = "",
    signature: Several = (),
    op_libraries: Paths = (),
) -> str:
    """Returns what `explain` says as a self-contained page, the one that `intarsia explain --html` writes."""
    options = read_options(locals())
    with path_of(model) as path:
        return _intarsia.explain_html(path, options)


def annotate(
    model: Model,
    path: Path,
    *,
    devices: Several = (),
    backends: Several = (),
    shapes: Mapping[str, Sizes] | None = None,
    pins: Mapping[str, str] | None = None,
    fallback: Literal["auto", "none"] = "auto",
    threads: int = 0,
    arch: str = "",
    cpu: str = "native",
    kernels: Paths = (),
    math: Literal["fast", "exact"] = "fast",
    precision: Literal["f32", "bf16", "f16", "auto"] = "f32",
    max_error: float = 0,
    optimize: Literal["speed", "size"] = "speed",
    tune: Literal["off", "fast", "full"] = "fast",
    tune_seconds: float = 0,
    tune_at: Mapping[str, Tuned] | None = None,
    cache: Path = "",
    also: Several = (),
    memory: Mapping[str, int | str] | None = None,
    objective: Literal["latency", "throughput"] = "latency",
    stages: int | str = "",
    cuts: Several = (),
    prefer: Literal["self-contained", "fastest"] = "self-contained",
    plan: Path = "",
    signature: Several = (),
    op_libraries: Paths = (),
) -> None:
    """Writes a copy of an ONNX model to `path` whose nodes say where they run in the plan of `explain`, or of
    the option `plan`, so that compiling the copy gives this plan. Nothing else changes; weights in other
    files stay there. Raises Error for a model that is not ONNX or whose nodes cannot hold the plan. The
    options are those of `compile`."""
    options = read_options(locals())
    with path_of(model) as source:
        _intarsia.annotate(source, os.fspath(path), options)


def split(model: Model, folder: Path, cuts: Several, shapes: Mapping[str, Sizes] | None = None) -> Report:
    """Cuts an ONNX model at these values into separate models: creates the folder and writes stage0.onnx,
    stage1.onnx, ... and pipeline.json into it. Compile each with its own options to stage0.so, ...;
    `PipelineBuilder(folder / "pipeline.json")` then runs them. A stage holds what its value depends on and no
    earlier stage has.

    Returns the object of `intarsia split --json`. Raises Error for a model that is not ONNX, a cut that cuts
    nothing off, or a stage with more than 2 GiB of weights."""
    options = read_options({"shapes": shapes})
    with path_of(model) as path:
        return read_report(_intarsia.split(path, several(cuts), os.fspath(folder), options))


def rewrite(
    model: Path,
    output: Path,
    *,
    force: bool = False,
    keep_variables: bool = False,
    replace: Mapping[str, str] | None = None,
    html: Path = "",
    inputs: Mapping[str, object] | None = None,
    devices: Several = (),
    backends: Several = (),
    shapes: Mapping[str, Sizes] | None = None,
    pins: Mapping[str, str] | None = None,
    fallback: Literal["auto", "none"] = "auto",
    threads: int = 0,
    arch: str = "",
    cpu: str = "native",
    kernels: Paths = (),
    math: Literal["fast", "exact"] = "fast",
    precision: Literal["f32", "bf16", "f16", "auto"] = "f32",
    max_error: float = 0,
    optimize: Literal["speed", "size"] = "speed",
    tune: Literal["off", "fast", "full"] = "fast",
    tune_seconds: float = 0,
    tune_at: Mapping[str, Tuned] | None = None,
    cache: Path = "",
    also: Several = (),
    memory: Mapping[str, int | str] | None = None,
    objective: Literal["latency", "throughput"] = "latency",
    stages: int | str = "",
    cuts: Several = (),
    prefer: Literal["self-contained", "fastest"] = "self-contained",
    plan: Path = "",
    signature: Several = (),
    op_libraries: Paths = (),
) -> Report:
    """Rewrites a SavedModel (a folder, or a frozen GraphDef) so that nodes of type Intarsia compute what a
    program computes faster than TensorFlow; all else stays as it is (docs/rewrite.md). What is written needs
    no import of this package. Where nothing is faster, it is a copy.

    output: folder, or file for a frozen GraphDef, which appears whole or not at all.
    force: whether an older model there is replaced.
    keep_variables: whether variables that nothing reads any more, as a program has their values, stay in the
        checkpoint and among the model's objects.
    replace: {node, scope or function of the model: "PROGRAM:FUNCTION"}: what a function of a compiled program
        takes the place of, whatever is measured; ":FUNCTION" may be left out where the program has one.
    html: file for the report as a page, too, the one that `intarsia rewrite --html` writes; empty: none.
    inputs: arrays by name, to time the signatures with; all others are filled.
    threads: the most that a node uses; 0: TF_NUM_INTRAOP_THREADS, or else all cores that the process may use.

    The other options are those of `compile`. Returns the object of `intarsia rewrite --json`. Raises Error for
    a model that is rewritten already, that lacks a signature, or that is damaged, for an output that exists,
    for nodes that `replace` cannot replace, or whose results it would change, and for a page that cannot be
    written, or would be the model, the output, or in one of them."""
    options = read_options(locals())
    values = [(name, to_value(value)) for name, value in (inputs or {}).items()]
    replacements = [f"{scope}={function}" for scope, function in (replace or {}).items()]
    source, target, page = os.fspath(model), os.fspath(output), os.fspath(html)
    files = [source, *options.kernels, *options.op_libraries, *filter(None, [options.plan])]
    if page:
        _check_page(page, target, files)
    report, text = _intarsia.rewrite(source, target, options, force, keep_variables, values, replacements)
    if page:
        _intarsia.write_output(page, np.frombuffer(text.encode(), np.uint8), files)
    return read_report(report)


def _check_page(page: str, output: str, inputs: Sequence[str]) -> None:
    """Checks, before the long work, that the page can be written and replaces nothing that is read or made."""
    folder, file = os.path.realpath(output), os.path.realpath(page)
    if os.path.commonpath([folder, file]) == folder:
        raise InvalidArgumentError(f"html={page}: it is the output, or in it; name another file")
    _intarsia.check_output(page, inputs)


def check(
    path: Subject,
    *,
    model: Model | None = None,
    against: str = "",
    rtol: float = -1,
    atol: float = -1,
    bisect: bool = False,
    inputs: Mapping[str, object] | None = None,
    bind: Mapping[str, str] | None = None,
    devices: Several = (),
    backends: Several = (),
    shapes: Mapping[str, Sizes] | None = None,
    pins: Mapping[str, str] | None = None,
    fallback: Literal["auto", "none"] = "auto",
    threads: int = 0,
    arch: str = "",
    cpu: str = "native",
    kernels: Paths = (),
    math: Literal["fast", "exact"] = "fast",
    precision: Literal["f32", "bf16", "f16", "auto"] = "f32",
    max_error: float = 0,
    optimize: Literal["speed", "size"] = "speed",
    tune: Literal["off", "fast", "full"] = "fast",
    tune_seconds: float = 0,
    tune_at: Mapping[str, Tuned] | None = None,
    cache: Path = "",
    also: Several = (),
    memory: Mapping[str, int | str] | None = None,
    objective: Literal["latency", "throughput"] = "latency",
    stages: int | str = "",
    cuts: Several = (),
    prefer: Literal["self-contained", "fastest"] = "self-contained",
    plan: Path = "",
    signature: Several = (),
    op_libraries: Paths = (),
) -> Report:
    """Compares the results of a model or program, for every plan that it carries, with another runtime's.
    Returns the object of `intarsia check --json`, with numpy's names of dtypes. Where sizes are open and no
    inputs are given, several are compared (`sizes`).

    model: model to compare a program with; None: the model that it was compiled from, whose path the program
        knows. Give it if that model was in memory.
    against: "onnxruntime" or "tensorflow", each for its own models, or "reference"; "": the framework if it
        is available and runs the model, else "reference".
    rtol, atol: tolerances; negative for the defaults.
    bisect: whether to look for the first node whose value is wrong after a mismatch (`first_bad_node`; a
        program's model is compiled again).
    inputs: arrays by name; all others are filled.
    bind: {slot: device} of the program.

    The other options are those of `compile`.
    """
    options = read_options(locals())
    values = [(name, to_value(value)) for name, value in (inputs or {}).items()]
    with path_of(path) as subject, path_of(model if model is not None else "") as compared:
        text = _intarsia.check(
            subject, options, compared, against, rtol, atol, bisect, values, list((bind or {}).items())
        )
    report = {**read_report(text), "subject": name_of(path)}
    return report if model is None else {**report, "model": name_of(model)}


def devices() -> list[tuple[str, str]]:
    """Returns the devices of this machine: (name, description)."""
    return _intarsia.devices()


def pass_names() -> list[str]:
    """Returns the names that print_after and stop_after take, in order."""
    names: list[str] = json.loads(_intarsia.pass_names())["passes"]
    return names


def backends() -> list[Report]:
    """Returns the backends in order of preference: name, version, whether present, and why not."""
    found: list[Report] = read_report(_intarsia.backends())["backends"]
    return found
