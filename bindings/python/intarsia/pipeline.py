"""Pipelines: frames go through stages that work at the same time.

builder = intarsia.PipelineBuilder()
builder.add("decode", decode, inputs=["jpeg"], outputs=["image"])
builder.add("classify", intarsia.load("resnet.so"), devices={"cpu": "cpu:1"})
with builder.start() as pipeline:
    for frame in pipeline.run_all({"jpeg": path.read_bytes()} for path in paths):
        print(frame.number, frame.outputs["scores"].argmax())
"""

from __future__ import annotations

import atexit
import operator
import os
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any, Literal, NoReturn, TypeAlias

from . import _intarsia
from .errors import Error, InvalidArgumentError, error_of
from .feeder import Feeder
from .frames import Frame, FrameInputs, FrameStatistics, ReplicaStatistics, StageStatistics
from .kept_objects import KeptObjects
from .program import OnDeviceLost, Program, is_lost_an_error
from .stage_function import Raised, make_call
from .values import from_output, to_value
from .words import in_python

_FRAME, _NONE, _ENDED = 0, 1, 2
_MOST_SECONDS = 1_000_000_000
_SLICE_NS = 100_000_000  # unit of waiting, so that Ctrl-C works

# Policies for a frame that comes to a full queue: wait for room; drop the frame that has waited longest; the
# same, in a queue of one.
Queue: TypeAlias = Literal["block", "drop_oldest", "latest"]
_QUEUES = {None: 0, "block": 1, "drop_oldest": 2, "latest": 3}


