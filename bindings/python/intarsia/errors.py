"""What goes wrong, by kind. Every class is an `intarsia.Error`, and also the Python exception that callers already catch."""


class Error(RuntimeError):
    """What every call raises. The message is one line: what, where, got, want, remedy."""


class InvalidArgumentError(Error, ValueError):
    """An invalid argument from the caller: an option, an input's dtype or shape, an unknown name."""


class NotFoundError(Error, FileNotFoundError):
    """A file, a library or a device does not exist."""


class UnsupportedError(Error, NotImplementedError):
    """Valid, but nothing here can do it: an operator that no backend runs, a program for another CPU."""


class CorruptError(Error, ValueError):
    """A model or program whose bytes make no sense, or that changed while it was in use."""


class VersionError(Error):
    """A file or library that is too old or too new."""


class OutOfMemoryError(Error, MemoryError):
    """The host or a device has no memory left."""


class DeviceLostError(Error):
    """A device that worked before no longer does."""


class BusyError(Error):
    """In use by another thread."""


class CancelledError(Error):
    """Ended at the caller's request."""


class InternalError(Error):
    """A bug of Intarsia's: please report it."""


class IoError(Error, OSError):
    """The system refuses to read, write or start something."""


class TimedOutError(Error, TimeoutError):
    """Not done within the time that the caller set."""


# By the numbers of INTARSIA_ERROR_... in intarsia.h; a number that this list lacks is an Error.
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
}


def error_of(kind: int, message: str) -> Error:
    """An error of the libraries, by its kind, in Python's words."""
    from .words import in_python  # which needs these classes

    return BY_KIND.get(kind, Error)(in_python(message))
