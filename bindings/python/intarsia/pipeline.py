"""Frames through stages that work at the same time.

builder = intarsia.PipelineBuilder()
builder.add("decode", decode, inputs=["jpeg"], outputs=["image"])
builder.add("classify", intarsia.load("resnet.so"), devices={"cpu": "cpu:1"})
with builder.start() as pipeline:
    for frame in pipeline.run_all({"jpeg": path.read_bytes()} for path in paths):
        print(frame.number, frame.outputs["scores"].argmax())
"""

from __future__ import annotations

import atexit
import os
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from . import _intarsia
from .errors import Error, InvalidArgumentError, error_of
from .program import Program
from .values import from_output, to_value

_FRAME, _NONE, _ENDED = 0, 1, 2
_SLICE_NS = 100_000_000  # waits are cut into these, so that Ctrl-C works


@dataclass(frozen=True)
class Frame:
    """A frame that has left its pipeline, in the order of the pushes.

    `number` counts from 0. `latency_ns`: nanoseconds from its push to the end of its last stage. `error`: what it ended with,
    None if it worked; `outputs` is then empty."""

    number: int
    outputs: dict[str, Any] = field(default_factory=dict)
    latency_ns: int = 0
    error: Error | None = None

    def __repr__(self) -> str:
        what = f"error {str(self.error)!r}" if self.error else f"outputs {', '.join(self.outputs)}"
        return f"<intarsia.Frame {self.number}: {what}>"


@dataclass(frozen=True)
class StageStatistics:
    """What a stage did since its pipeline started; times in nanoseconds, of all its replicas.

    `frames` that it ran, and how many of them were `errors`. `busy_ns` running, `waiting_ns` for frames, `blocked_ns` for room
    behind it. `queued`: frames that wait before it now, `running`: replicas that have one now."""

    name: str
    replicas: int
    frames: int
    errors: int
    busy_ns: int
    waiting_ns: int
    blocked_ns: int
    queued: int
    most_queued: int
    running: int


