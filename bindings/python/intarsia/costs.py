"""Measured times of kernels, from and for other machines."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal

from . import _intarsia
from .options import Paths, Several, Sizes, Tuned, read_options
from .reports import Report, read_report
from .sources import Model, Path, path_of


def tune_pack(
    model: Model,
    folder: Path,
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
    """Writes a new folder with the kernels that times would choose from, for a processor whose code does not
    run here, and with run.sh, which times them on that machine and writes times.json for `import_costs`
    (docs/other_cpus.md). The options are those of `compile`. Returns the object of
    `intarsia tune-pack --json`. Raises Error for a processor whose code runs here, a folder that is not empty
    or cannot be written, and what `compile` refuses."""
    options = read_options(locals())
    with path_of(model) as path:
        return read_report(_intarsia.tune_pack(path, os.fspath(folder), options))


def export_costs(path: Path, *, cpu: str = "native", cache: Path = "") -> Report:
    """Writes the measured times of kernels for a processor to a file (docs/costs.md), whole or not at all:
    those measured here or, for code that does not run here, those imported for it. `cache` is the folder of
    the times; empty: the user's. Returns the object of `intarsia costs export --json`. Raises Error if no
    times are known, or the file cannot be written."""
    return read_report(_intarsia.export_costs(os.fspath(path), cpu, os.fspath(cache)))


def import_costs(path: Path, *, cache: Path = "") -> Report:
    """Reads such a file and keeps all of its times or none. Those of another machine choose the kernels of
    compiles for its processor. Returns the object of `intarsia costs import --json`. Raises Error for a file
    that is damaged, of another version, or of no use here."""
    return read_report(_intarsia.import_costs(os.fspath(path), os.fspath(cache)))