class Pipeline:
    """A running pipeline, made by `PipelineBuilder.start`. Any thread may push and pop. A `with` block closes
    it at its end."""

    def __init__(self, pipeline: _intarsia.Pipeline, raised: Raised):
        self._pipeline: _intarsia.Pipeline | None = pipeline
        self._raised = raised
        self._last_statistics: list[StageStatistics] = []
        self._last_frame_statistics: FrameStatistics | None = None
        self._users = KeptObjects()
        self.inputs, self.outputs = pipeline.ports()

    def push(
        self,
        inputs: Mapping[str, object],
        timeout: float | None = None,
        copy: bool = True,
        *,
        deadline: float | None = None,
        timestamp: int = 0,
        user: Any = None,
    ) -> int | None:
        """Pushes a frame; waits for room, at most `timeout` seconds (None: forever). Returns its number,
        counted from 0, or None if the queue stayed full. With copy=False arrays are used in place: do not
        change them until the frame has left. `deadline`, `timestamp`, `user`: as in `FrameInputs`.

        Raises Error if an input is missing or unknown, or the pipeline is finished or cancelled.
        """
        return self._push(FrameInputs(inputs, deadline, timestamp, user), timeout, copy)

    def _push(self, frame: FrameInputs, timeout: float | None, copy: bool) -> int | None:
        values = [(name, to_value(value)) for name, value in frame.inputs.items()]
        owner = None if copy else values
        deadline = _nanoseconds(frame.deadline, "deadline")
        with self._users.keep(frame.user) as user:
            for wait in _slices(timeout):
                number = self._open().push(
                    values, wait, owner, deadline, operator.index(frame.timestamp), user.number
                )
                if number is not None:
                    user.is_taken = True
                    return number
        return None

    def try_push(self, inputs: Mapping[str, object], copy: bool = True) -> int | None:
        """Pushes like `push`, without waiting."""
        return self.push(inputs, 0, copy)

    def pop(self, timeout: float | None = None, outputs: Sequence[str] | None = None) -> Frame | None:
        """Pops the next frame, with these outputs (None: all); waits for it at most `timeout` seconds (None:
        forever). Returns None if none came in time, or after the last frame (`ended`). A frame that failed
        has an `error`; the next pop goes on with the frame after it."""
        wanted = list(self.outputs if outputs is None else outputs)
        for wait in _slices(timeout):
            state, number, pushed, done, timestamp, user, failed, values = self._open().pop(wanted, wait)
            if state == _ENDED:
                self._has_ended = True
                return None
            if state == _FRAME:
                error = None if failed is None else self._error_of(number, *failed)
                arrays = {name: from_output(value) for name, value in values.items()}
                self._last_popped = number
                return Frame(number, arrays, max(done - pushed, 0), error, timestamp, self._users.take(user))
        return None

    def try_pop(self, outputs: Sequence[str] | None = None) -> Frame | None:
        """Pops like `pop`, without waiting."""
        return self.pop(0, outputs)

    def _error_of(self, frame: int, kind: int, message: str) -> Error:
        error = error_of(kind, message)
        error.__cause__ = self._raised.take(frame, message)
        return error

    _has_ended = False
    _last_fed = _last_popped = -1  # numbers of the last frames that run_all pushed and pop returned

    @property
    def ended(self) -> bool:
        """Whether a pop has found that there are no more frames."""
        return self._has_ended

    def run_all(
        self,
        frames: Iterable[Mapping[str, object] | FrameInputs],
        progress: bool | None = None,
        copy: bool = True,
    ) -> Iterator[Frame]:
        """Pushes all frames and yields each as soon as it leaves, in order, including those with an `error`,
        which may be that they were dropped. Push no other frames meanwhile. `progress`: whether to show a bar
        on standard error (None: if that is a terminal).

        A separate thread iterates over `frames`, so that a source that waits, like a camera, does not delay
        finished frames. What the source raises is raised here, after the frames before it. A loop that ends
        early stops the source, and closes it if it is a generator; the next `run_all` drops the frames that
        are inside then."""
        from tqdm import tqdm  # type: ignore[import-untyped]

        total = len(frames) if isinstance(frames, Sized) else None
        with tqdm(total=total, unit="frame", disable=None if progress is None else not progress) as bar:
            for frame in self._run_all(frames, copy):
                bar.update()
                yield frame

    def _run_all(self, frames: Iterable[Mapping[str, object] | FrameInputs], copy: bool) -> Iterator[Frame]:
        while self._last_popped < self._last_fed and self.pop() is not None:
            pass
        with Feeder(frames, lambda inputs: self._feed(inputs, copy)) as feeder:
            for _ in feeder:
                frame = self.pop()
                if frame is None:
                    return
                yield frame

    def _feed(self, inputs: Mapping[str, object] | FrameInputs, copy: bool) -> int | None:
        """Pushes a frame. Returns None if there was no room within a slice of time."""
        frame = inputs if isinstance(inputs, FrameInputs) else FrameInputs(inputs)
        number = self._push(frame, _SLICE_NS / 1e9, copy)
        if number is not None:
            self._last_fed = number
        return number

    def finish(self) -> None:
        """Declares that no more frames will be pushed; those inside go on, and after the last one `pop`
        returns None."""
        self._open().finish()

    def cancel(self) -> None:
        """Drops the frames inside and returns at once; a running stage goes on to the end of its frame."""
        self._open().cancel()

    @property
    def statistics(self) -> list[StageStatistics]:
        """Statistics of each stage, in order; of a closed pipeline, those at its closing."""
        if self._pipeline is None:
            return self._last_statistics
        return [StageStatistics._of(entry) for entry in self._pipeline.statistics()]

    @property
    def frame_statistics(self) -> FrameStatistics:
        """Statistics of all frames; of a closed pipeline, those at its closing."""
        if self._last_frame_statistics is not None:
            return self._last_frame_statistics
        return FrameStatistics._of(self._open().frame_statistics())

    @property
    def replicas(self) -> dict[str, list[ReplicaStatistics]]:
        """Statistics of the replicas of each stage, by its name.

        A replica whose device is lost goes out of service, and so does one that runs out of memory or fails
        twice in a row while another is in service; another replica runs its frame again. It is recreated and
        tried again after 0.1 s, and after each failed try with twice the delay, at most 10 s. If no replica
        is in service, frames fail at once."""
        return {
            stage.name: [
                ReplicaStatistics(*entry[:4], *(in_python(text) or None for text in entry[4:]))
                for entry in entries
            ]
            for stage, entries in zip(self.statistics, self._open().replicas())
        }

    def close(self) -> None:
        """Cancels, and frees the stages' threads and memory as soon as stages have finished the frames they
        are running. Arrays of frames that have left stay valid; later calls are errors."""
        if self._pipeline is None:
            return
        self.cancel()
        self._last_statistics = self.statistics
        self._last_frame_statistics = self.frame_statistics
        self._pipeline = None
        self._users = KeptObjects()

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
    """Parts of a pipeline: stages, in an order in which values flow forward, and connections."""

    def __init__(self, path: str | os.PathLike[str] | None = None):
        """`path`: a JSON file (docs/pipelines.md) with stages and connections to start with."""
        self._builder = _intarsia.PipelineBuilder()
        self._raised = Raised()
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
        on_device_lost: OnDeviceLost = "alternative",
        retry: bool = True,
        queue: Queue | None = None,
        scatter: Sequence[str] = (),
        gather: bool = False,
    ) -> PipelineBuilder:
        """Adds a stage. A Program brings its inputs and outputs; `devices`, `threads` and `on_device_lost`
        are those of `Program.bind`, `function` None is its only one. Bind each stage to its own cores
        (`devices={"cpu": "cpu:1"}`), or they compete.

        Any other callable gets its `inputs` as positional arrays, which it must not change, and returns its
        output, or a tuple or dict of several; what it raises is the cause of the frame's error. `threads`
        threads call it at once (0: one), which are pinned to `cores` ("0-1"); with retry=False none calls it
        again for a frame for which another failed (`Pipeline.replicas`). Threads share Python's lock: code
        that should run in parallel must release it, as numpy does in large operations. A callable that raises
        `DroppedError` drops the frame.

        `queue`: policy for a frame that comes to the full queue before the stage (None: as for the pipeline):
        "block": it waits for room; "drop_oldest": it replaces the frame that has waited longest; "latest":
        the same, in a queue of one.

        `scatter`: outputs that consist of zero or more items of a frame, one per row (axis 0, of size 1 in an
        item). Stages that read items run once per item, and so do those that read their outputs, until one
        has gather=True, which gets all rows in one array (if there are no items, of shape [0] and dtype
        float32 unless known better), or the pipeline ends, whose outputs have all rows.
        """
        if isinstance(what, Program):
            self._builder.add_program(
                stage,
                what._open(),
                function or "",
                list((devices or {}).items()),
                threads,
                is_lost_an_error(on_device_lost),
            )
        else:
            call = make_call(what, stage, list(outputs), self._raised)
            self._builder.add_function(
                stage, list(inputs), list(outputs), call, cores or "", max(threads, 1), retry
            )
        if isinstance(scatter, str):
            raise InvalidArgumentError(f"scatter='{scatter}': want a list of outputs, ['{scatter}']")
        self._builder.set_options(stage, _queue_number(queue), list(scatter), gather)
        return self

    def add_stages(self, program: Program, function: str | None = None) -> PipelineBuilder:
        """Adds the stages that a function (None: the only one) was compiled with (`objective="throughput"`)
        as "stage0", "stage1", ..., each on the executors that it was compiled for; a function without stages
        becomes one stage."""
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
        """Adds another session to a stage that is a program; both share its frames, which keep their order.
        It may be of another `program` with the same inputs and outputs, compiled for a different device."""
        bindings = list((devices or {}).items())
        if program is None:
            self._builder.add_replica(stage, bindings, threads)
        else:
            self._builder.add_replica_program(stage, program._open(), function or "", bindings, threads)
        return self

    def connect(self, source: str, target: str) -> PipelineBuilder:
        """Connects "STAGE.OUTPUT" to "STAGE.INPUT". Ports that are not connected when the pipeline starts are
        connected by name."""
        self._builder.connect(*_port(source), *_port(target))
        return self

    def input(self, name: str, *targets: str) -> PipelineBuilder:
        """Adds an input of the pipeline and connects it to each "STAGE.INPUT"."""
        for target in targets:
            self._builder.connect("", name, *_port(target))
        return self

    def output(self, name: str, source: str) -> PipelineBuilder:
        """Adds an output of the pipeline and connects "STAGE.OUTPUT" to it."""
        self._builder.connect(*_port(source), "", name)
        return self

    def start(
        self,
        depth: int | None = None,
        timeout: float | None = None,
        deadline: float | None = None,
        queue: Queue | None = None,
        trace: Callable[[str, int, int, int, int], None] | None = None,
        trace_steps: Callable[[str, int, int, int, int, str, str, str], None] | None = None,
    ) -> Pipeline:
        """Connects by name what is not connected yet, and starts the stages' threads; the builder is then
        empty.

        `depth`: frames that may wait before each stage, and to be popped (None: 2, or as the file says).
        `timeout`: seconds from a frame's push after which `pop` returns it as an error. `deadline`: seconds
        from a frame's push after which stages do not start on it: it is dropped. `queue`: policy of the queue
        at the end, and of stages without their own (`add`). `trace(stage, replica, frame, begin_ns, end_ns)`
        is called after each stage of each frame; `trace_steps(stage, replica, frame, begin_ns, end_ns, name,
        kind, device)` after each region, copy and kernel of a stage's session (as in `Session.set_trace`),
        which costs the sessions time.

        Raises Error if a port is connected twice, does not exist or has another type, or connections form a
        cycle.
        """
        if depth is not None and depth < 1:
            raise InvalidArgumentError(f"depth {depth}: a queue holds at least one frame")
        self._builder.connect_by_name()
        pipeline = self._builder.start(
            depth or 0,
            _nanoseconds(timeout, "timeout"),
            _nanoseconds(deadline, "deadline"),
            _queue_number(queue),
            trace,
            trace_steps,
        )
        _alive.add(pipeline)
        raised, self._raised = self._raised, Raised()
        return Pipeline(pipeline, raised)


