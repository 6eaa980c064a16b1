"""Errors by kind. Each class is an `intarsia.Error` and the Python exception that callers already catch."""


class Error(RuntimeError):
    """Base class of what all calls raise. The message is one line: what, where, got, want, remedy."""


class InvalidArgumentError(Error, ValueError):
    """An invalid argument from the caller: an option, an input's dtype or shape, an unknown name."""


class NotFoundError(Error, FileNotFoundError):
    """A file, a library or a device does not exist."""


class UnsupportedError(Error, NotImplementedError):
    """A valid request that nothing here can serve: an operator without a backend, another CPU's program."""


class CorruptError(Error, ValueError):
    """A model or program whose bytes make no sense, or that changed while it was in use."""


class VersionError(Error):
    """A file or library that is too old or too new."""


class OutOfMemoryError(Error, MemoryError):
    """The host or a device has no memory left."""


class DeviceLostError(Error):
    """A device failed after it had worked."""


class BusyError(Error):
    """An object is in use by another thread."""


class CancelledError(Error):
    """Work was stopped at the caller's request."""


class InternalError(Error):
    """A bug in Intarsia: please report it."""


class IoError(Error, OSError):
    """The system refuses to read, write or start something."""


class TimedOutError(Error, TimeoutError):
    """Work was not done within the timeout that the caller set."""


class DroppedError(Error):
    """A frame was dropped by a queue, for its deadline, or by a stage whose callable raised this."""


# Classes by the numbers of INTARSIA_ERROR_... in intarsia.h; a number that is missing here is an Error.
BY_KIND: dict[int, type[Error]] = {
    1: InvalidArgumentError,
    2: NotFoundError,
    3: UnsupportedError,
    4: CorruptError,
    5: VersionError,
    6: OutOfMemoryError,
    7: DeviceLostError,
    8: BusyError,
    9: CancelledError,
    10: InternalError,
    11: IoError,
    12: TimedOutError,
    13: DroppedError,
}


def error_of(kind: int, message: str) -> Error:
    """Returns an error of the libraries as an exception of its kind, in Python's words."""
    from .words import in_python  # imported here, since it needs these classes

    return BY_KIND.get(kind, Error)(in_python(message))
