#!/usr/bin/env python3
"""Writes the TensorFlow test models: SavedModels and frozen graphs, with inputs and TensorFlow's outputs for them.

    build/venv/bin/python scripts/make_tensorflow_models.py [NAME ...] [--folder FOLDER]

NAME/ is a SavedModel, NAME.pb a frozen graph, NAME.so the operator library that a model needs. NAME.inputs.npz and
NAME.expected.npz hold `SIGNATURE/INPUT` and `SIGNATURE/OUTPUT`; a frozen graph has one signature, `main`, whose inputs
are its placeholders and whose outputs are the nodes that nothing reads.

Weights are random, from a fixed seed, and calibrated as in make_models.py. A model is only written if other inputs give
clearly different outputs, and if inputs that differ in the last digits give the same integers and nearly the same floats:
else two correct runtimes could differ. NAME.json says how the model was made; one that still matches is not made again.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import importlib
import importlib.metadata
import json
import multiprocessing
import os
import pathlib
import shutil
import sys
import time

import numpy as np

SEED = 20
MIN_CHANGE = 0.05  # of an output's size (RMS): the least change by other inputs
LAST_DIGITS = 1e-6  # relative change of float inputs that ...
MAX_CHANGE = 1e-4  # ... changes float outputs by less than this part of the largest
SUFFIXES = ("", ".pb", ".so", ".inputs.npz", ".expected.npz")
CUSTOM_OP = pathlib.Path(__file__).resolve().parent.parent / "tests/conformance/tensorflow_custom_op.cc"

# Name -> builder, the slowest first.
NETWORKS = {
    **dict.fromkeys(
        ("inceptionv3", "densenet121", "resnet50", "efficientnetb0", "mobilenetv2"), "build_classifier"
    ),
    "fifty_islands": "build_fifty_islands",
    **dict.fromkeys(
        ("keras_lstm", "keras_lstm_steps", "keras_gru", "keras_gru_steps", "keras_bidirectional"),
        "build_recurrent",
    ),
    **{
        name: f"build_{name}"
        for name in (
            "detector_head",
            "dynamic_rnn",
            "spectral",
            "unique_shapes",
            "ragged_sparse",
            "two_signatures",
            "stateful",
        )
    },
}
SPECIAL = ("jpeg_classifier", "text_classifier", "text_table", "custom_op", "frozen", "frozen_v1")
BUILDERS = {name: ("tensorflow_networks", function) for name, function in NETWORKS.items()}
BUILDERS |= {name: ("tensorflow_special_models", f"build_{name}") for name in SPECIAL}


# Running a model with TensorFlow.


def open_saved_model(path):
    """Returns run(signature, inputs) -> {output: array}."""
    import tensorflow as tf

    loaded = tf.saved_model.load(str(path))

    def run(signature, inputs):
        outputs = loaded.signatures[signature](**{name: tf.constant(value) for name, value in inputs.items()})
        return {name: output.numpy() for name, output in outputs.items()}

    return run


def open_frozen_graph(path):
    """The same for a frozen graph; the outputs are those that no node reads."""
    import tensorflow as tf

    graph_def = tf.compat.v1.GraphDef.FromString(path.read_bytes())
    read = {name.split(":")[0].lstrip("^") for node in graph_def.node for name in node.input}
    outputs = [node.name for node in graph_def.node if node.name not in read and node.op != "NoOp"]
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_def, name="")

    def run(_, inputs):
        with tf.compat.v1.Session(graph=graph) as session:
            values = session.run(
                [f"{name}:0" for name in outputs], {f"{name}:0": value for name, value in inputs.items()}
            )
        return dict(zip(outputs, values, strict=True))

    return run


def open_model(path):
    return open_saved_model(path) if path.is_dir() else open_frozen_graph(path)


def count_operators(path):
    """{operator: count} in the graph and its functions, the most frequent first."""
    from tensorflow.core.framework import graph_pb2
    from tensorflow.core.protobuf import saved_model_pb2

    if path.is_dir():
        graph = (
            saved_model_pb2.SavedModel.FromString((path / "saved_model.pb").read_bytes())
            .meta_graphs[0]
            .graph_def
        )
    else:
        graph = graph_pb2.GraphDef.FromString(path.read_bytes())
    nodes = [*graph.node, *(node for function in graph.library.function for node in function.node_def)]
    return dict(collections.Counter(node.op for node in nodes).most_common())


# Checking and writing.


def blur(random, inputs):
    """The inputs with other last digits of floats."""

    def change(value):
        return (
            (value * (1 + LAST_DIGITS * random.standard_normal(value.shape))).astype(value.dtype)
            if value.dtype.kind == "f"
            else value
        )

    return {name: change(value) for name, value in inputs.items()}


def check_dependence(outputs, others):
    """The smallest relative change of a float output by other inputs; raises RuntimeError if it is too small."""
    least = np.inf
    for name, value in outputs.items():
        if value.dtype.kind == "f" and value.shape == others[name].shape:
            change = float(np.sqrt(np.mean((value - others[name]) ** 2) / np.mean(value**2)))
            least = min(least, change)
            if not change > MIN_CHANGE:
                raise RuntimeError(
                    f"output {name} hardly depends on the inputs: other ones change it by {change:.1%}"
                )
    return least


def check_stability(outputs, blurred):
    """The largest relative change of a float output by the inputs' last digits; raises RuntimeError if it is too large."""
    most = 0.0
    for name, value in outputs.items():
        if value.shape != blurred[name].shape or (value.dtype.kind != "f" and (value != blurred[name]).any()):
            raise RuntimeError(f"output {name} depends on the last digits of the inputs")
        if value.dtype.kind == "f":
            if not np.isfinite(value).all():
                raise RuntimeError(f"output {name} is not finite")
            change = float(np.abs(value - blurred[name]).max(initial=0) / np.abs(value).max(initial=1e-30))
            most = max(most, change)
            if change > MAX_CHANGE:
                raise RuntimeError(f"the last digits of the inputs change output {name} by {change:.0e}")
    return most


