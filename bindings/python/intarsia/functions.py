"""Programs of functions that users wrote with Halide's Python package."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from . import _intarsia
from .errors import InvalidArgumentError
from .options import Tuned, read_options
from .program import Program, load
from .sources import Path as AnyPath

_PREFIX = "intarsia_function_"
_FEATURES = {
    "x86-64-v2": ("SSE41",),
    "x86-64-v3": ("SSE41", "AVX", "AVX2", "FMA", "F16C"),
    "x86-64-v4": ("SSE41", "AVX", "AVX2", "FMA", "F16C", "AVX512", "AVX512_Skylake"),
}


def export_functions(
    functions: Mapping[str, Any],
    path: AnyPath,
    *,
    cpu: str = "native",
    threads: int = 0,
    tune: Literal["off", "fast", "full"] = "fast",
    tune_at: Mapping[str, Tuned] | None = None,
    cache: AnyPath = "",
) -> Program:
    """Compiles functions of the package halide, `{"addone": func}`, and writes a program that has them under
    these names. Returns the program. It runs like one that was compiled from a model: here, from C and C++, in
    the shell, in pipelines and in TensorFlow.

    A function is a halide.Func or a halide.Pipeline, scheduled as it is, or a list of several forms of it with
    other schedules, `{"blur": [blur(16), blur(64)]}`: the program has the one that takes the least time here.
    Its inputs are its ImageParams, by name, and then its Params, as inputs of rank 0, each in alphabetical
    order; its outputs have the names of its Funcs. The outermost axis of an array is Halide's last dimension.
    Sizes are open where the function leaves them open: what it reads of its inputs tells how large its outputs
    are. Parallel loops run in the threads of the session.

    `cpu`: the level to generate code for: "native" (the highest that this machine has), "x86-64-v2",
    "x86-64-v3" or "x86-64-v4". `threads`: those of a run; 0: as many as this thread may use cores. `tune`:
    "off" takes the first form without timing any. `tune_at`: sizes at which forms are timed, `{"image_0":
    1080}` for axis 0 of the input image; others are 128 or a little more. `cache`: folder of the times, which
    are kept.

    Raises Error if a function uses what programs do not have (a GPU, extern stages in other libraries), or
    the sizes of its outputs do not follow from those of its inputs.
    """
    import halide as hl  # type: ignore[import-untyped]

    options = read_options(locals())
    target = _target(hl, cpu)
    with tempfile.TemporaryDirectory() as folder:
        objects = [
            (name, _compile(hl, name, form, target, folder))
            for name, forms in functions.items()
            for form in (forms if isinstance(forms, (list, tuple)) else [forms])
        ]
    _intarsia.export_functions(objects, os.fspath(path), options)
    return load(path)


def export_generators(
    library: AnyPath,
    path: AnyPath,
    generators: Sequence[str] = (),
    *,
    cpu: str = "native",
    threads: int = 0,
    tune: Literal["off", "fast", "full"] = "fast",
    tune_at: Mapping[str, Tuned] | None = None,
    cache: AnyPath = "",
) -> Program:
    """Compiles the Halide generators that a library in C++ registers, and writes a program that has them under
    their names. Returns the program. `generators`: those to take, each "NAME" or "NAME/PARAMETER=VALUE/..."
    with values for its GeneratorParams, "autoscheduler=NAME" or "autoscheduler.PARAMETER=VALUE"; the fastest of
    those of one name; none: all. The library must be linked with the Halide of the package halide; its code
    runs in a process of its own. The options are those of `export_functions`.

    Raises Error if the library cannot be opened or lacks a generator, and as `export_functions` does.
    """
    options = read_options(locals())
    _intarsia.export_generators(os.fspath(library), list(generators), os.fspath(path), options)
    return load(path)


def _target(hl: Any, cpu: str) -> Any:
    host = hl.get_host_target()
    features = hl.TargetFeature
    if cpu == "native":
        cpu = max(
            level
            for level, names in _FEATURES.items()
            if all(host.has_feature(getattr(features, n)) for n in names)
        )
    if cpu not in _FEATURES:
        raise InvalidArgumentError(f"cpu={cpu!r}: want native, {', '.join(_FEATURES)}")
    names = [*_FEATURES[cpu], "UserContext", "NoRuntime"]
    return hl.Target(hl.TargetOS.Linux, hl.TargetArch.X86, 64, [getattr(features, name) for name in names])


def _compile(hl: Any, name: str, function: Any, target: Any, folder: str) -> bytes:
    if not isinstance(function, (hl.Func, hl.Pipeline)):
        raise InvalidArgumentError(
            f"function '{name}' is a {type(function).__name__}, want a halide.Func or halide.Pipeline"
        )
    path = Path(folder, "function.o")
    try:
        function.compile_to_object(str(path), function.infer_arguments(), _PREFIX + name, target)
    except hl.HalideError as error:
        raise InvalidArgumentError(f"function '{name}': Halide: {str(error).strip()}") from error
    return path.read_bytes()
