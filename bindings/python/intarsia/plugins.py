"""Plug-ins: libraries with devices of your own."""

from __future__ import annotations

import os
from dataclasses import dataclass

from . import _intarsia
from .sources import Path


@dataclass(frozen=True)
class Plugin:
    """A library that this process has loaded. `name`: its backend's name and its devices' kind
    ("toy_npu:0")."""

    name: str
    version: str
    path: str


def load_plugin(path: Path) -> None:
    """Loads a library that was built against intarsia/plugin.h: its devices join those of `devices()`, and
    programs that were compiled for it can run. Call it before loading such programs, and before compiling for
    its devices. Loading a library again is not an error. Libraries named by the environment variable
    INTARSIA_PLUGINS, separated by colons, are loaded without a call.

    Raises NotFoundError if there is no such library, VersionError if it was built for another ABI, and
    InvalidArgumentError if it is not a plug-in or another one has its name."""
    _intarsia.load_plugin(os.fspath(path))


def plugins() -> list[Plugin]:
    """Returns the plug-ins of this process, in the order in which they were loaded."""
    return [Plugin(*entry) for entry in _intarsia.plugins()]
