"""Reports of the libraries and of the command line (docs/json.md) as objects of Python."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from .words import DTYPES, in_python

Report: TypeAlias = dict[str, Any]

_DTYPE_FIELDS = ("dtype", "precision", "tried")
# Fields with text for people, which may name options.
_TEXTS = {
    "disabled_reason",
    "given_up",
    "guessed_reason",
    "no_times_reason",
    "reason",
    "refusals",
    "warning",
    "warnings",
    "why",
    "why_not",
}


def _translate(fields: Report) -> Report:
    for name, value in fields.items():
        if name in _DTYPE_FIELDS and isinstance(value, str):
            fields[name] = DTYPES.get(value, value)
        elif name in _TEXTS and isinstance(value, str):
            fields[name] = in_python(value)
        elif name in _TEXTS and isinstance(value, list):
            fields[name] = [in_python(text) if isinstance(text, str) else text for text in value]
    return fields


def read_report(text: str) -> Report:
    """Returns the object of a JSON text, with Python's names of dtypes and options."""
    report: Report = json.loads(text, object_hook=_translate)
    return report
