"""Compiled programs as ops of TensorFlow: in eager code, tf.function, Keras, SavedModels, tf.data, and the
graphs and sessions of TensorFlow 1.

    import intarsia.tensorflow
    addone = intarsia.tensorflow.Module("addone.so")["addone"]
    addone(tf.constant([10.1, 20.0, 11.2, -30.3]))

The op is named `Intarsia`. Any process whose Python has this package installed has it as soon as it imports
TensorFlow, without importing this module: to run a SavedModel takes no code of ours. Tensors are handed over
without copies; strings are copied. docs/tensorflow_op.md has the op's inputs and attributes.
"""

from __future__ import annotations

import ctypes
import os
import sysconfig
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import tensorflow as tf  # type: ignore[import-untyped]

from .compiler import rewrite
from .errors import InvalidArgumentError, NotFoundError
from .program import Argument, Program, load
from .reports import Report
from .size_expressions import evaluate_size

__all__ = ["Copies", "Function", "Layer", "Module", "call", "convert", "copies"]


@cache
def _library_path() -> str:
    folders = (Path(tf.__file__).parents[1], Path(sysconfig.get_path("purelib")), Path(__file__).parents[1])
    for folder in folders:
        path = folder / "tensorflow-plugins" / "libintarsia_tensorflow.so"
        if path.is_file():
            return str(path)
    raise NotFoundError(
        f"no tensorflow-plugins/libintarsia_tensorflow.so in {', '.join(map(str, folders))}: install the "
        "package intarsia again, for this Python"
    )


@cache
def _ops() -> Any:
    return tf.load_op_library(_library_path())


def _run(
    artifact: Any,
    function: str,
    inputs: Sequence[Any],
    output_types: Sequence[tf.DType],
    threads: int,
    bindings: Mapping[str, str],
) -> list[Any]:
    made: list[Any] = _ops().intarsia(
        artifact=artifact,
        inputs=list(inputs),
        Tout=list(output_types),
        function=function,
        threads=threads,
        bindings=[f"{slot}={device}" for slot, device in bindings.items()],
        name=function if function.isidentifier() else None,
    )
    return made


def _dtype(argument: Argument) -> tf.DType:
    try:
        return tf.as_dtype(argument.dtype)
    except TypeError:
        raise InvalidArgumentError(
            f"'{argument.name}' is a {argument.kind} of {argument.dtype}, which TensorFlow's tensors are not"
        ) from None


def _spec(argument: Argument) -> tf.TensorSpec:
    shape = None if argument.shape is None else [None if size < 0 else size for size in argument.shape]
    return tf.TensorSpec(shape, _dtype(argument), argument.name)


def _ensure_shapes(
    inputs: Sequence[Argument], outputs: Sequence[Argument], given: Sequence[Any], made: Sequence[Any]
) -> list[Any]:
    """Tells a graph what the artifact knows about the outputs' shapes; eager tensors have theirs."""
    if tf.executing_eagerly():
        return list(made)
    sizes = _known_sizes(inputs, [tensor.shape for tensor in given])
    return [
        tf.ensure_shape(tensor, _shape_of(output, sizes))
        for output, tensor in zip(outputs, made, strict=True)
    ]


def _known_sizes(inputs: Sequence[Argument], shapes: Sequence[tf.TensorShape]) -> dict[str, int]:
    """Returns the named sizes that the shapes of the inputs tell."""
    sizes = {}
    for argument, shape in zip(inputs, shapes, strict=True):
        if argument.shape is None or argument.sizes is None or shape.rank != len(argument.shape):
            continue
        for name, size in zip(argument.sizes, shape, strict=True):
            if name is not None and size is not None and name.isidentifier():
                sizes[name] = size
    return sizes


def _shape_of(argument: Argument, sizes: Mapping[str, int]) -> tf.TensorShape:
    if argument.shape is None:
        return tf.TensorShape(None)
    named = argument.sizes or (None,) * len(argument.shape)
    return tf.TensorShape(
        [
            evaluate_size(name, sizes) if size < 0 and name is not None else None if size < 0 else size
            for size, name in zip(argument.shape, named, strict=True)
        ]
    )


