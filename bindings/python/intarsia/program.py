"""Programs and sessions: load, bind, run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from . import _intarsia
from .errors import InvalidArgumentError
from .values import DTYPE_NAMES, from_output, to_value

_KINDS = {0: "tensor", 1: "sequence", 2: "optional", 3: "map", 4: "opaque"}


@dataclass(frozen=True)
class Argument:
    """An input or output. `shape` is None while not even the rank is known; -1 is a size known only after a run."""

    name: str
    kind: str
    dtype: str
    shape: tuple[int, ...] | None


@dataclass(frozen=True)
class Alternative:
    """A way to run a function. Number 0 is the one that was chosen when the model was compiled; others do without a library
    or a device that is missing. `measured_ns`: nanoseconds of a run on the compiling machine, None if not measured.
    `reason`: why those before it cannot run here, None for number 0."""

    number: int
    targets: str
    measured_ns: int | None
    reason: str | None


@dataclass(frozen=True)
class CopyCounts:
    """Copies to and from the memory of a device since this process made it, of all sessions that use it: from the host's
    memory (constants once, inputs in every run), to it, and directly from another device's."""

    uploads: int
    uploaded_bytes: int
    downloads: int
    downloaded_bytes: int
    direct: int
    direct_bytes: int


@dataclass(frozen=True)
class ProfileEntry:
    """What takes time in a run: a "kernel", an "operator" of a framework, a "region" whose backend does not tell its parts,
    or a "copy" between devices. None: not known, or there is none.

    `time_ns` is of one run; `nodes` are (name, operator) of the model; `shape` and `dtype` are its output's; `flops` are those
    of its products as they are defined, a multiply and an add counted as two; `bytes` are read and written, each once."""

    kind: str
    name: str
    target: str
    time_ns: int
    nodes: list[tuple[str, str]]
    dtype: str | None
    shape: tuple[int, ...] | None
    weights_shape: tuple[int, ...] | None
    flops: int | None
    bytes: int | None
    algorithm: str | None


@dataclass(frozen=True)
class Profile:
    """What the time of a run goes to. Times are nanoseconds, means over the faster half of `runs` runs; `entries` begin with
    the one that takes most."""

    runs: int
    run_ns: int
    entries: list[ProfileEntry]


def _profile_entry(entry: tuple) -> ProfileEntry:
    kind, name, target, time_ns, nodes, dtype, shape, weights, flops, size, algorithm = entry
    return ProfileEntry(
        kind,
        name,
        target,
        time_ns,
        nodes,
        DTYPE_NAMES[dtype] if dtype else None,
        None if shape is None else tuple(shape),
        tuple(weights) or None,
        flops or None,
        size or None,
        algorithm or None,
    )


def _argument(entry: tuple) -> Argument:
    name, kind, dtype, shape = entry
    return Argument(name, _KINDS[kind], DTYPE_NAMES[dtype], None if shape is None else tuple(shape))


class Signatures:
    """The functions of a program, with their arguments, and its slots."""

    def __init__(self, functions: list[tuple], slots: list[str]):
        self.slots = slots
        self.functions = [
            (name, [_argument(a) for a in inputs], [_argument(a) for a in outputs])
            for name, inputs, outputs in functions
        ]

    def find(self, function: str | None) -> tuple[str, list[Argument], list[Argument]]:
        """Name, inputs and outputs of a function (None: the first)."""
        for entry in self.functions:
            if function is None or entry[0] == function:
                return entry
        raise InvalidArgumentError(
            f"the program has no function '{function}'; it has {[f[0] for f in self.functions]}"
        )


