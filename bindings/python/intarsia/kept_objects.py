"""Objects of the caller that pass through the library as numbers."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass
class KeptObject:
    number: int  # 0 stands for None
    is_taken: bool = False  # whether the library took it, and will give the number back


class KeptObjects:
    """Objects by number. Thread-safe."""

    def __init__(self) -> None:
        self._objects: dict[int, Any] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    @contextmanager
    def keep(self, what: Any) -> Iterator[KeptObject]:
        """Keeps an object for the context, and beyond it only if the library took it."""
        kept = KeptObject(0)
        if what is not None:
            with self._lock:
                kept.number = next(self._numbers)
                self._objects[kept.number] = what
        try:
            yield kept
        finally:
            if not kept.is_taken:
                self.take(kept.number)

    def take(self, number: int) -> Any:
        with self._lock:
            return self._objects.pop(number, None)