class _File(tf.saved_model.experimental.TrackableResource):  # type: ignore[misc]
    """A program's file, as an asset. `model.export` of Keras keeps of a layer, besides variables, only what is
    a resource; this one is no more than its asset."""

    def __init__(self, asset: tf.saved_model.Asset):
        super().__init__()
        self._track_trackable(asset, "asset")

    def _create_resource(self) -> Any:
        return tf.constant(0)

    def _initialize(self) -> None:
        pass

    def _destroy_resource(self) -> None:
        pass


class Function:
    """A function of a `Module`. Call it on tensors, or on what TensorFlow makes tensors of, in the order of
    its inputs or by their names. It returns a tensor, or a dict of tensors by name if it has several outputs.

    `inputs` and `outputs` describe its arguments; `module` is what it is from."""

    def __init__(self, module: Module, name: str, inputs: list[Argument], outputs: list[Argument]):
        self.name = name
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.module = module

    @tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator]
    def __call__(self, *args: Any, **named: Any) -> Any:
        made = self._call(self._tensors(args, named))
        return made if len(made) > 1 else next(iter(made.values()))

    @property
    def signature(self) -> Any:
        """A tf.function of the function's own shapes and dtypes, which returns a dict; traced once. For
        `tf.saved_model.save(module, folder, signatures={"serving_default": function.signature})`."""

        @tf.function(  # type: ignore[untyped-decorator]
            input_signature=[_spec(argument) for argument in self.inputs], autograph=False
        )
        def run(*tensors: Any) -> dict[str, Any]:
            return self._call(tensors)

        return run

    def __repr__(self) -> str:
        sides = [", ".join(map(str, side)) for side in (self.inputs, self.outputs)]
        return f"<intarsia.tensorflow.Function {self.name}: ({sides[0]}) -> ({sides[1]})>"

    def _tensors(self, args: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        names = [argument.name for argument in self.inputs]
        given = dict(zip(names, args, strict=False))
        if len(args) > len(names) or set(named) != set(names) - set(given):
            got = [*(f"input {i}" for i in range(len(args))), *(f"'{name}'" for name in named)]
            raise InvalidArgumentError(
                f"function '{self.name}' got {', '.join(got) or 'no inputs'}; it takes {', '.join(names)}"
            )
        given.update(named)
        return [tf.convert_to_tensor(given[argument.name], _dtype(argument)) for argument in self.inputs]

    def _call(self, tensors: Sequence[Any]) -> dict[str, Any]:
        gradient = self.module.gradient_of(self)
        made = self._run(tensors) if gradient is None else _differentiable(self, gradient)(*tensors)
        return {output.name: tensor for output, tensor in zip(self.outputs, made, strict=True)}

    def _run(self, tensors: Sequence[Any]) -> list[Any]:
        made = self.module.run(self.name, tensors, [_dtype(output) for output in self.outputs])
        return _ensure_shapes(self.inputs, self.outputs, tensors, made)


def _differentiable(function: Function, gradient: Function) -> Any:
    """Returns the function with a compiled gradient (Module)."""
    names = [argument.name for argument in function.inputs]
    upstream_names = [argument.name for argument in gradient.inputs if argument.name not in names]
    wanted = [argument for argument in function.inputs if _dtype(argument).is_floating]
    if len(upstream_names) != len(function.outputs) or len(gradient.outputs) != len(wanted):
        raise InvalidArgumentError(
            f"{gradient} cannot be the gradient of {function}: want an input for each of its outputs, besides "
            "inputs with the names of its own, and an output for each of its floating-point inputs"
        )

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def run(*tensors: Any) -> tuple[list[Any], Any]:
        def differentiate(*upstream: Any) -> list[Any]:
            given = dict(zip([*names, *upstream_names], [*tensors, *upstream], strict=True))
            made = iter(gradient._run([given[argument.name] for argument in gradient.inputs]))
            return [next(made) if tensor.dtype.is_floating else None for tensor in tensors]

        return function._run(tensors), differentiate

    return run


class Module(tf.Module):  # type: ignore[misc]
    """A compiled program whose functions are ops: `Module("x.so")["addone"](a, b)`.

    `source`: the path of a program, which follows a SavedModel as an asset when an object that has this
    module as an attribute is saved; or the program's bytes, which become part of graphs and so reach remote
    workers that do not have the file. `threads`: the most that a run uses; 0: `TF_NUM_INTRAOP_THREADS`, or
    else all cores of the process. `bindings` assigns devices to the program's slots: `{"accel": "sim:1"}`.

    `gradient`: a function that computes the gradient of the program's other functions: one of the program, by
    name, or a `Function` of another module. Inputs with the names of the function's get what those got; the
    others are the gradients of its outputs, in their order. Its outputs are the gradients of the
    floating-point inputs, in their order. Without one, tf.GradientTape reports that the op has none.

    Raises intarsia.Error if the program is missing, damaged or was compiled for another machine, or has no
    such gradient.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | bytes,
        *,
        threads: int = 0,
        bindings: Mapping[str, str] | None = None,
        gradient: str | Function | None = None,
    ):
        super().__init__("intarsia")
        self._program: Program = load(source)
        self._threads = threads
        self._bindings = dict(bindings or {})
        self._gradient = self[gradient] if isinstance(gradient, str) else gradient
        if isinstance(source, bytes):
            self._text: str | bytes = source
            self._bytes = tf.constant(source)
        else:
            self._text = os.path.abspath(source)
            self._asset = tf.saved_model.Asset(self._text)
            self._file = _File(self._asset)

    @property
    def functions(self) -> list[str]:
        """Names of the program's functions."""
        return self._program.functions

    def __getitem__(self, function: str | None) -> Function:
        """Returns a function by name; None: the only one."""
        if function is None and len(self.functions) > 1:
            raise InvalidArgumentError(f"the program has the functions {', '.join(self.functions)}: name one")
        return Function(self, *self._program.signature(function))

    def gradient_of(self, function: Function) -> Function | None:
        """Returns the function that computes a function's gradient; None if there is none."""
        gradient = self._gradient
        is_its_own = gradient is not None and gradient.module is self and gradient.name == function.name
        return None if is_its_own else gradient

    def run(self, function: str, inputs: Sequence[Any], output_types: Sequence[tf.DType]) -> list[Any]:
        """Makes the op of a function on tensors of its dtypes; returns the outputs in their order."""
        return _run(self._artifact(), function, inputs, output_types, self._threads, self._bindings)

    def _artifact(self) -> Any:
        if not tf.executing_eagerly() and not tf.compat.v1.get_default_graph().building_function:
            return tf.constant(self._text)  # a graph of TensorFlow 1 cannot refer to tensors outside it
        return self._bytes if isinstance(self._text, bytes) else self._asset.asset_path


def call(
    lib_path: str | os.PathLike[str] | bytes,
    function_name: str | None,
    inputs: Any,
    output_shape: Any = None,
    output_dtype: Any = None,
) -> Any:
    """Runs a function (None: the only one) of a program in one call: `call("x.so", "addone", [a])`.

    `inputs`: a tensor, or a list of them in the order of the function's inputs. Returns a tensor, or a list
    of them where the function has several outputs. `output_dtype` and `output_shape` (of one output, or lists
    for several) say what the program has otherwise to be loaded for here: with them, only the process that
    runs the graph needs the file. Shapes may have None; a run with another shape is an error.
    """
    tensors = [tf.convert_to_tensor(tensor) for tensor in (inputs if isinstance(inputs, list) else [inputs])]
    if output_dtype is None:
        made = _call_described(Module(lib_path)[function_name], tensors)
    else:
        types = output_dtype if isinstance(output_dtype, list) else [output_dtype]
        text = lib_path if isinstance(lib_path, bytes) else os.fspath(lib_path)
        made = _run(tf.constant(text), function_name or "", tensors, [tf.as_dtype(t) for t in types], 0, {})
    if output_shape is not None:
        shapes = output_shape if isinstance(output_dtype, list) else [output_shape]
        made = [tf.ensure_shape(tensor, shape) for tensor, shape in zip(made, shapes, strict=True)]
    return made[0] if len(made) == 1 else made


def _call_described(function: Function, tensors: Sequence[Any]) -> list[Any]:
    made = function(*tensors)
    return list(made.values()) if isinstance(made, dict) else [made]


def convert(model: str | os.PathLike[str], output: str | os.PathLike[str], **options: Any) -> Report:
    """Rewrites a SavedModel into another, in which compiled parts run. The same as `intarsia.rewrite`, which
    has the options."""
    return rewrite(model, output, **options)


class Copies:
    """Tensors that ops copied in this process, and their bytes: strings, and outputs whose size only a run
    tells if their memory is not aligned to 64 bytes."""

    def __init__(self, tensors: int, bytes: int):
        self.tensors = tensors
        self.bytes = bytes

    def __repr__(self) -> str:
        return f"<intarsia.tensorflow.Copies: {self.tensors} tensors of {self.bytes} bytes>"


def copies() -> Copies:
    """Returns how much the ops of this process have copied."""
    count, size = ctypes.c_uint64(), ctypes.c_uint64()
    _ops()
    ctypes.CDLL(_library_path()).intarsia_tensorflow_copies(ctypes.byref(count), ctypes.byref(size))
    return Copies(count.value, size.value)


@tf.keras.utils.register_keras_serializable(package="intarsia")
class Layer(tf.keras.layers.Layer):  # type: ignore[misc]
    """A layer that runs a function (None: the only one) of a compiled program. It has no weights.

    Call it on a tensor, or on a list of tensors in the order of the function's inputs. It returns a tensor,
    or a dict of tensors by name if the function has several outputs. A saved model (`.keras`) contains the
    program; so does what `model.export` writes. `source`, `threads`, `bindings` and `gradient` (by name) are
    those of `Module`."""

    def __init__(
        self,
        source: str | os.PathLike[str] | bytes | None,
        function: str | None = None,
        *,
        threads: int = 0,
        bindings: Mapping[str, str] | None = None,
        gradient: str | None = None,
        **options: Any,
    ):
        described = options.pop("described", None)
        super().__init__(**options)
        self._function_name = function
        self._options: dict[str, Any] = {
            "threads": threads,
            "bindings": dict(bindings or {}),
            "gradient": gradient,
        }
        self._module: Module | None = None
        self._described = described
        if source is not None:
            self._open(source)
        self.built = True
        self.supports_jit = False  # XLA has no such op

    def call(self, inputs: Any) -> Any:
        if self._module is None:
            raise InvalidArgumentError("the layer has no program: load the whole model, or give `source`")
        return self._module[self._function_name](*_as_list(inputs))

    def compute_output_spec(self, inputs: Any) -> Any:
        """Returns what Keras knows of the outputs of inputs that it only describes."""
        sides = [[_argument(entry) for entry in side] for side in self._described]
        sizes = _known_sizes(sides[0], [tf.TensorShape(tensor.shape) for tensor in _as_list(inputs)])
        specs = {
            output.name: tf.keras.KerasTensor(_shape_of(output, sizes).as_list(), output.dtype)
            for output in sides[1]
        }
        return specs if len(specs) > 1 else next(iter(specs.values()))

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "source": None,
            "function": self._function_name,
            "described": self._described,
            **self._options,
        }

    def save_assets(self, folder: str) -> None:
        """Writes the program into a model that is being saved."""
        if self._module is None:
            raise InvalidArgumentError("the layer has no program to save")
        text = self._module._text
        Path(folder, "program.so").write_bytes(text if isinstance(text, bytes) else Path(text).read_bytes())

    def load_assets(self, folder: str) -> None:
        """Reads the program of a model that is being loaded."""
        self._open(Path(folder, "program.so").read_bytes())

    def _open(self, source: str | os.PathLike[str] | bytes) -> None:
        self._module = Module(source, **self._options)
        function = self._module[self._function_name]
        self._described = [
            [[a.name, a.kind, a.dtype, a.shape, a.sizes] for a in side]
            for side in (function.inputs, function.outputs)
        ]


def _argument(entry: Sequence[Any]) -> Argument:
    name, kind, dtype, shape, sizes = entry
    return Argument(name, kind, dtype, shape and tuple(shape), sizes and tuple(sizes))


def _as_list(inputs: Any) -> list[Any]:
    return list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
