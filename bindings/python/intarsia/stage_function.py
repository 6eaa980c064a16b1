"""Callables as stages of a pipeline, in the form of the extension module."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _intarsia
from .values import from_output, to_value


class Raised:
    """Exceptions that a pipeline's callables raised, kept until their frame leaves. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._errors: dict[int, dict[str, BaseException]] = {}  # exceptions by frame and stage

    def note(self, frame: int, stage: str, error: BaseException) -> None:
        with self._lock:
            self._errors.setdefault(frame, {})[stage] = error

    def take(self, frame: int, message: str) -> BaseException | None:
        """Returns the exception of the stage that the message names. Forgets those of earlier frames, which
        may have failed after they timed out."""
        with self._lock:
            errors = self._errors.pop(frame, {})
            for number in [number for number in self._errors if number < frame]:
                del self._errors[number]
        return next((error for stage, error in errors.items() if f": stage '{stage}': " in message), None)


def make_call(
    function: Callable[..., Any], stage: str, outputs: list[str], raised: Raised
) -> Callable[[int, list[Any]], list[_intarsia.Value]]:
    """Wraps a callable for the extension module. Its inputs are read-only, since other stages may read them,
    too."""

    def call(frame: int, inputs: list[Any]) -> list[_intarsia.Value]:
        try:
            return _give(function(*_arrays(inputs)), outputs)
        except BaseException as error:
            raised.note(frame, stage, error)
            raise

    return call


def _arrays(inputs: list[Any]) -> list[Any]:
    arrays = [from_output(value) for value in inputs]
    for array in arrays:
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    return arrays


def _give(made: Any, outputs: list[str]) -> list[_intarsia.Value]:
    if made is None:
        made = (None,) * len(outputs)
    if len(outputs) == 1 and not isinstance(made, (tuple, dict)):
        made = (made,)
    elif isinstance(made, dict):
        made = tuple(made[name] for name in outputs)
    if len(made) != len(outputs):
        raise ValueError(f"the function returned {len(made)} values for the outputs {outputs}")
    if missing := [name for name, value in zip(outputs, made) if value is None]:
        raise ValueError(f"the function returned None for the outputs {missing}")
    return [to_value(value) for value in made]