class Pipeline:
    """Made by `PipelineBuilder.start`. Any threads may push and pop. As a context it is closed at its end."""

    def __init__(self, pipeline: _intarsia.Pipeline):
        self._pipeline: _intarsia.Pipeline | None = pipeline
        self._last_statistics: list[StageStatistics] = []
        self.inputs, self.outputs = pipeline.ports()

    def push(
        self, inputs: Mapping[str, object], timeout: float | None = None, copy: bool = True
    ) -> int | None:
        """Waits for room, at most `timeout` seconds (None: without end), and puts a frame in. Returns its number, counted from
        0; None if the queue stayed full. With copy=False arrays are used in place: do not change them until the frame has left.

        Raises Error when an input is missing or unknown, or the pipeline is finished or cancelled.
        """
        values = [(name, to_value(value)) for name, value in inputs.items()]
        owner = None if copy else values
        for wait in _slices(timeout):
            number = self._open().push(values, wait, owner)
            if number is not None:
                return number
        return None

    def try_push(self, inputs: Mapping[str, object], copy: bool = True) -> int | None:
        """The same without waiting."""
        return self.push(inputs, 0, copy)

    def pop(self, timeout: float | None = None, outputs: Sequence[str] | None = None) -> Frame | None:
        """The next frame, with these outputs (None: all); waits for it at most `timeout` seconds (None: without end). None if
        there was none in time, or none comes any more (`ended`). A frame that failed has an `error`; the next pop goes on
        with the frame after it."""
        wanted = list(self.outputs if outputs is None else outputs)
        for wait in _slices(timeout):
            state, number, pushed, done, failed, values = self._open().pop(wanted, wait)
            if state == _ENDED:
                self._has_ended = True
                return None
            if state == _FRAME:
                error = None if failed is None else error_of(*failed)
                arrays = {name: from_output(value) for name, value in values.items()}
                return Frame(number, arrays, max(done - pushed, 0), error)
        return None

    def try_pop(self, outputs: Sequence[str] | None = None) -> Frame | None:
        """The same without waiting."""
        return self.pop(0, outputs)

    _has_ended = False

    @property
    def ended(self) -> bool:
        """Whether a pop has told that no frame comes any more."""
        return self._has_ended

    def run_all(
        self, frames: Iterable[Mapping[str, object]], progress: bool | None = None, copy: bool = True
    ) -> Iterator[Frame]:
        """Pushes all frames and yields them as they leave, in order; the pipeline takes no others then. `progress`: a bar
        on standard error (None: where that is a terminal)."""
        from tqdm import tqdm  # type: ignore[import-untyped]

        total = len(frames) if isinstance(frames, Sized) else None
        with tqdm(total=total, unit="frame", disable=None if progress is None else not progress) as bar:
            for frame in self._run_all(iter(frames), copy):
                bar.update()
                yield frame

    def _run_all(self, frames: Iterator[Mapping[str, object]], copy: bool) -> Iterator[Frame]:
        """Pushes while there is room; else waits for a frame to leave."""
        inside = 0
        waiting = next(frames, None)
        while waiting is not None or inside > 0:
            if waiting is not None and self.push(waiting, 0 if inside > 0 else None, copy) is not None:
                inside += 1
                waiting = next(frames, None)
                frame = self.try_pop()
            else:
                frame = self.pop()
            if self.ended:
                return
            if frame is not None:
                inside -= 1
                yield frame

    def finish(self) -> None:
        """No frame is pushed any more; those inside go on, and after the last `pop` returns None."""
        self._open().finish()

    def cancel(self) -> None:
        """Drops the frames inside and returns at once; a stage that runs goes on to the end of its frame."""
        self._open().cancel()

    @property
    def statistics(self) -> list[StageStatistics]:
        """Of each stage, in order; of a closed pipeline those when it was closed."""
        if self._pipeline is None:
            return self._last_statistics
        return [StageStatistics(*entry) for entry in self._pipeline.statistics()]

    def close(self) -> None:
        """Cancels, and gives the stages' threads and memory back, after the frames that stages are in. Arrays of frames that
        have left stay; calls are errors from then on."""
        if self._pipeline is None:
            return
        self.cancel()
        self._last_statistics = self.statistics
        self._pipeline = None

    def __enter__(self) -> Pipeline:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = " (closed)" if self._pipeline is None else ""
        stages = " | ".join(stage.name for stage in self.statistics)
        return (
            f"<intarsia.Pipeline {stages}: ({', '.join(self.inputs)}) -> ({', '.join(self.outputs)}){state}>"
        )

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Pipeline has threads of this process: build one where it is used")

    def _open(self) -> _intarsia.Pipeline:
        if self._pipeline is None:
            raise InvalidArgumentError("the pipeline is closed: start another with PipelineBuilder")
        return self._pipeline


