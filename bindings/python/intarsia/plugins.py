"""Plug-ins: libraries with devices of your own."""

from __future__ import annotations

import os
from dataclasses import dataclass

from . import _intarsia
from .sources import Path


@dataclass(frozen=True)
class Plugin:
    """A library that this process has loaded. `name`: of its backend, and the kind of its devices ("toy_npu:0")."""

    name: str
    version: str
    path: str


def load_plugin(path: Path) -> None:
    """Loads a library that was built against intarsia/plugin.h: its devices join those of `devices()`, and programs that
    were compiled for it run. Call it before such programs are loaded, and before compiling for its devices. A library that
    is loaded already is not an error; libraries that the environment variable INTARSIA_PLUGINS names, with colons between
    them, are loaded without it.

    Raises NotFoundError when there is no library, VersionError when it was built for another ABI, and
    InvalidArgumentError when it is not a plug-in or another one has its name."""
    _intarsia.load_plugin(os.fspath(path))


def plugins() -> list[Plugin]:
    """The plug-ins of this process, in the order in which they were loaded."""
    return [Plugin(*entry) for entry in _intarsia.plugins()]
