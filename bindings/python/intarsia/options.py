"""Compile options: arguments that compile, explain, check and others share, for the extension module."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from . import _intarsia
from .sources import Path

Several: TypeAlias = str | Sequence[str]
Paths: TypeAlias = Path | Sequence[Path]

# Arguments that are passed on unchanged, to the field of the same name.
_PLAIN = {
    "arch",
    "constants",
    "cpu",
    "dry_run",
    "fallback",
    "math",
    "max_error",
    "objective",
    "optimize",
    "precision",
    "prefer",
    "stop_after",
    "strip_names",
    "threads",
    "tune",
    "tune_seconds",
}
_LISTS = {
    name: name for name in ("devices", "backends", "kernels", "also", "cuts", "op_libraries", "print_after")
}
_LISTS["signature"] = "signatures"
_PATHS = ("cache", "plan", "save_plan")


def several(values: Path | Sequence[Path]) -> list[str]:
    """Returns a list of names or paths from one or several: a single string is one name, not its letters."""
    if isinstance(values, (str, os.PathLike)):
        return [os.fspath(values)]
    return [os.fspath(value) for value in values]


# Sizes of an input: a number, None for one that stays open, or the name or range of an open one ("1..32").
Sizes = Sequence[int | str | None]


def print_shapes(shapes: Mapping[str, Sizes] | None) -> list[str]:
    def print_sizes(sizes: Sizes) -> str:
        return "x".join("?" if size is None else str(size) for size in sizes) or "scalar"

    return [f"{name}={print_sizes(sizes)}" for name, sizes in (shapes or {}).items()]


# Sizes of a symbol to be fastest at.
Tuned: TypeAlias = int | Sequence[int]


def print_tuned(tune_at: Mapping[str, Tuned] | None) -> list[str]:
    def print_sizes(sizes: Tuned) -> str:
        return str(sizes) if isinstance(sizes, int) else ",".join(map(str, sizes))

    return [f"{symbol}={print_sizes(sizes)}" for symbol, sizes in (tune_at or {}).items()]


def print_pairs(pairs: Mapping[str, object] | None) -> list[str]:
    return [f"{name}={value}" for name, value in (pairs or {}).items()]


def set_plain(options: _intarsia.CompileOptions, name: str, value: object) -> None:
    wanted = type(getattr(options, name))
    try:
        setattr(options, name, value)
    except TypeError:
        raise TypeError(f"{name}={value!r}: want {wanted.__name__}, got {type(value).__name__}") from None


def read_options(arguments: Mapping[str, Any]) -> _intarsia.CompileOptions:
    """Makes options from the arguments of a call; arguments that are not options are ignored."""
    options = _intarsia.CompileOptions()
    for name, value in arguments.items():
        if name in _PLAIN:
            set_plain(options, name, value)
        elif name in _LISTS:
            setattr(options, _LISTS[name], several(value))
        elif name in _PATHS:
            setattr(options, name, os.fspath(value))
        elif name in ("pins", "memory", "c_names"):
            setattr(options, name, print_pairs(value))
    options.shapes = print_shapes(arguments.get("shapes"))
    options.tune_at = print_tuned(arguments.get("tune_at"))
    options.stages = str(arguments.get("stages", ""))
    return options
