"""Writes docs/gaps.md: for each layer our time, the best peer's own profile of it, and what just the arithmetic would take.

    build/venv/bin/python bench/gap_table.py [--threads N] [--only MODEL ...]

A layer is a product or convolution with what follows it up to the next one (model_work.py). Times are the minimum of several
runs, each runtime in a separate process. A profiler's times are a little above those without one.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import json
import multiprocessing
import pathlib
import subprocess
import tempfile

from model_work import ModelWork
from measuring import BIN, OUT, ROOT, json_of
from report import MODELS, PEERS

RUNS, WARM_UP = 20, 3


def random_inputs(model: pathlib.Path) -> dict:
    """As `intarsia bench` fills them: floats at random, integers 0 and 1; an open size is 1."""
    import numpy as np
    import onnx

    random = np.random.default_rng(0)
    inputs = {}
    for value in onnx.load(model, load_external_data=False).graph.input:
        tensor = value.type.tensor_type
        shape = [size.dim_value or 1 for size in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        inputs[value.name] = (
            random.uniform(-1, 1, shape) if dtype.kind == "f" else random.integers(0, 2, shape)
        ).astype(dtype)
    return inputs


@dataclasses.dataclass
class ProfiledNode:
    source: list[
        str
    ]  # names of nodes and values of the model that it stands for, as far as the runtime reports
    milliseconds: float = float("inf")  # the minimum of all runs


def profile_onnxruntime(model: pathlib.Path, threads: int) -> list[ProfiledNode]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.enable_profiling = True
    inputs = random_inputs(model)
    with tempfile.TemporaryDirectory() as folder:
        options.profile_file_prefix = f"{folder}/profile"
        session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        for _ in range(WARM_UP + RUNS):
            session.run(None, inputs)
        events = json.loads(pathlib.Path(session.end_profiling()).read_text())
    nodes: dict[str, ProfiledNode] = {}
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            name = event["name"].removesuffix("_kernel_time")
            node = nodes.setdefault(name, ProfiledNode([name]))
            node.milliseconds = min(node.milliseconds, event["dur"] / 1000)
    return list(nodes.values())


def profile_openvino(model: pathlib.Path, threads: int) -> list[ProfiledNode]:
    import openvino

    core = openvino.Core()
    inputs = random_inputs(model)
    read = core.read_model(model)
    read.reshape({name: value.shape for name, value in inputs.items()})
    compiled = core.compile_model(
        read,
        "CPU",
        {
            "INFERENCE_PRECISION_HINT": "f32",
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": threads,
            "PERF_COUNT": True,
        },
    )
    sources = {
        node.friendly_name: node.rt_info["originalLayersNames"].astype(str).split(",")
        for node in compiled.get_runtime_model().get_ordered_ops()
        if "originalLayersNames" in node.rt_info
    }
    request = compiled.create_infer_request()
    nodes: dict[str, ProfiledNode] = {}
    for _ in range(WARM_UP + RUNS):
        request.infer(inputs)
        for info in request.profiling_info:
            if info.status == openvino.ProfilingInfo.Status.EXECUTED:
                node = nodes.setdefault(
                    info.node_name, ProfiledNode(sources.get(info.node_name, [info.node_name]))
                )
                node.milliseconds = min(node.milliseconds, info.real_time.total_seconds() * 1000)
    return list(nodes.values())


PROFILERS = {"onnxruntime": profile_onnxruntime, "openvino": profile_openvino}


def profile_peer(peer: str, model: pathlib.Path, threads: int) -> list[ProfiledNode]:
    """In the order in which the peer runs them."""
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(PROFILERS[peer], model, threads).result()


def profile_ours(model: pathlib.Path, threads: int) -> list[tuple[str, str, float]]:
    """(node of the model, operators, milliseconds) of each kernel."""
    program, trace = OUT / f"{model.stem}.so", OUT / f"{model.stem}.trace.json"
    subprocess.run(
        [BIN / "intarsia", "compile", model, "-o", program, "--fallback", "none", "--threads", str(threads)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    subprocess.run(
        [BIN / "intarsia", "run", program, "--runs", str(WARM_UP + RUNS), "--trace", trace],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    events = [event for event in json.loads(trace.read_text())["traceEvents"] if event.get("cat") == "kernel"]
    count = len(events) // (WARM_UP + RUNS)
    kernels = []
    for i in range(count):
        node, operators = events[i]["name"].rsplit(": ", 1)
        kernels.append((node, operators, min(event["dur"] for event in events[i::count]) / 1000))
    return kernels


def find_layer(work: ModelWork, name: str) -> int | None:
    """A runtime adds to names of nodes and invents some: the longest prefix that the model has decides."""
    parts = [name[:end] for end in range(len(name), 3, -1) if end == len(name) or not name[end].isalnum()]
    return next((work.layer_of[part] for part in parts if work.layer_of.get(part) is not None), None)


def sum_ours(work: ModelWork, kernels: list[tuple[str, str, float]]) -> tuple[list[float], list[list[str]]]:
    """Milliseconds and kernels of each layer. A kernel that is not found in the model belongs to the layer before it."""
    times, names = [0.0] * len(work.layers), [[] for _ in work.layers]
    layer = 0
    for node, operators, milliseconds in kernels:
        found = find_layer(work, node)
        layer = layer if found is None else found
        times[layer] += milliseconds
        names[layer].append(operators)
    return times, names


def find_layers(work: ModelWork, node: ProfiledNode) -> set[int]:
    """Layers of which the peer's node is a part: by the computing operators in it, if any."""
    names = [name for name in node.source if name not in work.movement] or node.source
    return {layer for layer in (find_layer(work, name) for name in names) if layer is not None}


