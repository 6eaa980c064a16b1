"""Timing of models and programs, alone or against other runtimes."""

from __future__ import annotations

import os
import pathlib
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Literal

import numpy as np

from .errors import Error, InvalidArgumentError, NotFoundError
from .options import Paths, Several, Sizes, Tuned, print_pairs, print_shapes, print_tuned, several
from .reports import Report, read_report
from .sources import Model, Path, Subject, name_of, path_of
from .words import FLAGS, in_python

_COMMAND = pathlib.Path(__file__).parent / "bin" / "intarsia"
_WRONG_USAGE = 2


def _flags(arguments: Mapping[str, Any]) -> list[str]:
    """Returns flags for the arguments that differ from the command line's defaults."""
    flags = []
    for name, value in arguments.items():
        if (
            name not in FLAGS
            or value is None
            or value == ()
            or value == ""
            or (name, value) == ("threads", 0)
        ):
            continue
        if name == "shapes":
            values = print_shapes(value)
        elif name == "tune_at":
            values = print_tuned(value)
        elif isinstance(value, Mapping):
            values = print_pairs(value)
        else:
            values = [str(value)] if isinstance(value, (int, float)) else several(value)
        flags += [f"{FLAGS[name]}={one}" for one in values]
    return flags


def _save_inputs(inputs: Mapping[str, object], folder: str) -> list[str]:
    flags = []
    for i, (name, value) in enumerate(inputs.items()):
        path = os.path.join(folder, f"{i}.npy")
        np.save(path, np.asarray(value), allow_pickle=False)
        flags.append(f"--input={name}={path}")
    return flags


def _run_command(arguments: Sequence[str], descriptors: Sequence[int]) -> Report:
    if not _COMMAND.exists():
        raise NotFoundError(f"'{_COMMAND}' does not exist: bench needs an installation with the command line")
    done = subprocess.run(
        [_COMMAND, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        pass_fds=descriptors,
    )
    if done.returncode == 0:
        return read_report(done.stdout)
    lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    message = in_python(lines[0].removeprefix("error: ")) if lines else f"bench ended with {done.returncode}"
    raise (InvalidArgumentError if done.returncode == _WRONG_USAGE else Error)(message)


def bench(
    subject: Subject,
    *,
    against: Several = (),
    seconds: float = 10,
    mode: Literal["latency", "throughput"] = "latency",
    model: Model | None = None,
    inputs: Mapping[str, object] | None = None,
    threads: int = 0,
    devices: Several = (),
    backends: Several = (),
    shapes: Mapping[str, Sizes] | None = None,
    pins: Mapping[str, str] | None = None,
    fallback: Literal["auto", "none"] | None = None,
    arch: str = "",
    cpu: str = "",
    kernels: Paths = (),
    math: Literal["fast", "exact"] | None = None,
    precision: Literal["f32", "bf16", "f16", "auto"] | None = None,
    max_error: float | None = None,
    optimize: Literal["speed", "size"] | None = None,
    tune: Literal["off", "fast", "full"] | None = None,
    tune_seconds: float | None = None,
    tune_at: Mapping[str, Tuned] | None = None,
    cache: Path = "",
    also: Several = (),
    memory: Mapping[str, int | str] | None = None,
    objective: Literal["latency", "throughput"] | None = None,
    stages: int | str = "",
    cuts: Several = (),
    prefer: Literal["self-contained", "fastest"] | None = None,
    plan: Path = "",
    signature: Several = (),
    op_libraries: Paths = (),
) -> Report:
    """Times a model, which is compiled first, or a program. Runs the command `intarsia bench`, because times
    are comparable only with its protocol: one process per runtime, which take turns while the others rest and
    each thread has its own core. Returns the object of `intarsia bench --json`, with numpy's names of dtypes:
    `results` has one entry per runtime, ours first.

    against: runtimes to compare with: "onnxruntime", "openvino", "tensorflow".
    seconds: how long to measure.
    mode: "latency": runs one after the other; "throughput": many frames at once, as a pipeline.
    model: model of a program, for the other runtimes; None: the model that it was compiled from, whose path
        the program knows. Give it if that model was in memory.
    inputs: arrays by name; all others are filled.
    threads: threads of a run, in every runtime; 0: all cores that this process may use, or for a program as
        compiled.

    The other options say how to compile a model, with the meaning and defaults that they have in `compile`;
    for a program they are errors, except those that other runtimes need, too, and shapes: the numbers at which
    inputs that are not given are filled. Lists ("1,8,32") are measured in turn; `measured` then has a report for
    each.

    Raises Error also if outputs differ from those of another runtime.
    """
    options = {**locals(), "model": None}
    with ExitStack() as stack:
        path = stack.enter_context(path_of(subject))
        flags = _flags(options)
        paths = [path]
        if model is not None:
            paths.append(stack.enter_context(path_of(model)))
            flags.append(f"{FLAGS['model']}={paths[1]}")
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="intarsia-"))
        flags += _save_inputs(inputs or {}, folder)
        unnamed = [int(one.rpartition("/")[2]) for one in paths if one.startswith("/proc/self/fd/")]
        report = _run_command(["bench", "--json", "--quiet", *flags, "--", path], unnamed)
    for field in ("program", "model"):
        if report.get(field) == path:
            report[field] = name_of(subject)
    return report
