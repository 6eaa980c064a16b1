"""Conversion of Python values to arguments of a run and back. Element types are the numbers of ONNX
TensorProto.DataType."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _intarsia
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from .program import Argument

Array = npt.NDArray[Any]

DTYPE_NAMES = {
    0: "undefined",
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    8: "string",
    9: "bool",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
    14: "complex64",
    15: "complex128",
    16: "bfloat16",
    17: "float8_e4m3fn",
    18: "float8_e4m3fnuz",
    19: "float8_e5m2",
    20: "float8_e5m2fnuz",
    21: "uint4",
    22: "int4",
    23: "float4_e2m1fn",
    24: "float8_e8m0fnu",
    25: "uint2",
    26: "int2",
}
_NUMBERS = {name: number for number, name in DTYPE_NAMES.items()}
_PACKED_BITS = {"uint4": 4, "int4": 4, "float4_e2m1fn": 4, "uint2": 2, "int2": 2}
_STRING = 8


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Returns the numpy dtype of a name. Types that numpy lacks come from ml_dtypes, or else are unsigned
    integers that hold their bits."""
    try:
        return np.dtype(name)
    except TypeError:
        pass
    try:
        import ml_dtypes

        found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
        return found
    except (ImportError, AttributeError):
        return np.dtype("uint16" if name == "bfloat16" else "uint8")


def _from_dlpack(value: Any) -> Array:
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, ValueError) as error:
        of = f"{type(value).__module__}.{type(value).__qualname__}"
        raise InvalidArgumentError(
            f"a {of} cannot be read by way of DLPack ({error}): want a tensor in the processor's memory, "
            "without gradients, of a dtype that numpy has"
        ) from error


def _to_array(value: Any) -> Array:
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "__dlpack__") and not hasattr(value, "__array_interface__"):
        return _from_dlpack(value)
    return np.asarray(value)


@lru_cache(maxsize=64)
def _element_type(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Returns the number of a dtype, 0 if arrays of it cannot be passed, and the bits of an element that is
    smaller than a byte, else 0. Kept, as numpy makes names anew each time."""
    return _NUMBERS.get(dtype.name, 0), _PACKED_BITS.get(dtype.name, 0)


def _pack(array: Array, bits: int) -> Array:
    """Packs elements smaller than a byte, the first one in the lowest bits."""
    per_byte = 8 // bits
    codes = array.reshape(-1).view(np.uint8) & ((1 << bits) - 1)
    codes = np.pad(codes, (0, -len(codes) % per_byte)).reshape(-1, per_byte)
    packed: Array = np.bitwise_or.reduce(codes << (np.arange(per_byte, dtype=np.uint8) * bits), axis=1)
    return packed.astype(np.uint8)


def _unpack(data: Array, bits: int, count: int, signed: bool) -> Array:
    shifts = np.arange(8 // bits, dtype=np.uint8) * bits
    codes = ((data[:, None] >> shifts) & ((1 << bits) - 1)).reshape(-1)[:count]
    if signed:
        codes = (codes.astype(np.int8) ^ (1 << (bits - 1))) - (1 << (bits - 1))
    return codes


def _strings(array: Array) -> _intarsia.Value:
    texts = [t if isinstance(t, bytes) else str(t).encode() for t in array.reshape(-1).tolist()]
    return _intarsia.strings(list(array.shape), texts)


def to_value(value: Any, argument: Argument | None = None) -> _intarsia.Value:
    """Converts an array to a tensor, a list to a sequence, None or a value to an optional, a dict to a
    map."""
    kind = argument.kind if argument is not None else "tensor"
    if kind == "optional":
        return _intarsia.items(2, [] if value is None else [to_value(value)])
    if kind == "map" or isinstance(value, dict):
        return _intarsia.items(3, [to_value(list(value.keys())), to_value(list(value.values()))])
    if kind == "sequence" or (isinstance(value, list) and value and isinstance(value[0], np.ndarray)):
        return _intarsia.items(1, [to_value(item) for item in value])
    array = _to_array(value)
    if array.dtype.kind in "SUO":
        return _strings(array)
    number, packed_bits = _element_type(array.dtype)
    if number == 0:
        raise InvalidArgumentError(f"arrays of dtype {array.dtype} cannot be passed")
    shape = list(array.shape)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    array = np.ascontiguousarray(array)
    data = _pack(array, packed_bits) if packed_bits else array.reshape(-1).view(np.uint8)
    return _intarsia.tensor(number, shape, data)


def to_buffer(name: str, array: Any) -> _intarsia.Value:
    """Converts an array to the buffer of an output, which a run fills."""
    fits = isinstance(array, np.ndarray) and array.flags.c_contiguous and array.flags.writeable
    number, packed_bits = _element_type(array.dtype) if fits and array.dtype.isnative else (0, 0)
    if number in (0, _STRING) or packed_bits:
        raise InvalidArgumentError(
            f"the buffer of output '{name}': want a writable numpy array of numbers in C order, each in whole bytes"
        )
    return _intarsia.tensor(number, list(array.shape), array.reshape(-1).view(np.uint8))


def from_output(result: tuple[Any, ...]) -> Any:
    """Returns an array over the output's memory, a list for a sequence, None or the content for an optional,
    or a dict for a map."""
    kind, dtype, shape, payload = result
    if kind == 1:
        return [from_output(item) for item in payload]
    if kind == 2:
        return from_output(payload[0]) if payload else None
    if kind == 3:
        keys, values = (from_output(item) for item in payload)
        return dict(zip(keys.tolist(), values.tolist(), strict=True))
    if dtype == _STRING:
        texts = [text.decode(errors="surrogateescape") for text in payload]
        array = np.empty(len(texts), dtype=object)
        array[:] = texts
        return array.reshape(shape)
    name = DTYPE_NAMES[dtype]
    target = numpy_dtype(name)
    if name in _PACKED_BITS:
        codes = _unpack(payload, _PACKED_BITS[name], int(np.prod(shape)), name.startswith("int"))
        return (codes.view(target) if name.startswith("float") else codes.astype(target)).reshape(shape)
    return payload.view(target).reshape(shape)
