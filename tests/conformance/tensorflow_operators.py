"""Single TensorFlow operators, each a frozen graph with inputs and TensorFlow's own outputs.

    python tensorflow_operators.py FOLDER              writes NAME.pb for every case and cases.npz with all inputs and outputs
    python tensorflow_operators.py FOLDER --graphs     writes NAME.pb alone

The tables are in tensorflow_elementwise.py, tensorflow_windows.py, tensorflow_products.py, tensorflow_arrays.py and
tensorflow_structures.py. They import no TensorFlow: a case is a builder that gets it as its first argument. Values come
from a generator seeded by the case's name.
"""

import dataclasses
import pathlib
import sys
import zlib
from collections.abc import Callable

import numpy as np


@dataclasses.dataclass(frozen=True)
class Case:
    name: str  # OPERATOR or OPERATOR.VARIANT
    build: Callable  # build(tf, **placeholders) -> tensors in any structure
    inputs: dict  # name of a placeholder -> array, or draw(random) -> array
    open: tuple = ()  # placeholders whose sizes the graph leaves open, each as `None`
    each: bool = False  # every output element is exact relative to itself, not only to the largest

    @property
    def operator(self):
        return self.name.split(".")[0]

    def draw_inputs(self):
        random = np.random.default_rng(zlib.crc32(self.name.encode()))
        return {name: drawn(random, value) for name, value in self.inputs.items()}


def drawn(random, value):
    return value(random) if callable(value) else value


def case(name, inputs, build, open=()):
    """build(tf, **placeholders)"""
    return Case(name, build, inputs, open)


def op(name, inputs, **arguments):
    """The raw operator that the name begins with. `arguments` are its attributes and constant inputs; draws among them
    get separate values."""

    def build(tf, **placeholders):
        random = np.random.default_rng(zlib.crc32(name.encode()) + 1)
        constants = {key: drawn(random, value) for key, value in arguments.items()}
        return getattr(tf.raw_ops, name.split(".")[0])(**placeholders, **constants)

    return Case(name, build, inputs)


def each_element(cases):
    return [dataclasses.replace(case, each=True) for case in cases]


# What inputs are drawn from.


def normal(*shape, dtype="float32"):
    return lambda random: random.standard_normal(shape).astype(dtype)


def uniform(low, high, *shape, dtype="float32"):
    return lambda random: random.uniform(low, high, shape).astype(dtype)


def integers(low, high, *shape, dtype="int32"):
    """low <= value < high"""
    return lambda random: random.integers(low, high, shape).astype(dtype)


def booleans(*shape, share=0.5):
    """True with probability `share`."""
    return lambda random: random.random(shape) < share


def array(values, dtype="float32"):
    return np.array(values, dtype)


def values_of(dtype, *shape):
    """Values that suit most operators: small integers of both signs, or normal floats."""
    if dtype == "bool":
        return booleans(*shape)
    if dtype.startswith(("int", "uint")):
        return integers(0 if dtype.startswith("uint") else -9, 10, *shape, dtype=dtype)
    return normal(*shape, dtype=dtype)


def load_cases():
    """All cases of the tables, by name."""
    import tensorflow_arrays
    import tensorflow_elementwise
    import tensorflow_products
    import tensorflow_structures
    import tensorflow_windows

    tables = (
        tensorflow_elementwise,
        tensorflow_windows,
        tensorflow_products,
        tensorflow_arrays,
        tensorflow_structures,
    )
    cases = [case for table in tables for case in table.CASES]
    by_name = {case.name: case for case in cases}
    assert len(by_name) == len(cases), sorted(
        {case.name for case in cases if sum(case.name == other.name for other in cases) > 1}
    )
    return by_name


# Writing.


def build_graph(tf, case, inputs):
    """The graph of a case, its outputs called output_0, output_1, ..."""
    graph = tf.Graph()
    with graph.as_default():

        def placeholder(name, value):
            shape = [None] * value.ndim if name in case.open else value.shape
            return tf.compat.v1.placeholder(
                tf.as_dtype(value.dtype if value.dtype.kind != "S" else "string"), shape, name
            )

        outputs = case.build(tf, **{name: placeholder(name, value) for name, value in inputs.items()})
        for i, output in enumerate(tf.nest.flatten(outputs)):
            tf.identity(output, name=f"output_{i}")
    return graph, [f"output_{i}" for i in range(i + 1)]


def run_graph(tf, graph, outputs, inputs):
    """TensorFlow's own kernels, without the rewrites of its optimizer."""
    off = tf.compat.v1.ConfigProto(intra_op_parallelism_threads=1)
    off.graph_options.rewrite_options.disable_meta_optimizer = True
    with tf.compat.v1.Session(graph=graph, config=off) as session:
        return session.run(
            [f"{name}:0" for name in outputs], {f"{name}:0": value for name, value in inputs.items()}
        )


def write_case(tf, case, folder, runs):
    """Writes NAME.pb; returns {NAME/in/..., NAME/out/...}, or nothing if it should not be run."""
    inputs = case.draw_inputs()
    graph, names = build_graph(tf, case, inputs)
    # Without what the outputs do not need: a graph's outputs are the nodes that nothing reads.
    pruned = tf.compat.v1.graph_util.extract_sub_graph(graph.as_graph_def(), names)
    (folder / f"{case.name}.pb").write_bytes(pruned.SerializeToString())
    if not runs:
        return {}
    outputs = run_graph(tf, graph, names, inputs)
    stored = {f"{case.name}/in/{name}": value for name, value in inputs.items()}
    plain = (value.astype("S") if value.dtype.kind == "O" else value for value in map(np.asarray, outputs))
    return stored | {f"{case.name}/out/{name}": value for name, value in zip(names, plain, strict=True)}


def read_values(folder):
    """{case: (inputs, outputs)}"""
    cases = {}
    with np.load(folder / "cases.npz") as file:
        for key in file:
            name, kind, value = key.split("/")
            cases.setdefault(name, ({}, {}))[kind == "out"][value] = file[key]
    return cases


def main():
    import os

    os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    import tensorflow as tf

    folder, runs = pathlib.Path(sys.argv[1]), "--graphs" not in sys.argv
    stored, faults = {}, []
    for case in load_cases().values():
        try:
            stored |= write_case(tf, case, folder, runs)
        except tf.errors.UnimplementedError as failure:  # by TensorFlow's kernels for this machine
            print(f"{case.name}: left out: {str(failure)[:80]}")
        except Exception as failure:
            faults.append(f"{case.name}: {type(failure).__name__}: {str(failure)[:400]}")
    if faults:
        sys.exit("\n".join(faults))
    if runs:
        np.savez(folder / "cases.npz", **stored)
    print(f"{len(load_cases())} cases")


if __name__ == "__main__":
    sys.modules["tensorflow_operators"] = sys.modules["__main__"]  # the tables import this file by its name
    main()
