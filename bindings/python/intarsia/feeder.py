"""Feeding of frames to a pipeline in a separate thread: a waiting source does not delay finished frames."""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from . import _intarsia

_PATIENCE_S = 1.0  # wait for a source that is producing its next frame when the context ends


class Feeder:
    """Iterator over the numbers of the frames that it pushes, as soon as they are pushed; after the last one
    it raises what the source or a push raised. A `with` block stops it at its end and waits for its thread,
    but at most a second: a slower source is left to its thread, which ends when the source returns and does
    not keep the interpreter alive."""

    def __init__(self, source: Iterable[Any], push: Callable[[Any], int | None]):
        """`push` returns None if it should be called again with the same frame."""
        self._source, self._push = source, push
        self._pushed: queue.SimpleQueue[int | BaseException | None] = queue.SimpleQueue()
        self._is_stopped = False
        self._thread = threading.Thread(
            target=contextvars.copy_context().run, args=(self._feed,), name="intarsia-feeder", daemon=True
        )

    def __enter__(self) -> Feeder:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_stopped = True
        self._thread.join(_PATIENCE_S)
        if self._thread.is_alive():
            _intarsia.expect_leaks()  # the interpreter may end before the source returns

    def __iter__(self) -> Iterator[int]:
        while (pushed := self._pushed.get()) is not None:
            if isinstance(pushed, BaseException):
                raise pushed
            yield pushed

    def _feed(self) -> None:
        end: BaseException | None = None
        try:
            self._push_all()
        except BaseException as error:  # any kind; raised in the consumer
            end = error
        finally:
            self._pushed.put(end)

    def _push_all(self) -> None:
        frames = iter(self._source)
        try:
            for frame in frames:
                number = None
                while number is None and not self._is_stopped:
                    number = self._push(frame)
                if self._is_stopped:
                    return
                assert number is not None
                self._pushed.put(number)
        finally:
            if close := getattr(frames, "close", None):  # clean up a generator right away
                close()