class Session:
    """All state of runs: buffers and threads. One run at a time; make one per thread with `Program.bind`."""

    def __init__(self, session: _intarsia.Session, signatures: Signatures):
        self._session = session
        self._signatures = signatures  # not the program, which keeps sessions: no reference cycles

    def run(
        self, inputs: Mapping[str, object], function: str | None = None, outputs: Sequence[str] | None = None
    ) -> dict:
        """Runs a function (None: the only one) on named inputs; returns the named outputs (None: all) as arrays.

        Raises Error when an input is missing, unknown, or of the wrong dtype or shape, when a step fails, and when another
        thread is using the session.
        """
        _, _, known_outputs = self._signatures.find(function)
        values = self._to_values(inputs, function)
        wanted = list(outputs) if outputs is not None else [argument.name for argument in known_outputs]
        results = self._session.run(function or "", values, wanted)
        return {name: from_output(result) for name, result in results.items()}

    def profile(self, inputs: Mapping[str, object], function: str | None = None, runs: int = 0) -> Profile:
        """Runs a function (None: the only one) on named inputs `runs` times (0: as many as fit into a second, 5 to 200) and
        tells what the time goes to. Frameworks run their regions again for their own profiles.

        Raises Error as `run` does.
        """
        count, run_ns, entries = self._session.profile(
            function or "", self._to_values(inputs, function), runs
        )
        return Profile(count, run_ns, [_profile_entry(entry) for entry in entries])

    def alternative(self, function: str | None = None) -> Alternative:
        """What runs as a function (None: the first), and why not what was chosen when the model was compiled."""
        names = [entry[0] for entry in self._signatures.functions]
        number, targets, measured_ns, reason = self._session.alternative(
            names.index(self._signatures.find(function)[0])
        )
        return Alternative(number, targets, measured_ns or None, reason or None)

    def copy_counts(self, slot: str) -> CopyCounts:
        """Copies to and from the memory that a slot's device works in, by all sessions of this process.

        Raises Error when the program has no such slot, or the session no device for it.
        """
        if slot not in self._signatures.slots:
            raise InvalidArgumentError(f"the program has no slot '{slot}'; it has {self._signatures.slots}")
        return CopyCounts(*self._session.copy_counts(self._signatures.slots.index(slot)))

    def _to_values(self, inputs: Mapping[str, object], function: str | None) -> list[tuple]:
        kinds = {argument.name: argument for argument in self._signatures.find(function)[1]}
        return [(name, to_value(value, kinds.get(name))) for name, value in inputs.items()]

    def set_dump(self, dump: Callable[[str, np.ndarray], None] | None) -> None:
        """Calls dump(name, value) within each run for every value that passes between regions, right after it was produced, with
        a copy of it. None turns it off. What it raises is raised by the run's call after the run."""
        self._session.set_dump(dump and (lambda name, value: dump(name, from_output(value))))

    def set_trace(self, trace: Callable[[str, str, str, int, int], None] | None) -> None:
        """Calls trace(name, kind, device, begin_ns, end_ns) within each run after each region, copy ("between devices") and
        kernel, where devices overlap from several threads. None turns it off."""
        self._session.set_trace(trace)


class Program:
    """A program file, loaded. Immutable: any number of sessions and threads may use it."""

    def __init__(self, path: str | os.PathLike):
        self._program = _intarsia.Program(os.fspath(path))
        self._signatures = Signatures(self._program.functions(), self._program.slots())
        self._idle: list[Session] = []  # of finished calls

    def signature(self, function: str | None = None) -> tuple[str, list[Argument], list[Argument]]:
        """Name, inputs and outputs of a function (None: the first)."""
        return self._signatures.find(function)

    @property
    def functions(self) -> list[str]:
        return [entry[0] for entry in self._signatures.functions]

    @property
    def slots(self) -> list[str]:
        """Names of the devices' places, which `bind` gives devices to."""
        return list(self._signatures.slots)

    @property
    def inputs(self) -> list[Argument]:
        return self.signature()[1]

    @property
    def outputs(self) -> list[Argument]:
        return self.signature()[2]

    def bind(self, devices: Mapping[str, str] | None = None, threads: int = 0) -> Session:
        """A session with slots bound to devices (`{"accel": "sim:1"}`; the rest as compiled). threads 0: as
        compiled. Sessions on the same cores share their threads; one that exists before os.fork() may run in the child."""
        return Session(self._program.bind(list((devices or {}).items()), threads), self._signatures)

    def __call__(self, **inputs: object):
        """Runs the only function. One output comes alone, several as a dict.

        Any number of threads may call at once: each call uses one of the program's own sessions, of which there are
        as many as there ever were concurrent calls, each with its buffers and threads.
        """
        try:
            session = self._idle.pop()
        except IndexError:
            session = self.bind()
        try:
            results = session.run(inputs)
        finally:
            self._idle.append(session)
        return next(iter(results.values())) if len(results) == 1 else results

    def verify(self) -> None:
        """Compares all constants with their digests, which loading does not do. Raises Error on damage."""
        self._program.verify()

    def __str__(self) -> str:
        return self._program.text()


def load(path: str | os.PathLike) -> Program:
    """Opens and checks a program file. Raises Error if it is damaged or was compiled for another machine."""
    return Program(path)
