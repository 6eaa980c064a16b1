"""Translation of the libraries' messages, which name options of the command line and dtypes, to Python's
names."""

from __future__ import annotations

import re

from .sources import IN_MEMORY

# Options of the command line, by the arguments in Python that stand for them.
FLAGS = {
    "against": "--against",
    "also": "--also",
    "backends": "--backends",
    "bind": "--bind",
    "bisect": "--bisect",
    "c_names": "--c-name",
    "cache": "--cache",
    "constants": "--constants",
    "arch": "--arch",
    "cpu": "--cpu",
    "cuts": "--cut",
    "devices": "--devices",
    "dry_run": "--dry-run",
    "fallback": "--fallback",
    "force": "--force",
    "kernels": "--kernels",
    "load_plugin": "--plugin",
    "math": "--math",
    "max_error": "--max-error",
    "memory": "--memory",
    "mode": "--mode",
    "model": "--model",
    "objective": "--objective",
    "optimize": "--optimize",
    "op_libraries": "--op-library",
    "pins": "--pin",
    "plan": "--plan",
    "precision": "--precision",
    "prefer": "--prefer",
    "print_after": "--print-after",
    "replace": "--replace",
    "save_plan": "--save-plan",
    "seconds": "--seconds",
    "shapes": "--shape",
    "signature": "--signature",
    "stages": "--stages",
    "stop_after": "--stop-after",
    "strip_names": "--strip-names",
    "threads": "--threads",
    "tune": "--tune",
    "tune_at": "--tune-at",
    "tune_seconds": "--tune-seconds",
}
_ARGUMENTS = {flag: argument for argument, flag in FLAGS.items()} | {"-d": "devices"}

# Whole phrases; the rest is translated option by option.
_PHRASES = [
    ("`intarsia explain --nodes`", 'explain(model)["nodes"]'),
    ("`intarsia explain --json`", "explain(model)"),
    ("`intarsia explain`", "explain(model)"),
    ("`intarsia devices`", "devices()"),
    ("`intarsia compile`", "compile(model)"),
    (
        "`intarsia compile --objective throughput --cut`",
        'compile(model, objective="throughput", cuts=...)',
    ),
    ("(compile --save-plan)", "(compile(model, save_plan=...))"),
    ("give other devices with -d", "give other devices"),
    ("one processor: leave -d out", "one processor: leave devices out"),
    ("plain C (--emit c)", "plain C"),
    ("f16 or auto, or --emit c", "f16 or auto, or emit_c()"),
    ("add --emit c", "call emit_c()"),
    ("or compile without --emit c", "or compile it to a program"),
    ("--emit c: -o", "emit_c:"),
    ("--emit", "emit"),
    ("with -d, as in -d cpu:0,cpu:1", 'in devices, as in devices=["cpu:0", "cpu:1"]'),
    ("one device a stage with -d,", "one device a stage in devices,"),
    (
        "with --plugin, in INTARSIA_PLUGINS or by intarsia_load_plugin",
        "in INTARSIA_PLUGINS or by load_plugin()",
    ),
    ("--plugin adds", "load_plugin() adds"),
    ("(--plugin, INTARSIA_PLUGINS)", "(load_plugin(), INTARSIA_PLUGINS)"),
]
# Words that follow an option without a value.
_NO_VALUE = "adds|and|both|contradicts|found|gives|has|in|is|level|lists|or|says"
_QUOTED = re.compile(r"((?<!\w)'[^']*'(?!\w))")
_ENTRY = re.compile(
    r"(?<![\w/-])(--bind|--c-name|--memory|--pin|--shape|--tune-at) ((?:(?! --)[^=:])+)(?==|: )"
)
_OPTION = re.compile(r"(?<![\w/-])(--[a-z][a-z-]*|-d)(?![\w-])( (?!(?:%s)\b))?" % _NO_VALUE)

# Names of dtypes in messages and reports, with numpy's names or, where numpy has none, those of ml_dtypes.
DTYPES = {
    "f32": "float32",
    "u8": "uint8",
    "i8": "int8",
    "u16": "uint16",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "f16": "float16",
    "f64": "float64",
    "u32": "uint32",
    "u64": "uint64",
    "c64": "complex64",
    "c128": "complex128",
    "bf16": "bfloat16",
    "f8e4m3fn": "float8_e4m3fn",
    "f8e4m3fnuz": "float8_e4m3fnuz",
    "f8e5m2": "float8_e5m2",
    "f8e5m2fnuz": "float8_e5m2fnuz",
    "u4": "uint4",
    "i4": "int4",
    "f4e2m1": "float4_e2m1fn",
    "f8e8m0": "float8_e8m0fnu",
    "u2": "uint2",
    "i2": "int2",
}
_DTYPE = re.compile(r"(?<![\w/.@-])(?<!precision=)(%s)(?![\w/@-]|\.\w)" % "|".join(DTYPES))


def _argument(match: re.Match[str]) -> str:
    argument = _ARGUMENTS.get(match[1])
    return match[0] if argument is None else argument + ("=" if match[2] else "=...")


def _in_python(text: str) -> str:
    for phrase, words in _PHRASES:
        text = text.replace(phrase, words)
    text = _ENTRY.sub(lambda match: f"{_ARGUMENTS[match[1]]}[{match[2]!r}]", text)
    return _DTYPE.sub(lambda match: DTYPES[match[0]], _OPTION.sub(_argument, text))


def in_python(message: str) -> str:
    """Returns the message with the names of Python's arguments and dtypes. Names in quotation marks are
    unchanged."""
    message = re.sub(r"/proc/self/fd/\d+", IN_MEMORY, message)
    parts = _QUOTED.split(message)
    return "".join(part if i % 2 else _in_python(part) for i, part in enumerate(parts))
