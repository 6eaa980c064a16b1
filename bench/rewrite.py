"""SavedModels before and after `intarsia rewrite`, both in TensorFlow: writes the section "SavedModels rewritten" of docs/performance.md,
which it also prints; all numbers in build/bench/rewrite.json.

    build/venv/bin/python bench/rewrite.py [--seconds S] [--batches N ...] [--only MODEL ...] [--optimize speed|size]

`--only bert_module bert_keras` writes the section "SavedModels of transformers, rewritten" in the same way, and
`--optimize size --batches 1 --only resnet50 mobilenetv2 efficientnetb0` writes "SavedModels rewritten, for size".

On two cores of an idle machine. Each model of `make models`, and each that transformer_classifiers.py makes, is rewritten for one thread
and for two (`--threads`), without times from before. Then a new process, which imports nothing of ours, loads both, sets as many threads
within operators and between them, and runs their signatures in turn, with the stored inputs, repeated to each batch where the batch is open.
Times are medians, and those of a call from Python. Results that differ by more than 1e-3 of the largest are an error. The document is
written with these options only.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
from measuring import BIN, OUT, ROOT, THREADS, json_of, processor, replace_section, times_in_turn

MODELS = ROOT / "build/models/tensorflow"
MADE = OUT / "models"  # of transformer_classifiers.py
TITLE = "## SavedModels rewritten"
TRANSFORMERS_TITLE = "## SavedModels of transformers, rewritten"
SIZE_TITLE = "## SavedModels rewritten, for size"
CLASSIFIERS = ("resnet50", "mobilenetv2", "efficientnetb0")
OTHERS = ("keras_lstm", "text_classifier", "jpeg_classifier", "detector_head", "spectral")
TRANSFORMERS = ("bert_module", "bert_keras")
USUAL = (*CLASSIFIERS, *OTHERS, "fifty_islands", "two_signatures")
NAMES = (*USUAL, *TRANSFORMERS)
BATCHES = (1, 3, 8, 17)
TOLERATED = 1e-3  # of the largest element; as `intarsia rewrite` does


def path_of(name: str) -> pathlib.Path:
    return (MADE if name in TRANSFORMERS else MODELS) / name


def make_transformers(names: list[str]) -> None:
    """In a process of its own, as TensorFlow keeps its memory."""
    wanted = [name for name in TRANSFORMERS if name in names]
    maker = pathlib.Path(__file__).with_name("transformer_classifiers.py")
    if wanted:
        subprocess.run([sys.executable, maker, MADE, *wanted], check=True)


def stored_inputs(name: str) -> dict[str, dict[str, np.ndarray]]:
    """{signature: {input: array}}"""
    found: dict[str, dict[str, np.ndarray]] = {}
    with np.load(path_of(name).with_name(f"{name}.inputs.npz")) as arrays:
        for key in arrays:
            signature, label = key.split("/", 1)
            found.setdefault(signature, {})[label] = arrays[key]
    return found


def rewrite(name: str, threads: int, optimize: str, folder: pathlib.Path) -> dict:
    """The report of the command, which writes to `folder`/rewritten."""
    options: list[object] = ["--threads", threads, "--optimize", optimize, "--cache", folder / "cache"]
    values = {label: value for inputs in stored_inputs(name).values() for label, value in inputs.items()}
    for label, value in values.items():
        np.save(folder / f"{label}.npy", value)
        options += ["-i", f"{label}={folder / label}.npy"]
    return json_of(BIN / "intarsia", "rewrite", path_of(name), folder / "rewritten", *options, "--json", "-q")


def compare(got: dict, want: dict) -> None:
    assert got.keys() == want.keys()
    for name, tensor in want.items():
        expected = tensor.numpy()
        if expected.dtype.kind == "f":
            largest = np.abs(expected).max(initial=0)
            np.testing.assert_allclose(got[name].numpy(), expected, rtol=0, atol=TOLERATED * largest)
        else:
            np.testing.assert_array_equal(got[name].numpy(), expected)


def time_pair(arguments: argparse.Namespace) -> dict:
    """In a process of its own: both models' times."""
    import tensorflow as tf

    name, threads, rewritten = arguments.pair
    tf.config.threading.set_intra_op_parallelism_threads(int(threads))
    tf.config.threading.set_inter_op_parallelism_threads(int(threads))
    models = {
        "original": tf.saved_model.load(str(path_of(name))),
        "rewritten": tf.saved_model.load(rewritten),
    }
    cases = []
    for signature, inputs in stored_inputs(name).items():
        functions = {which: model.signatures[signature] for which, model in models.items()}
        specs = functions["original"].structured_input_signature[1].values()
        is_open = all(spec.shape.rank and spec.shape[0] is None for spec in specs)
        stored = len(next(iter(inputs.values())))
        for batch in arguments.batches if is_open else [stored]:
            shapes = {label: (batch, *value.shape[1:]) for label, value in inputs.items()}
            tensors = {
                label: tf.constant(np.resize(value, shapes[label]) if is_open else value)
                for label, value in inputs.items()
            }
            runs = {which: functools.partial(function, **tensors) for which, function in functions.items()}
            compare(runs["rewritten"](), runs["original"]())
            times = times_in_turn(runs, arguments.seconds)
            medians = {f"{which}_ms": 1e3 * statistics.median(one) for which, one in times.items()}
            rounds = len(times["original"])
            cases.append({"signature": signature, "batch": batch, "rounds": rounds, **medians})
    assert "intarsia" not in sys.modules
    return {"tensorflow": tf.__version__, "cases": cases}


