"""Programs and sessions: load, bind, run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from . import _intarsia
from .errors import CorruptError, InvalidArgumentError
from .sources import IN_MEMORY, Bytes, Path, UnnamedFile
from .values import DTYPE_NAMES, Array, from_output, to_buffer, to_value
from .words import in_python

OnDeviceLost = Literal["alternative", "error"]
Outputs = Sequence[str] | Mapping[str, Array | None]
_KINDS = {0: "tensor", 1: "sequence", 2: "optional", 3: "map", 4: "opaque"}


@dataclass(frozen=True)
class Argument:
    """An input or output. `dtype` is the name of a dtype of numpy or of the package ml_dtypes, or "string".
    `shape` is None if not even the rank is known; -1 is a size that is open until a run, or known only after
    it. `sizes` has an expression for each size that is open until a run, such as "batch" or "past+1", and None
    for the others; `Program.open_sizes` has the names and ranges."""

    name: str
    kind: str
    dtype: str
    shape: tuple[int, ...] | None
    sizes: tuple[str | None, ...] | None = None

    def __str__(self) -> str:
        """Returns a text such as `image: float32[1, 3, 224, 224]`."""
        if self.kind != "tensor":
            return f"{self.name}: {self.kind}"
        if self.shape is None:
            return f"{self.name}: {self.dtype}[...]"
        named = self.sizes or (None,) * len(self.shape)
        sizes = (name or ("?" if n < 0 else str(n)) for n, name in zip(self.shape, named, strict=True))
        return f"{self.name}: {self.dtype}[{', '.join(sizes)}]"


@dataclass(frozen=True)
class Alternative:
    """A way to run a function. Number 0 is the one that was chosen when the model was compiled; others do
    without a library or a device that is missing or was lost. `measured_ns`: nanoseconds of a run on the
    compiling machine, None if not measured. `reason`: why earlier ones cannot run here, or no longer can;
    None for number 0."""

    number: int
    targets: str
    measured_ns: int | None
    reason: str | None


@dataclass(frozen=True)
class CopyCounts:
    """Copies to and from a device's memory since this process opened it, by all sessions that use it:
    `uploads` from host memory (constants once, inputs in every run), `downloads` to it, and `direct` ones
    from another device's memory."""

    uploads: int
    uploaded_bytes: int
    downloads: int
    downloaded_bytes: int
    direct: int
    direct_bytes: int


@dataclass(frozen=True)
class ProfileEntry:
    """Part of a run that takes time: a "kernel", an "operator" of a framework, a "region" whose backend does
    not report its parts, or a "copy" between devices. Fields are None if not known, or if there is none.

    `time_ns` is the time per run; `nodes` are (name, operator) of the model; `shape` and `dtype` are its
    output's; `flops` are those of its products by their definition, a multiply and an add counted as two;
    `bytes` are those read and written, each counted once."""

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
    """Breakdown of the time of a run. Times are in nanoseconds, means over the faster half of `runs` runs;
    `entries` start with the one that takes most."""

    runs: int
    run_ns: int
    entries: list[ProfileEntry]

    def __repr__(self) -> str:
        return f"<intarsia.Profile: {self.run_ns / 1e6:.3f} ms a run, {len(self.entries)} entries>"


def _profile_entry(entry: tuple[Any, ...]) -> ProfileEntry:
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


def is_lost_an_error(on_device_lost: OnDeviceLost) -> bool:
    """Converts `on_device_lost` to the form of the extension module."""
    if on_device_lost not in ("alternative", "error"):
        raise InvalidArgumentError(f"on_device_lost {on_device_lost!r}: want 'alternative' or 'error'")
    return on_device_lost == "error"


def _argument(entry: tuple[Any, ...]) -> Argument:
    name, kind, dtype, shape, sizes = entry
    if shape is None:
        return Argument(name, _KINDS[kind], DTYPE_NAMES[dtype], None)
    return Argument(name, _KINDS[kind], DTYPE_NAMES[dtype], tuple(shape), tuple(sizes))