class PipelineBuilder:
    """What a pipeline is made of: stages, in an order in which values flow forward, and connections."""

    def __init__(self, path: str | os.PathLike[str] | None = None):
        """`path`: a JSON file (docs/pipelines.md) with stages and connections to begin with."""
        self._builder = _intarsia.PipelineBuilder()
        if path is not None:
            self._builder.read(os.fspath(path))

    def add(
        self,
        stage: str,
        what: Program | Callable[..., Any],
        *,
        inputs: Sequence[str] = (),
        outputs: Sequence[str] = (),
        devices: Mapping[str, str] | None = None,
        threads: int = 0,
        function: str | None = None,
        cores: str | None = None,
    ) -> PipelineBuilder:
        """Adds a stage. A Program brings its inputs and outputs; `devices`, `threads` as for `Program.bind`, `function` None:
        its only one. Bind each stage to cores of its own (`devices={"cpu": "cpu:1"}`), or they compete.

        Any other callable gets its `inputs` as positional arrays, which it must not change, and returns its output, or a tuple
        or dict of several; what it raises is the frame's error. It is called by `threads` threads at once (0: one), which
        are held to `cores` ("0-1"). Threads share Python's lock: what should run beside others has to let go of it, as numpy
        does in large operations.
        """
        if isinstance(what, Program):
            self._builder.add_program(
                stage, what._open(), function or "", list((devices or {}).items()), threads
            )
        else:
            call = _caller(what, list(outputs))
            self._builder.add_function(stage, list(inputs), list(outputs), call, cores or "", max(threads, 1))
        return self

    def add_stages(self, program: Program, function: str | None = None) -> PipelineBuilder:
        """Adds the stages that a function (None: the only one) was compiled with (`objective="throughput"`) as "stage0",
        "stage1", ..., each on the executors that it was compiled for; a function without stages is one."""
        self._builder.add_stages(program._open(), function or "")
        return self

    def add_replica(
        self,
        stage: str,
        devices: Mapping[str, str] | None = None,
        threads: int = 0,
        *,
        program: Program | None = None,
        function: str | None = None,
    ) -> PipelineBuilder:
        """Another session of a stage that is a program; the two share its frames, which keep their order. It may be of another
        `program` with the same inputs and outputs, compiled for an unlike device."""
        bindings = list((devices or {}).items())
        if program is None:
            self._builder.add_replica(stage, bindings, threads)
        else:
            self._builder.add_replica_program(stage, program._open(), function or "", bindings, threads)
        return self

    def connect(self, source: str, target: str) -> PipelineBuilder:
        """Connects "STAGE.OUTPUT" to "STAGE.INPUT". What is not connected when the pipeline starts is connected by name."""
        self._builder.connect(*_port(source), *_port(target))
        return self

    def input(self, name: str, *targets: str) -> PipelineBuilder:
        """An input of the pipeline, for each "STAGE.INPUT"."""
        for target in targets:
            self._builder.connect("", name, *_port(target))
        return self

    def output(self, name: str, source: str) -> PipelineBuilder:
        """An output of the pipeline, from "STAGE.OUTPUT"."""
        self._builder.connect(*_port(source), "", name)
        return self

    def start(
        self,
        depth: int | None = None,
        timeout: float | None = None,
        trace: Callable[[str, int, int, int, int], None] | None = None,
        trace_steps: Callable[[str, int, int, int, int, str, str, str], None] | None = None,
    ) -> Pipeline:
        """Connects by name what is not connected yet, and starts the stages' threads; the builder is then empty.

        `depth`: frames that may wait before each stage, and to be popped (None: 2, or as the file says). `timeout`: seconds from
        a frame's push after which `pop` gives it as an error. `trace(stage, replica, frame, begin_ns, end_ns)` is called after
        each stage of each frame; `trace_steps(stage, replica, frame, begin_ns, end_ns, name, kind, device)` after each region,
        copy and kernel of a stage's session (as `Session.set_trace`), which takes the sessions time.

        Raises Error when a port is connected twice, does not exist or has another type, or connections form a cycle.
        """
        if depth is not None and depth < 1:
            raise InvalidArgumentError(f"depth {depth}: a queue holds at least one frame")
        self._builder.connect_by_name()
        pipeline = self._builder.start(depth or 0, round((timeout or 0) * 1e9), trace, trace_steps)
        _alive.add(pipeline)
        return Pipeline(pipeline)


def _port(text: str) -> tuple[str, str]:
    stage, dot, port = text.partition(".")
    if not (stage and dot and port):
        raise InvalidArgumentError(f"'{text}': want \"STAGE.PORT\"")
    return stage, port


def _slices(timeout: float | None) -> Iterator[int]:
    """Nanoseconds to wait, again and again until the time is over."""
    if timeout is None:
        while True:
            yield _SLICE_NS
    end = time.monotonic_ns() + round(timeout * 1e9)
    while True:
        left = max(end - time.monotonic_ns(), 0)
        yield min(left, _SLICE_NS)
        if left <= _SLICE_NS:
            return


def _caller(
    function: Callable[..., Any], outputs: list[str]
) -> Callable[[int, list[Any]], list[_intarsia.Value]]:
    """In the form of the extension module. Inputs are read-only: other stages may read them, too."""

    def call(_frame: int, inputs: list[Any]) -> list[_intarsia.Value]:
        arrays = [from_output(value) for value in inputs]
        for array in arrays:
            if isinstance(array, np.ndarray):
                array.flags.writeable = False
        made = function(*arrays)
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

    return call


_alive: weakref.WeakSet[_intarsia.Pipeline] = weakref.WeakSet()


def _after_fork() -> None:
    """A child has none of its parent's threads, and never frees what they held."""
    _alive.clear()
    _intarsia.expect_leaks()


os.register_at_fork(after_in_child=_after_fork)


@atexit.register
def _end_all() -> None:
    """Threads must not come back to an interpreter that has ended, nor keep its objects."""
    pipelines = list(_alive)
    for pipeline in pipelines:
        pipeline.cancel()
    end = time.monotonic() + 5
    while time.monotonic() < end and any(stage[-1] for p in pipelines for stage in p.statistics()):
        time.sleep(0.001)
    for pipeline in pipelines:
        pipeline.close()