def measure_model(name: str, threads: int, arguments: argparse.Namespace) -> dict:
    print(f"{name}, {threads} threads", file=sys.stderr, flush=True)
    options = ["--seconds", arguments.seconds, "--batches", *arguments.batches]
    with tempfile.TemporaryDirectory(dir=OUT) as temporary:
        folder = pathlib.Path(temporary)
        report = rewrite(name, threads, arguments.optimize, folder)
        timed = json_of(sys.executable, __file__, *options, "--pair", name, threads, folder / "rewritten")
    return {"model": name, "threads": threads, "rewrite": report, **timed}


def table(header: str, rows: list[list]) -> list[str]:
    lines = [header, "|---" * (header.count("|") - 1) + "|"]
    return [*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows), ""]


def rows_of_times(models: list[dict]) -> list[list]:
    """One for each batch of each signature, and the geometric mean."""
    rows, ratios = [], []
    for model in models:
        several = len({case["signature"] for case in model["cases"]}) > 1
        for case in model["cases"]:
            before, after = case["original_ms"], case["rewritten_ms"]
            ratios.append(before / after)
            name = f"{model['model']}: {case['signature']}" if several else model["model"]
            rows.append([name, case["batch"], f"{before:.3f}", f"{after:.3f}", f"{ratios[-1]:.2f}"])
    return [*rows, ["geometric mean", "", "", "", f"**{statistics.geometric_mean(ratios):.2f}**"]]


def row_of_rewrite(model: dict) -> list:
    report = model["rewrite"]
    sizes = report["bytes"]
    megabytes = [f"{sizes[when] / 1e6:.2f}" for when in ("before", "after", "program")]
    megabytes.append(f"{sizes['after'] / sizes['before']:.2f}")
    replaced = report["replaced"]
    nodes = sum(part["nodes"] for part in replaced)
    return [model["model"], model["threads"], len(replaced), nodes, f"{report['seconds']:.1f}", *megabytes]


def section(report: dict, title: str) -> list[str]:
    """The lines of the document, from the title on."""
    models = report["models"]
    optimize = " --optimize size" if title == SIZE_TITLE else ""
    lines = [
        title,
        "",
        f"TensorFlow {models[0]['tensorflow']}, two cores of {report['processor']}. Written by `bench/rewrite.py`. Models of",
        f"`scripts/make_tensorflow_models.py` and `bench/transformer_classifiers.py`, as they are and after `intarsia rewrite --threads N{optimize}`, in",
        "turn in one process with as many threads within operators and between them; medians of a signature's call from Python. Ratio = the original's time / the rewritten model's.",
        f"Load average before the measurement: {report['load_before']:.1f}.",
        "",
    ]
    for threads in sorted({model["threads"] for model in models}):
        of_threads = [model for model in models if model["threads"] == threads]
        lines += [f"### {threads} thread{'s' if threads > 1 else ''}, rewritten", ""]
        lines += table("| model | batch | original, ms | rewritten, ms | ratio |", rows_of_times(of_threads))
    lines += ["### The rewriting", "", "Without times from before. Sizes: of all files.", ""]
    header = "| model | threads | parts | nodes in them | seconds | MB before | MB after | MB of the program | after / before |"
    return lines + table(header, [row_of_rewrite(model) for model in models])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=1, help="of each comparison")
    parser.add_argument("--batches", nargs="+", type=int, default=list(BATCHES), metavar="N")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=list(USUAL), metavar="MODEL")
    parser.add_argument("--optimize", choices=("speed", "size"), default="speed", help="as of the command")
    parser.add_argument("--pair", nargs=3, help=argparse.SUPPRESS)  # a process of its own for two models
    arguments = parser.parse_args()
    report = {"processor": processor(), "load_before": os.getloadavg()[0]}
    OUT.mkdir(parents=True, exist_ok=True)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    if arguments.pair is not None:
        print(json.dumps(time_pair(arguments)))
        return
    make_transformers(arguments.only)
    report["models"] = [
        measure_model(name, threads, arguments) for threads in THREADS for name in arguments.only
    ]
    (OUT / "rewrite.json").write_text(json.dumps(report, indent=1) + "\n")
    for_size = ["--optimize", "size", "--batches", "1", "--only", *CLASSIFIERS]
    titles = {TITLE: [], TRANSFORMERS_TITLE: ["--only", *TRANSFORMERS], SIZE_TITLE: for_size}
    written = [title for title, options in titles.items() if arguments == parser.parse_args(options)]
    lines = section(report, written[0] if written else TITLE)
    print("\n".join(lines))
    if written:
        replace_section(written[0], lines)


if __name__ == "__main__":
    main()