class Signatures:
    """The functions of a program, with their arguments, and its slots."""

    def __init__(self, functions: list[tuple[Any, ...]], slots: list[str]):
        self.slots = slots
        self.functions = [
            (name, [_argument(a) for a in inputs], [_argument(a) for a in outputs])
            for name, inputs, outputs, _ in functions
        ]
        self.open_sizes = {
            function[0]: {name: (least, most) for name, least, most in function[3]} for function in functions
        }

    def find(self, function: str | None) -> tuple[str, list[Argument], list[Argument]]:
        """Returns name, inputs and outputs of a function (None: the first)."""
        for entry in self.functions:
            if function is None or entry[0] == function:
                return entry
        raise InvalidArgumentError(
            f"the program has no function '{function}'; it has {[f[0] for f in self.functions]}"
        )

    def __str__(self) -> str:
        """Returns a text such as `(x: float32[4]) -> (y: float32[4])`, or the names of several functions."""
        if len(self.functions) != 1:
            return ", ".join(entry[0] for entry in self.functions)
        sides = [", ".join(map(str, side)) for side in self.functions[0][1:]]
        return " -> ".join(f"({side})" for side in sides)


class Session:
    """Buffers and threads of runs, one run at a time. Make one per thread with `Program.bind`, or let the
    program do that (`Program.run`). A `with` block closes it at its end."""

    def __init__(self, session: _intarsia.Session, signatures: Signatures):
        self._session: _intarsia.Session | None = session
        self._signatures = signatures  # instead of the program, which keeps sessions: avoids reference cycles

    def run(
        self, inputs: Mapping[str, object], function: str | None = None, outputs: Outputs | None = None
    ) -> dict[str, Any]:
        """Runs a function (None: the only one) on named inputs; returns the named outputs (None: all) as
        arrays. `outputs` may map names to arrays of their dtype and shape, in C order, that the run fills and
        returns, or to None. These must not overlap inputs, unless `Program.bind` got `append_in_place`.

        Raises Error if an input is missing, unknown, or of the wrong dtype or shape, if an array for an output
        is, if a step fails, or if another thread is using the session.
        """
        session = self._open()
        _, _, known_outputs = self._signatures.find(function)
        values = self._to_values(inputs, function)
        names = [argument.name for argument in known_outputs] if outputs is None else outputs
        given: dict[str, Array | None] = dict(names) if isinstance(names, Mapping) else dict.fromkeys(names)
        buffers = {name: array for name, array in given.items() if array is not None}
        made = session.run(
            function or "",
            values,
            [name for name in given if name not in buffers],
            [(name, to_buffer(name, array)) for name, array in buffers.items()],
        )
        return {name: buffers[name] if name in buffers else from_output(made[name]) for name in given}

    def profile(self, inputs: Mapping[str, object], function: str | None = None, runs: int = 0) -> Profile:
        """Runs a function (None: the only one) on named inputs `runs` times (0: as many as fit into a second,
        5 to 200) and measures where the time goes. Frameworks run their regions again for their own profiles.

        Raises Error like `run`.
        """
        session = self._open()
        count, run_ns, entries = session.profile(function or "", self._to_values(inputs, function), runs)
        return Profile(count, run_ns, [_profile_entry(entry) for entry in entries])

    def alternative(self, function: str | None = None) -> Alternative:
        """Returns what runs as a function (None: the first), and why not what was chosen when the model was
        compiled."""
        names = [entry[0] for entry in self._signatures.functions]
        number, targets, measured_ns, reason = self._open().alternative(
            names.index(self._signatures.find(function)[0])
        )
        return Alternative(number, targets, measured_ns or None, in_python(reason) or None)

    def copy_counts(self, slot: str) -> CopyCounts:
        """Returns the copies to and from the memory that a slot's device works in, by all sessions of this
        process.

        Raises Error if the program has no such slot, or the session no device for it.
        """
        if slot not in self._signatures.slots:
            raise InvalidArgumentError(f"the program has no slot '{slot}'; it has {self._signatures.slots}")
        return CopyCounts(*self._open().copy_counts(self._signatures.slots.index(slot)))

    @property
    def arena_bytes(self) -> int:
        """The bytes of its working memory, on all its devices together. For open sizes it grows with the sizes
        of the runs, and never shrinks; where every size has a largest one, it is reserved for those. Arrays
        that runs return are not in it."""
        return self._open().arena_bytes()

    def set_dump(self, dump: Callable[[str, Any], object] | None) -> None:
        """Sets dump(name, value), which runs call with a copy of every value that passes between regions,
        right after it was produced. None turns it off. What it raises is raised by the run's call after the
        run."""
        self._open().set_dump(dump and (lambda name, value: dump(name, from_output(value))))

    def set_trace(self, trace: Callable[[str, str, str, int, int], object] | None) -> None:
        """Sets trace(name, kind, device, begin_ns, end_ns), which runs call after each region, copy (between
        devices) and kernel, from several threads where devices overlap. None turns it off. What it raises is
        raised by the run's call after the run."""
        self._open().set_trace(trace)

    def close(self) -> None:
        """Frees its buffers, after a run in another thread has ended. Arrays that runs returned stay valid;
        later calls are errors."""
        self._session = None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = " (closed)" if self._session is None else ""
        return f"<intarsia.Session: {self._signatures}{state}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Session has buffers and threads of this process: pickle its Program, and bind that where it is used"
        )

    def _open(self) -> _intarsia.Session:
        if self._session is None:
            raise InvalidArgumentError("the session is closed: make another with Program.bind")
        return self._session

    def _to_values(
        self, inputs: Mapping[str, object], function: str | None
    ) -> list[tuple[str, _intarsia.Value]]:
        kinds = {argument.name: argument for argument in self._signatures.find(function)[1]}
        return [(name, to_value(value, kinds.get(name))) for name, value in inputs.items()]


