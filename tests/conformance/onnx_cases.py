"""The backend cases of the onnx package: loading, running with us and with ONNX Runtime, comparing, lists of exceptions."""

import copy
import dataclasses
import functools
import os
import pathlib
import pickle
import warnings
from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests

import intarsia

HERE = pathlib.Path(__file__).parent
KINDS = ("node", "simple", "pytorch-operator", "pytorch-converted")
# Two implementations draw different numbers: only dtype and shape can agree.
RANDOM_OPS = {
    "Bernoulli",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
}
# Zero in exact arithmetic is about 1e-7 in the stored outputs.
LEAST_ATOL = 1e-6
# Expected values are rounded after every step, ours once at the end: two units in the last place.
ROUNDING = {"float16": 2.0**-9, "bfloat16": 2.0**-6}


@dataclass(frozen=True)
class Case:
    name: str
    kind: str
    model: onnx.ModelProto
    data_sets: list  # of (inputs, expected outputs), in the order of the graph
    rtol: float
    atol: float


def _python_value(value):
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, onnx.SequenceProto):
        return numpy_helper.to_list(value)
    if isinstance(value, onnx.OptionalProto):
        return numpy_helper.to_optional(value)
    return [_python_value(item) for item in value] if isinstance(value, list) else value


def _read_value(path, type_proto):
    message = {
        "tensor_type": onnx.TensorProto,
        "sequence_type": onnx.SequenceProto,
        "optional_type": onnx.OptionalProto,
    }
    value = message[type_proto.WhichOneof("value")]()
    value.ParseFromString(path.read_bytes())
    return _python_value(value)


def _read_data_sets(folder, graph):
    def read(data, kind, infos):
        paths = [data / f"{kind}_{i}.pb" for i in range(len(infos))]
        return [_read_value(path, info.type) for path, info in zip(paths, infos) if path.exists()]

    return [
        (read(data, "input", graph.input), read(data, "output", graph.output))
        for data in sorted(pathlib.Path(folder).glob("test_data_set_*"))
    ]


def _load_case(test):
    model = test.model or onnx.load(pathlib.Path(test.model_dir) / "model.onnx")
    if test.data_sets is None:
        data_sets = _read_data_sets(test.model_dir, model.graph)
    else:
        data_sets = [
            ([_python_value(v) for v in inputs], [_python_value(v) for v in outputs])
            for inputs, outputs in test.data_sets
        ]
    return Case(test.name, test.kind, model, data_sets, test.rtol, test.atol)


def _make_cases():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [_load_case(test) for kind in KINDS for test in load_model_tests(kind=kind)]


@functools.cache
def load_cases():
    """All cases. The onnx package computes them for ten seconds, so the first process keeps them for the others."""
    kept = HERE.parents[1] / f"build/onnx_cases_{onnx.__version__}.pickle"
    if not kept.exists() or kept.stat().st_mtime < pathlib.Path(__file__).stat().st_mtime:
        partial = kept.with_suffix(f".{os.getpid()}")
        partial.write_bytes(pickle.dumps(_make_cases()))
        partial.replace(kept)
    return pickle.loads(kept.read_bytes())


def read_exceptions(file_name):
    """`name: reason` lines as {name: reason}."""
    lines = (HERE / file_name).read_text().splitlines()
    return dict(line.split(": ", 1) for line in lines if line and not line.startswith("#"))


def draws_randomly(case):
    nodes = [*case.model.graph.node, *(node for function in case.model.functions for node in function.node)]
    drops = any(node.op_type == "Dropout" and len(node.input) > 2 and node.input[2] for node in nodes)
    return drops or any(node.op_type in RANDOM_OPS for node in nodes)


def _difference(got, want, case, values):
    """Empty when equal, else the first difference."""
    if isinstance(want, (list, tuple)):
        if not isinstance(got, (list, tuple)) or len(got) != len(want):
            return f"{got!r:.80} instead of a sequence of {len(want)}"
        return next(filter(None, (_difference(g, w, case, values) for g, w in zip(got, want))), "")
    if want is None or isinstance(want, dict) or got is None:
        return "" if got == want else f"{got!r:.80} instead of {want!r:.80}"
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        return f"shape {got.shape} instead of {want.shape}"
    if want.dtype.kind in "OSU":
        return "" if np.array_equal(got.astype(str), want.astype(str)) else "strings differ"
    if got.dtype != want.dtype:
        return f"dtype {got.dtype} instead of {want.dtype}"
    if not values:
        return ""
    rtol = max(case.rtol, ROUNDING.get(want.dtype.name, 0))
    if want.dtype.kind not in "iubc":
        got, want = got.astype(np.float64), want.astype(np.float64)
    near = (
        np.isclose(got, want, rtol=rtol, atol=max(case.atol, LEAST_ATOL), equal_nan=True)
        if want.dtype.kind in "fc"
        else got == want
    )
    if near.all():
        return ""
    at = tuple(int(i) for i in np.argwhere(~near)[0])
    return f"{int((~near).sum())} of {want.size} differ, first {got[at]} instead of {want[at]} at {at}"


def compare(case, run):
    """Runs every data set: `run` takes {input: value} and returns the outputs in order."""
    values = not draws_randomly(case)
    for inputs, expected in case.data_sets:
        outputs = run({info.name: value for info, value in zip(case.model.graph.input, inputs)})
        if len(outputs) < len(expected):
            return f"{len(outputs)} outputs instead of {len(expected)}"
        for info, got, want in zip(case.model.graph.output, outputs, expected):
            if text := _difference(got, want, case, values):
                return f"output {info.name}: {text}"
    return ""


def _open_shapes(case):
    """The shapes of the first data set for the inputs whose sizes the model leaves open."""

    def is_open(info):
        return info.type.HasField("tensor_type") and any(
            not d.HasField("dim_value") for d in info.type.tensor_type.shape.dim
        )

    inputs = case.data_sets[0][0]
    return {
        info.name: np.shape(value) for info, value in zip(case.model.graph.input, inputs) if is_open(info)
    }


def with_constants(case, constant):
    """The case with inputs as initializers, of the first data set. `constant`: {operator: numbers of its inputs}."""
    model, inputs = copy.deepcopy(case.model), case.data_sets[0][0]
    names = {
        name
        for node in model.graph.node
        for i in constant.get(node.op_type, ())
        for name in node.input[i : i + 1]
    }
    given = {info.name: value for info, value in zip(model.graph.input, inputs)}
    for name in names & given.keys():
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(given[name]), name))
    kept = [info for info in case.model.graph.input if info.name not in names]
    del model.graph.input[:]
    model.graph.input.extend(kept)
    data_sets = [([given[info.name] for info in kept], case.data_sets[0][1])]
    return dataclasses.replace(case, model=model, data_sets=data_sets)


def run_ours(case, folder, **options):
    """Empty when the case passes, else why not."""
    path = folder / "model.onnx"
    path.write_bytes(case.model.SerializeToString())
    try:
        session = intarsia.compile(path, shapes=_open_shapes(case), tune="off", **options).load().bind()
        return compare(case, lambda inputs: list(session.run(inputs).values()))
    except intarsia.Error as error:
        return str(error)


def run_onnxruntime(case):
    """Empty when ONNX Runtime passes the case, else why not."""
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    settings.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(
            case.model.SerializeToString(), settings, providers=["CPUExecutionProvider"]
        )
        return compare(case, lambda inputs: session.run(None, inputs))
    except Exception as error:  # ONNX Runtime has a type per status, with no common base
        return f"{type(error).__name__}: {error}".splitlines()[0]
