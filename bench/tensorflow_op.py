"""The op `Intarsia` of TensorFlow: what a call costs, what nodes share, eight callers of one node, and models that are one op. Writes the
section "Programs as ops of TensorFlow" of docs/performance.md; prints one JSON object.

    build/venv/bin/python bench/tensorflow_op.py [--seconds S] [--rounds N] [--only PART ...]

On two cores of an idle machine. What is compared runs in turn. The document is written with default options only. Parts:

overhead    least time of a call beside that of tf.identity, in us: a node of a chain of 200, and eagerly the op and a function of a Module
sharing     processes with 0, 1 and 64 nodes of MobileNetV2, each run once: memory, threads above those of 0 nodes, mappings of the program
throughput  8 threads that call one node of MobileNetV2 for 2 threads against one that calls a node for 1 thread: runs a second by twice those
models      a Keras model of one layer, as a concrete function, against the same program called directly; TensorFlow's share of this is the
            time of a Keras model of the same inputs that returns them
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import os
import pathlib
import statistics
import sys
import time
import timeit
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import intarsia
import intarsia.tensorflow
import numpy as np
from measuring import BIN, OUT, ROOT, THREADS, Run, json_of, processor, replace_section, times_in_turn

import tensorflow as tf
from onnx import TensorProto, helper

v1 = tf.compat.v1
TITLE = "## Programs as ops of TensorFlow"
BATCHES = {"resnet50": (1, 3, 8, 17), "mobilenetv2": (1, 3, 8, 17), "bert_base": (1, 3, 8)}
CHAIN, EAGER_CALLS, CALLERS = 200, 500, 8  # eager calls are timed together


def compile_model(name: str) -> pathlib.Path:
    """A program of open batch."""
    model, program = ROOT / f"build/models/{name}.onnx", OUT / f"op_{name}.so"
    if not program.exists() or program.stat().st_mtime < model.stat().st_mtime:
        options = ["--fallback", "none", "--backends", "halide", "--json", "-q"]
        json_of(BIN / "intarsia", "compile", model, "-o", program, *options)
    return program


def compile_addone() -> pathlib.Path:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in "xy")
    one = helper.make_tensor("one", TensorProto.FLOAT, [], [1.0])
    graph = helper.make_graph([helper.make_node("Add", ["x", "one"], ["y"])], "addone", [x], [y], [one])
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    intarsia.compile(model, backends=["halide"], fallback="none").save(OUT / "op_addone.so")
    return OUT / "op_addone.so"


def node(artifact: tf.Tensor, x: tf.Tensor, threads: int = 0) -> tf.Tensor:
    """The op alone, without what a function of a Module does around it."""
    make = intarsia.tensorflow._ops().intarsia
    return make(artifact=artifact, inputs=[x], Tout=[tf.float32], threads=threads)[0]


def session_of(graph: tf.Graph, threads: int) -> v1.Session:
    """With threads of its own between ops; optimizers, which remove identities and merge equal nodes, are off."""
    numbers = {"inter_op_parallelism_threads": threads, "intra_op_parallelism_threads": threads}
    config = v1.ConfigProto(use_per_session_threads=True, **numbers)
    config.graph_options.optimizer_options.opt_level = v1.OptimizerOptions.L0
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return v1.Session(graph=graph, config=config)


def least_us(runs: dict[str, Run], calls: int, seconds: float) -> dict[str, float]:
    """The least time of a call; a run makes so many."""
    return {name: round(1e6 * min(one) / calls, 3) for name, one in times_in_turn(runs, seconds).items()}


def in_a_chain(program: pathlib.Path, seconds: float) -> dict[str, float]:
    with tf.Graph().as_default() as graph:
        artifact, x = tf.constant(str(program)), tf.zeros(16)
        identity = added = x
        for _ in range(CHAIN):
            identity, added = tf.identity(identity), node(artifact, added, threads=1)
    with session_of(graph, 1) as session:
        runs = {"identity": session.make_callable(identity), "op": session.make_callable(added)}
        np.testing.assert_array_equal(runs["op"](), np.full(16, CHAIN))
        return least_us(runs, CHAIN, seconds)


def eagerly(program: pathlib.Path, seconds: float) -> dict[str, float]:
    artifact, x = tf.constant(str(program)), tf.zeros(16)
    function = intarsia.tensorflow.Module(program, threads=1)["main"]
    calls = {"identity": lambda: tf.identity(x), "op": lambda: node(artifact, x, threads=1)}
    calls["function"] = lambda: function(x)
    runs = {name: functools.partial(timeit.timeit, call, number=EAGER_CALLS) for name, call in calls.items()}
    return least_us(runs, EAGER_CALLS, seconds)


def overhead(arguments: argparse.Namespace) -> dict:
    program = compile_addone()
    measures = {"graph_us": in_a_chain, "eager_us": eagerly}
    return {name: measure(program, arguments.seconds) for name, measure in measures.items()}


def run_nodes(count: int) -> dict:
    """Runs so many nodes, one after another, after a product of TensorFlow; what this process then has."""
    program = compile_model("mobilenetv2")
    with tf.Graph().as_default() as graph:
        product = tf.matmul(tf.ones([256, 256]), tf.ones([256, 256]))
        artifact, x = tf.constant(str(program)), tf.zeros([1, 224, 224, 3])
        nodes = [node(artifact, x) for _ in range(count)]
    with session_of(graph, 2) as session:
        for fetch in [product, *nodes]:
            session.run(fetch)
        status, maps = (pathlib.Path(f"/proc/self/{name}").read_text() for name in ("status", "maps"))
        return {
            "nodes": count,
            "rss_mb": round(int(status.split("VmRSS:")[1].split()[0]) / 1024, 1),
            "threads": len(os.listdir("/proc/self/task")),
            "mappings": sum(line.endswith(f"/{program.name}") for line in maps.splitlines()),
        }


def sharing(_: argparse.Namespace) -> list[dict]:
    found = [json_of(sys.executable, __file__, "--nodes", count) for count in (0, 1, 64)]
    return [one | {"threads": one["threads"] - found[0]["threads"]} for one in found]


def rate(call: Run, callers: int, seconds: float) -> float:
    """Runs a second of so many threads that call until the time is over."""
    begin = time.perf_counter()

    def count_calls(_: int) -> int:
        count = 0
        while time.perf_counter() < begin + seconds:
            call()
            count += 1
        return count

    with ThreadPoolExecutor(callers) as threads:
        return sum(threads.map(count_calls, range(callers))) / (time.perf_counter() - begin)


def throughput(arguments: argparse.Namespace) -> list[dict]:
    """Of sessions with 2 and 8 threads between ops: so many of the eight callers are in the node at a time."""
    with tf.Graph().as_default() as graph:
        artifact, x = tf.constant(str(compile_model("mobilenetv2"))), tf.ones([1, 224, 224, 3])
        ys = [node(artifact, x, threads) for threads in (1, 2)]
    found = []
    for inter_op in (2, CALLERS):
        with session_of(graph, inter_op) as session:
            pairs = list(zip(map(session.make_callable, ys), (1, CALLERS), strict=True))
            rates = [[rate(*pair, arguments.seconds) for pair in pairs] for _ in range(arguments.rounds)]
        one, eight = map(statistics.median, zip(*rates, strict=True))
        ratios = [many / (2 * single) for single, many in rates]
        of_ratio = {"least": min(ratios), "median": statistics.median(ratios), "greatest": max(ratios)}
        found.append({"inter_op": inter_op, "one_per_s": one, "eight_per_s": eight} | of_ratio)
    return found


def keras_models(program: intarsia.Program, threads: int) -> dict[str, Callable[[object], object]]:
    """Concrete functions of open batch: of the program, and of nothing (TensorFlow's share)."""
    inputs = [tf.keras.Input(one.shape[1:], dtype=one.dtype) for one in program.inputs]
    made = intarsia.tensorflow.Layer(program.path, threads=threads)(inputs)
    returned = [tf.keras.layers.Identity()(one) for one in inputs]
    spec = [tf.TensorSpec(one.shape, one.dtype) for one in inputs]
    models = (tf.keras.Model(inputs, outputs) for outputs in (made, returned))
    op, tensorflow = (tf.function(model).get_concrete_function(spec) for model in models)
    return {"op": op, "tensorflow": tensorflow}


def measure_case(runs: dict[str, Run], seconds: float) -> dict:
    """`rest`: what the op takes above the direct call and TensorFlow's share."""
    runs["tensorflow"]()
    np.testing.assert_allclose(runs["op"](), *runs["direct"]().values(), rtol=1e-5, atol=1e-6)
    times = times_in_turn(runs, seconds)
    found: dict[str, object] = {"rounds": len(times["op"])}
    for kind, choose in (("least", min), ("median", statistics.median)):
        direct, op, share = (1e6 * choose(times[name]) for name in ("direct", "op", "tensorflow"))
        rest = op - direct - share
        found[kind] = {"direct_ms": direct / 1e3, "op_ms": op / 1e3, "tensorflow_us": share}
        found[kind] |= {"rest_us": rest, "rest_percent": 100 * rest / direct}
    return found


def measure_model(name: str, threads: int, seconds: float) -> Iterable[dict]:
    print(f"{name}, {threads} threads", file=sys.stderr, flush=True)
    program = intarsia.load(compile_model(name))
    session, functions = program.bind(threads=threads), keras_models(program, threads)
    random = np.random.default_rng(1)
    for batch in BATCHES[name]:
        values = [random.integers(0, 2, (batch, *one.shape[1:])).astype(one.dtype) for one in program.inputs]
        tensors = [tf.constant(value) for value in values]
        arrays = {one.name: tensor.numpy() for one, tensor in zip(program.inputs, tensors, strict=True)}
        runs: dict[str, Run] = {"direct": functools.partial(session.run, arrays)}  # of the same memory
        runs |= {way: functools.partial(function, tensors) for way, function in functions.items()}
        yield {"model": name, "batch": batch, "threads": threads} | measure_case(runs, seconds)


def models(arguments: argparse.Namespace) -> list[dict]:
    sessions = itertools.product(BATCHES, THREADS)
    return [case for each in sessions for case in measure_model(*each, arguments.seconds)]


MEASURES = {measure.__name__: measure for measure in (overhead, sharing, throughput, models)}
TABLES = {
    "overhead": f"""Least time of a call with 16 floats, in us; a node: of a chain of {CHAIN}, in a session of one thread.

| | `tf.identity` | op | function of a `Module` |""",
    "sharing": """Nodes of MobileNetV2 in a process, each run once by 2 threads; TensorFlow has run a product before.

| nodes | resident memory, MB | threads above those without a node | mappings of the program |""",
    "throughput": """Runs a second of MobileNetV2, batch 1, medians of the rounds: one caller of a node for 1 thread, and eight callers of a node for
2 threads. Ratio: of the eight to twice the one. Each of a session's threads between ops runs one node at a time.

| threads between ops | one caller | eight callers | least ratio | median | greatest |""",
    "models": """Keras models of one layer, as concrete functions, against the same program called directly. TensorFlow's share is the time of a
Keras model that returns its inputs; the rest is what the op takes above both. Least times, in brackets medians.

| model | batch | threads | directly, ms | op, ms | TensorFlow's share, us | the rest, us | the rest, % |""",
}


def rows(report: dict) -> dict[str, Iterable[list]]:
    """Of each table, its cells."""
    digits = {"direct_ms": 2, "op_ms": 2, "tensorflow_us": 0, "rest_us": 0, "rest_percent": 1}

    def of_model(case: dict) -> list:
        times = [f"{case['least'][key]:.{n}f} ({case['median'][key]:.{n}f})" for key, n in digits.items()]
        return [case["model"], case["batch"], case["threads"], *times]

    return {
        "overhead": [[key.split("_")[0], *one.values()] for key, one in report["overhead"].items()],
        "sharing": [[*one.values()] for one in report["sharing"]],
        "throughput": [[f"{value:.4g}" for value in one.values()] for one in report["throughput"]],
        "models": map(of_model, report["models"]),
    }


def section(report: dict) -> list[str]:
    """The lines of the document, from the title on."""
    source = f"TensorFlow {tf.__version__}, two cores of {report['processor']}. Written by `bench/tensorflow_op.py`."
    lines = [TITLE, "", source, f"Load average before the measurement: {report['load_before']:.1f}.", ""]
    for part, cells in rows(report).items():
        width = TABLES[part].rsplit("\n", 1)[1].count("|") - 1
        filled = ([*row, *[""] * (width - len(row))] for row in cells)
        lines += [TABLES[part], "|---" * width + "|"]
        lines += [*("| " + " | ".join(map(str, row)) + " |" for row in filled), ""]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=10, help="of each comparison, and turn of callers")
    parser.add_argument("--rounds", type=int, default=7, help="of the throughput")
    parser.add_argument("--only", nargs="+", choices=MEASURES, metavar="PART", help=", ".join(MEASURES))
    parser.add_argument("--nodes", type=int, help=argparse.SUPPRESS)  # a process of its own for `sharing`
    arguments = parser.parse_args()
    report = {"processor": processor(), "load_before": os.getloadavg()[0]}
    OUT.mkdir(parents=True, exist_ok=True)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    if arguments.nodes is not None:
        print(json.dumps(run_nodes(arguments.nodes)))
        return
    report |= {part: MEASURES[part](arguments) for part in arguments.only or MEASURES}
    print(json.dumps(report, indent=1))
    if arguments == parser.parse_args([]):
        replace_section(TITLE, section(report))


if __name__ == "__main__":
    main()
