"""Frames of a pipeline, and statistics of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .errors import Error, InvalidArgumentError


@dataclass(frozen=True)
class Frame:
    """A frame that has left its pipeline, in the order of the pushes.

    `number` counts from 0. `latency_ns`: nanoseconds from its push to the end of its last stage. `error`:
    None if it worked, else the error it ended with (a DroppedError if it was dropped), whose `__cause__` is
    what a callable raised, with its traceback; `outputs` is then empty. `timestamp` and `user` are those of
    its push."""

    number: int
    outputs: dict[str, Any] = field(default_factory=dict)
    latency_ns: int = 0
    error: Error | None = None
    timestamp: int = 0
    user: Any = None

    def __repr__(self) -> str:
        what = f"error {str(self.error)!r}" if self.error else f"outputs {', '.join(self.outputs)}"
        return f"<intarsia.Frame {self.number}: {what}>"


@dataclass(frozen=True)
class FrameInputs:
    """Inputs and options of a frame to push. Stages do not start on it later than `deadline` seconds after
    its push: it is dropped (None: the pipeline's deadline). `timestamp`, an integer in any unit, and `user`,
    any object, come back with the frame."""

    inputs: Mapping[str, object]
    deadline: float | None = None
    timestamp: int = 0
    user: Any = None


@dataclass(frozen=True)
class TimeBucket:
    """Number of times (`count`) that were at least `from_ns` and less than `to_ns` nanoseconds."""

    from_ns: int
    to_ns: int
    count: int


@dataclass(frozen=True)
class TimeHistogram:
    """Histogram of times: the `buckets` that are not empty, in order; four per doubling from 1 us on."""

    buckets: tuple[TimeBucket, ...] = ()

    @staticmethod
    def _of(entries: Iterable[Sequence[int]]) -> TimeHistogram:
        return TimeHistogram(tuple(TimeBucket(*entry) for entry in entries))

    @property
    def count(self) -> int:
        """Sum of all buckets."""
        return sum(bucket.count for bucket in self.buckets)

    def quantile_ns(self, part: float) -> int | None:
        """Returns the nanoseconds that this part of the times (0.99: all but one in a hundred) does not
        exceed, at most 25% too many; None if there are no times."""
        if not 0 <= part <= 1:
            raise InvalidArgumentError(f"the part {part} of the times: want 0 to 1")
        left = part * self.count
        for bucket in self.buckets:
            left -= bucket.count
            if left <= 0:
                return bucket.to_ns
        return None


@dataclass(frozen=True)
class FrameStatistics:
    """Counts of a pipeline's frames since it started: those `pushed`, and of the popped ones those that
    worked (`done`), had `errors`, were `dropped` or `timed_out`. `latency`: times of frames that worked, from
    the push to the end of the last stage."""

    pushed: int
    done: int
    errors: int
    dropped: int
    timed_out: int
    latency: TimeHistogram

    @staticmethod
    def _of(entry: Sequence[Any]) -> FrameStatistics:
        *counts, latency = entry
        values = [*counts, TimeHistogram._of(latency)]
        return FrameStatistics(*values)


@dataclass(frozen=True)
class StageStatistics:
    """Statistics of a stage since its pipeline started; times in nanoseconds, of all its replicas.

    `frames` that it ran, and how many of them were `errors`. `busy_ns`: time of running, `waiting_ns`: of
    waiting for frames, `blocked_ns`: of waiting for room behind it. `queued`: frames that wait before it now,
    `running`: replicas that have a frame now. `dropped`: frames dropped by the queue before it, before it for
    their deadline, or by it. `run_times`: of its runs, one per item of a frame if it runs for items.
    `wait_times`: in the queue before it, of the frames that it took."""

    name: str
    replicas: int
    frames: int
    errors: int
    busy_ns: int
    waiting_ns: int
    blocked_ns: int
    queued: int
    most_queued: int
    dropped: int
    run_times: TimeHistogram
    wait_times: TimeHistogram
    running: int

    @staticmethod
    def _of(entry: Sequence[Any]) -> StageStatistics:
        *counts, run_times, wait_times, running = entry
        values = [*counts, TimeHistogram._of(run_times), TimeHistogram._of(wait_times), running]
        return StageStatistics(*values)


@dataclass(frozen=True)
class ReplicaStatistics:
    """Statistics of a replica of a stage since its pipeline started.

    `frames` that it ran, how many of them were `errors`, and how many another replica had failed (`repeats`).
    `reason`: why it is out of service, or last was; None if it never was. `note`: how it runs if not as
    compiled ("runs alternative 1 on ..."), else None."""

    in_service: bool
    frames: int
    errors: int
    repeats: int
    reason: str | None
    note: str | None