class Program:
    """A program, loaded from a file or from bytes. Immutable: any number of sessions and threads may use it.
    A `with` block closes it at its end.

    It pickles as what it was loaded from: a path, where the same program must be when it is unpickled, so
    that processes on one machine share the memory of its constants; or the bytes, which suit other machines
    (`load(path.read_bytes())`)."""

    def __init__(self, source: Path | Bytes | UnnamedFile):
        if isinstance(source, (bytes, bytearray, memoryview)):
            source = UnnamedFile.of_bytes(source)
        self._file = source if isinstance(source, UnnamedFile) else None
        self._path = source.path if isinstance(source, UnnamedFile) else os.path.abspath(source)
        given = source.path if isinstance(source, UnnamedFile) else os.fspath(source)
        self._program: _intarsia.Program | None = _intarsia.Program(given)
        self._footer = _read_footer(self._path)
        self._signatures = Signatures(self._program.functions(), self._program.slots())
        self._idle: list[Session] = []  # sessions of finished calls
        self._workers: dict[
            int, ThreadPoolExecutor
        ] = {}  # executors by process: a child of fork() has no threads of its parent

    def signature(self, function: str | None = None) -> tuple[str, list[Argument], list[Argument]]:
        """Returns name, inputs and outputs of a function (None: the first)."""
        return self._signatures.find(function)

    @property
    def path(self) -> str | None:
        """File that it was loaded from; None if it came from bytes, or was compiled and not saved."""
        return None if self._file is not None else self._path

    @property
    def functions(self) -> list[str]:
        return [entry[0] for entry in self._signatures.functions]

    @property
    def slots(self) -> list[str]:
        """Names of the slots that `bind` assigns devices to."""
        return list(self._signatures.slots)

    @property
    def inputs(self) -> list[Argument]:
        return self.signature()[1]

    @property
    def outputs(self) -> list[Argument]:
        return self.signature()[2]

    @property
    def open_sizes(self) -> dict[str, tuple[int, int]]:
        """The sizes that are open until a run, by name: the smallest and the largest that it may have."""
        return self._signatures.open_sizes[self.signature()[0]]

    def output_shapes(
        self, inputs: Mapping[str, Sequence[int]], function: str | None = None
    ) -> dict[str, tuple[int | None, ...] | None]:
        """Returns the shapes of all outputs of a function (None: the only one) for inputs of these shapes,
        without a run: `program.output_shapes({"x": (2, 3)})` gives, for example, `{"y": (2, 5)}`. A size is
        None if only a run tells it, and so is a shape whose rank only a run tells, or an output that is not a
        tensor. Inputs that are not tensors may be left out.

        Raises Error where a run would: an input is missing, unknown or of another rank, a size is out of its
        range, or sizes contradict each other. A run may still refuse sizes with which the model itself does
        not work.
        """
        given = [(name, [int(size) for size in shape]) for name, shape in inputs.items()]
        shapes = self._open().output_shapes(function or "", given)
        return {
            name: None if sizes is None else tuple(None if size < 0 else size for size in sizes)
            for name, sizes in shapes.items()
        }

    def bind(
        self,
        devices: Mapping[str, str] | None = None,
        threads: int = 0,
        *,
        on_device_lost: OnDeviceLost = "alternative",
        max_arena_bytes: int = 0,
        append_in_place: bool = False,
    ) -> Session:
        """Creates a session with slots bound to devices (`{"accel": "sim:1"}`; the rest as compiled). threads
        0: as compiled, at most one per core that this thread may use. Sessions on the same cores share their
        threads; a session that exists before os.fork() may run in the child.

        `on_device_lost`: if a device is lost during a run, "alternative" repeats the run, and does later
        ones, with the function's next alternative if it has one (`Session.alternative` tells which); "error"
        raises DeviceLostError.

        `max_arena_bytes`: the most bytes that values of open size may take in the memory of each device; 0: no
        limit. A run whose sizes need more raises OutOfMemoryError, and the session stays usable.

        `append_in_place`: whether the array for an output may begin at the address of an input that the output
        continues: the model makes it by a Concat whose first part is that input, as a decoder appends to its
        past. If all axes before that of the Concat have size 1 in the run, and our kernels make the output in
        the host's memory, the input's rows stay where they are, without a copy, and the run writes what
        follows them. Otherwise it computes the output elsewhere and copies it into the array at its end."""
        is_error = is_lost_an_error(on_device_lost)
        bindings = list((devices or {}).items())
        return Session(
            self._open().bind(bindings, threads, is_error, max_arena_bytes, append_in_place), self._signatures
        )

    def run(
        self, inputs: Mapping[str, object], function: str | None = None, outputs: Outputs | None = None
    ) -> dict[str, Any]:
        """Runs a function like `Session.run`.

        Any number of threads may call at once: each call uses one of the program's own sessions, or makes
        another. The program keeps as many as this process has cores.
        """
        self._open()
        try:
            session = self._idle.pop()
        except IndexError:
            session = self.bind()
        try:
            return session.run(inputs, function, outputs)
        finally:
            if len(self._idle) < len(os.sched_getaffinity(0)):
                self._idle.append(session)
            if self._program is None:  # closed in the meantime
                self._idle.clear()

    def __call__(self, **inputs: object) -> Any:
        """Runs the only function like `run`. Returns a single output as it is, several as a dict."""
        results = self.run(inputs)
        return next(iter(results.values())) if len(results) == 1 else results

    async def run_async(
        self, inputs: Mapping[str, object], function: str | None = None, outputs: Outputs | None = None
    ) -> dict[str, Any]:
        """Runs a function like `run`, in a thread of the program, while the event loop goes on.

        Any number of runs may be awaited at once: as many run at a time as this process has cores, the others
        wait their turn. Do not change inputs until the run is done. It may be cancelled at any time: a
        waiting run is dropped, a running one goes on to its end and its outputs are discarded.
        """
        import asyncio

        self._open()
        # Concurrent threads may each make an executor: one is kept, the others never get threads.
        workers = self._workers.get(os.getpid()) or self._workers.setdefault(
            os.getpid(), ThreadPoolExecutor(len(os.sched_getaffinity(0)))
        )
        run = asyncio.get_running_loop().run_in_executor(workers, self.run, inputs, function, outputs)
        return await run

    def verify(self) -> None:
        """Compares all constants with their digests, which loading does not do. Raises Error if one is
        damaged."""
        self._open().verify()

    def close(self) -> None:
        """Frees the program and its own sessions, after runs in other threads have ended. Sessions of `bind`
        and arrays that runs returned stay valid; later calls are errors."""
        self._program = self._file = None
        self._idle.clear()
        if workers := self._workers.get(os.getpid()):
            workers.shutdown(wait=False)

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __str__(self) -> str:
        """Returns the whole program as text, as `intarsia explain` prints it."""
        return self._open().text()

    def __repr__(self) -> str:
        state = " (closed)" if self._program is None else ""
        return f"<intarsia.Program {self.path or IN_MEMORY!r}: {self._signatures}{state}>"

    def __reduce__(self) -> tuple[Callable[..., Program], tuple[object, ...]]:
        self._open()
        return (load, (self._file.read(),)) if self._file else (_load_again, (self._path, self._footer))

    def _open(self) -> _intarsia.Program:
        if self._program is None:
            raise InvalidArgumentError("the program is closed: load it again")
        return self._program

    def _readable_path(self) -> str:
        self._open()
        return self._path


def _read_footer(path: str) -> bytes:
    """Returns the end of the file, which has the digest of the whole program (docs/format.md)."""
    size = 56
    with open(path, "rb") as file:
        file.seek(-size, os.SEEK_END)
        return file.read(size)


def _load_again(path: str, footer: bytes) -> Program:
    program = load(path)
    if program._footer != footer:
        raise CorruptError(f"program '{path}': another one than was pickled: pickle it again")
    return program


def load(source: Path | Bytes) -> Program:
    """Opens and checks a program, given the path of its file or its bytes. Raises Error if it is damaged or
    was compiled for another machine."""
    return Program(source)