def _queue_number(queue: str | None) -> int:
    if queue not in _QUEUES:
        raise InvalidArgumentError(f"queue={queue!r}: want 'block', 'drop_oldest' or 'latest'")
    return _QUEUES[queue]


def _nanoseconds(seconds: float | None, what: str) -> int:
    """Converts seconds to nanoseconds; None to 0."""
    if seconds is None:
        return 0
    if not 0 <= seconds <= _MOST_SECONDS:
        raise InvalidArgumentError(f"{what}={seconds}: want 0 (none) to {_MOST_SECONDS} seconds")
    return round(seconds * 1e9)


def _port(text: str) -> tuple[str, str]:
    stage, dot, port = text.partition(".")
    if not (stage and dot and port):
        raise InvalidArgumentError(f"'{text}': want \"STAGE.PORT\"")
    return stage, port


def _slices(timeout: float | None) -> Iterator[int]:
    """Yields nanoseconds to wait, in slices, until the timeout is over."""
    if timeout is None:
        while True:
            yield _SLICE_NS
    end = time.monotonic_ns() + round(timeout * 1e9)
    while True:
        left = max(end - time.monotonic_ns(), 0)
        yield min(left, _SLICE_NS)
        if left <= _SLICE_NS:
            return


_alive: weakref.WeakSet[_intarsia.Pipeline] = weakref.WeakSet()


def _after_fork() -> None:
    """Forgets the pipelines in a child process, which has none of its parent's threads and never frees what
    they held."""
    _alive.clear()
    _intarsia.expect_leaks()


os.register_at_fork(after_in_child=_after_fork)


@atexit.register
def _end_all() -> None:
    """Ends all pipelines: their threads must not return to an interpreter that has ended, nor keep its
    objects."""
    pipelines = list(_alive)
    for pipeline in pipelines:
        pipeline.cancel()
    end = time.monotonic() + 5
    while time.monotonic() < end and any(stage[-1] for p in pipelines for stage in p.statistics()):
        time.sleep(0.001)
    for pipeline in pipelines:
        pipeline.close()