def sum_peer(work: ModelWork, nodes: list[ProfiledNode]) -> tuple[list[float], list[int]]:
    """Milliseconds of each layer, and for each layer the one that it is joined with, because the peer fuses them (itself, if
    none). Fused nodes belong to the earliest layer in them, unknown ones to the layer before."""
    times = [0.0] * len(work.layers)
    joined = list(range(len(work.layers)))
    layer = 0
    for node in nodes:
        layer = min(find_layers(work, node), default=layer)
        times[layer] += node.milliseconds
    for node in nodes:
        found = find_layers(work, node)
        for other in found:
            if times[other] == 0:
                joined[other] = min(found)
    return times, joined


@dataclasses.dataclass
class Row:
    """Equal layers, or equal groups of layers that the peer fuses."""

    names: list[str]
    kernels: str
    multiply_adds: int = 0
    ours: float = 0
    peer: float = 0


def join_rows(
    work: ModelWork, ours: list[float], kernels: list[list[str]], peer: tuple[list[float], list[int]]
) -> dict[str, Row]:
    """By what is computed, "Conv 1x64x56x56 by 64x64x3x3"."""
    times, joined = peer
    groups: dict[int, list[int]] = {}
    for i, first in enumerate(joined):
        groups.setdefault(first, []).append(i)
    rows: dict[str, Row] = {}
    for group in groups.values():
        layers = [work.layers[i] for i in group]
        what = "<br>".join(
            f"{layer.operator} {'x'.join(map(str, layer.shape))} by {'x'.join(map(str, layer.weights))}"
            for layer in layers
        )
        row = rows.setdefault(what, Row([], "; ".join(kernel for i in group for kernel in kernels[i])))
        row.names.append(layers[0].name)
        row.multiply_adds += sum(layer.multiply_adds for layer in layers)
        row.ours += sum(ours[i] for i in group)
        row.peer += sum(times[i] for i in group)
    return rows


def gap_rows(rows: dict[str, Row], gflops: float) -> list[str]:
    """Where we take longest beyond the peer first."""
    lines = []
    for what, row in sorted(rows.items(), key=lambda item: item[1].peer - item[1].ours):
        limit = 2 * row.multiply_adds / gflops / 1e6
        lines.append(
            f"| {row.names[0]} | {len(row.names)} | {what} | {row.kernels} | {row.ours:.3f} | {row.peer:.3f} | {limit:.3f} |"
            f" {row.ours - row.peer:+.3f} |"
        )
    return lines


def model_section(name: str, threads: int, gflops: float) -> list[str]:
    model = ROOT / f"build/models/{name}.onnx"
    work = ModelWork(model)
    ours, kernels = sum_ours(work, profile_ours(model, threads))
    peers = {peer: sum_peer(work, profile_peer(peer, model, threads)) for peer in PEERS}
    best = min(peers, key=lambda peer: sum(peers[peer][0]))
    theirs = sum(peers[best][0])
    limit = 2 * work.multiply_adds / gflops / 1e6
    print(f"{name}: {sum(ours):.2f} ms, {best} {theirs:.2f} ms, limit {limit:.2f} ms", flush=True)
    return [
        f"## {name}",
        "",
        f"All layers: ours {sum(ours):.2f} ms, {PEERS[best]} {theirs:.2f} ms, limit {limit:.2f} ms.",
        "",
        f"| first layer | layers | output by weights | our kernels | ours, ms | {PEERS[best]}, ms | limit, ms | gap, ms |",
        "|---" * 8 + "|",
        *gap_rows(join_rows(work, ours, kernels, peers[best]), gflops),
        "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=MODELS, default=MODELS, metavar="MODEL")
    arguments = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    (peak,) = json_of(BIN / "bench_fma_peak", arguments.threads)["results"]
    text = [
        "# Gaps",
        "",
        f"Written by `bench/gap_table.py`: the layers of each model, {arguments.threads} thread(s), f32, batch 1; those that take us longest",
        "beyond the best peer come first. A layer is a product or convolution with what follows it up to the next one; equal ones",
        "are added up. The limit is their multiply-adds in direct arithmetic at "
        + f"{peak['gflops']:.0f} GFLOP/s. Times are the minimum of",
        f"{RUNS} profiled runs. A peer may be below the limit: OpenVINO skips what no later layer reads.",
        "",
    ]
    for name in arguments.only:
        text += model_section(name, arguments.threads, peak["gflops"])
    (ROOT / "docs/gaps.md").write_text("\n".join(text))


if __name__ == "__main__":
    main()