def run_signatures(name, path, draws):
    """(inputs, outputs) of all signatures as `SIGNATURE/NAME`, and what the checks found."""
    run = open_model(path)
    inputs, expected, facts = {}, {}, {}
    for signature, draw in draws.items():
        random = np.random.default_rng(SEED)
        given, others = draw(random), draw(random)
        outputs = run(signature, given)
        facts[signature] = {
            "least_change_by_other_inputs": check_dependence(outputs, run(signature, others)),
            "most_change_by_last_digits": check_stability(outputs, run(signature, blur(random, given))),
        }
        inputs |= {f"{signature}/{name}": value for name, value in given.items()}
        expected |= {f"{signature}/{name}": as_plain(value) for name, value in outputs.items()}
    return inputs, expected, facts


def as_plain(array):
    """Strings as fixed-width bytes, which a file can hold without pickling."""
    return array.astype("S") if array.dtype.kind == "O" else array


def products(folder, name):
    return [path for suffix in SUFFIXES if (path := folder / f"{name}{suffix}").exists()]


def remove_products(folder, name):
    (folder / f"{name}.json").unlink(missing_ok=True)
    for path in products(folder, name):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def write_model(name, folder):
    """Builds, runs and checks one model, in a worker process. Returns what NAME.json says."""
    with open(folder / f"{name}.log", "wb") as log:  # TensorFlow prints a lot on stderr
        os.dup2(log.fileno(), sys.stderr.fileno())
    import keras

    keras.backend.clear_session()
    keras.utils.set_random_seed(SEED)
    remove_products(folder, name)
    module, function = BUILDERS[name]
    path = folder / (f"{name}.pb" if name.startswith("frozen") else name)
    draws = getattr(importlib.import_module(module), function)(path)
    inputs, expected, checks = run_signatures(name, path, draws)
    np.savez(folder / f"{name}.inputs.npz", **inputs)
    np.savez(folder / f"{name}.expected.npz", **expected)
    facts = {
        "recipe": recipe_digest(),
        "sha256": products_digest(folder, name),
        "bytes": sum(file.stat().st_size for file in product_files(folder, name)),
        "signatures": checks,
        "operators": count_operators(path),
    }
    (folder / f"{name}.json").write_text(json.dumps(facts, indent=1) + "\n")
    (folder / f"{name}.log").unlink()
    return facts


def product_files(folder, name):
    for path in products(folder, name):
        yield from sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]


def products_digest(folder, name):
    digest = hashlib.sha256()
    for file in product_files(folder, name):
        digest.update(str(file.relative_to(folder)).encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def recipe_digest():
    """Changes when these scripts, or a package used to make the models, change."""
    versions = [importlib.metadata.version(name) for name in ("tensorflow-cpu", "keras", "numpy")]
    here = pathlib.Path(__file__).resolve().parent
    scripts = [here / "make_models.py", *sorted(here.glob("*tensorflow*.py")), CUSTOM_OP]
    return hashlib.sha256(
        b"".join(path.read_bytes() for path in scripts) + " ".join(versions).encode()
    ).hexdigest()


def is_valid(name, folder):
    """Whether the model exists, undamaged, and was made by exactly this recipe."""
    try:
        facts = json.loads((folder / f"{name}.json").read_text())
        return facts["recipe"] == recipe_digest() and facts["sha256"] == products_digest(folder, name)
    except (OSError, ValueError, KeyError):
        return False


def make_models(names, folder):
    """Makes what does not exist yet, two at a time, with one line of progress each."""
    folder.mkdir(parents=True, exist_ok=True)
    os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", "KERAS_BACKEND": "tensorflow"}
    start = time.monotonic()
    # Spawned, because TensorFlow does not survive a fork; a worker makes several models, as importing it takes seconds.
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        running = {}
        for name in names:
            if is_valid(name, folder):
                print(f"{name}: up to date", flush=True)
            else:
                running[pool.submit(write_model, name, folder)] = name
        for future in concurrent.futures.as_completed(running):
            name = running[future]
            try:
                facts = future.result()
            except Exception as failure:
                pool.shutdown(wait=False, cancel_futures=True)
                log = folder / f"{name}.log"
                raise RuntimeError(f"{name}: {failure} (the libraries' output is in {log})") from failure
            print(
                f"{name}: {facts['bytes'] / 1e6:.1f} MB, {sum(facts['operators'].values())} nodes, {time.monotonic() - start:.0f} s",
                flush=True,
            )


def main():
    build = pathlib.Path(__file__).resolve().parent.parent / "build"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: all of {', '.join(BUILDERS)}")
    parser.add_argument(
        "--folder",
        type=pathlib.Path,
        default=build / "models/tensorflow",
        help="default: build/models/tensorflow",
    )
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(BUILDERS):
        parser.error(f"no such model: {', '.join(sorted(unknown))}")
    try:
        make_models(arguments.names or list(BUILDERS), arguments.folder)
    except Exception as failure:
        sys.exit(f"error: {failure}")


if __name__ == "__main__":
    main()
