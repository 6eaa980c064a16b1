"""Programs in plain C."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal

from . import _intarsia
from .options import Paths, Several, Sizes, Tuned, read_options
from .reports import Report, read_report
from .sources import Model, Path, path_of
from .values import to_value


def emit_c(
    model: Model,
    path: Path,
    *,
    constants: Literal["object", "file", "array"] = "object",
    c_names: Mapping[str, str] | None = None,
    inputs: Mapping[str, object] | None = None,
    dry_run: bool = False,
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
    """Writes a model as plain C, which needs the C library alone, to a new folder, or one with an older emission
    (docs/emit_c.md). The options are those of `compile`, and the following.

    path: folder and name, as in "out/net".
    constants: where the weights are: in an object to link, in a file to map or load, or in a source file.
    c_names: {name in the model: identifier} for inputs, outputs, sizes and functions.
    inputs: arrays by name, which the program's own test runs on; all others are filled.
    dry_run: whether to write nothing.

    Returns the object of `intarsia compile --json`. Raises Error where plain C cannot run the model, and says why."""
    options = read_options(locals())
    options.emit = "c"
    values = [(name, to_value(value)) for name, value in (inputs or {}).items()]
    with path_of(model) as file:
        return read_report(_intarsia.compile(file, os.fspath(path), options, None, None, values))
