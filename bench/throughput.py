"""Frames per second of models as pipelines, against replicas of the whole and the peers' throughput modes.

    build/venv/bin/python bench/throughput.py [--seconds S] [--rounds N] [--document] [MODEL...]

For each model, on all cores of this process, one thread each: what `compile --objective throughput` ships, as many stages as there
are cores, and as many replicas of the whole; ONNX Runtime with a session a core (one thread each, pinned); OpenVINO in its
throughput mode. All run in turn; the best round counts. Frames are the same inputs again and again. Prints one line a model;
the last numbers of each are kept in build/bench/throughput.json. With --document it writes the section "Throughput" of
docs/performance.md. For an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import threading
import time

from measuring import BIN, OUT, PYTHON, ROOT, json_of, replace_section

TITLE = "## Throughput"
MODELS = ["mobilenetv2", "resnet50", "bert_base"]
CORES = sorted(os.sched_getaffinity(0))
OURS = {"shipped": [], "stages": ["--stages", len(CORES)], "replicas": ["--stages", 1]}
PEERS = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}


def compile_model(model: pathlib.Path, kind: str, program: pathlib.Path) -> dict:
    devices = ",".join(f"cpu:{core}" for core in CORES)
    command = ["compile", model, "-o", program, "-d", devices, "--objective", "throughput", "--threads", 1]
    return json_of(BIN / "intarsia", *command, *OURS[kind], "--json", "-q")


def frames_per_second(program: pathlib.Path, seconds: float) -> float:
    command = [BIN / "intarsia", "run", program, "--pipeline", "--json", "--runs"]
    first = json_of(*command, 4 * len(CORES))
    return json_of(*command, max(round(seconds * first["frames_per_second"]), 8))["frames_per_second"]


def peer_frames_per_second(peer: str, model: pathlib.Path, seconds: float) -> float:
    command = [PYTHON, pathlib.Path(__file__), "--peer", peer, "--seconds", seconds, model]
    return json_of(*command)["frames_per_second"]


def measure_model(model: pathlib.Path, seconds: float, rounds: int) -> dict:
    programs = {kind: OUT / f"throughput_{kind}.so" for kind in OURS}
    reports = {kind: compile_model(model, kind, program) for kind, program in programs.items()}
    runs = {kind: lambda p=program: frames_per_second(p, seconds) for kind, program in programs.items()}
    runs |= {peer: lambda p=peer: peer_frames_per_second(p, model, seconds) for peer in PEERS}
    best = dict.fromkeys(runs, 0.0)
    for number in range(rounds):
        for kind in list(runs)[:: 1 if number % 2 == 0 else -1]:
            best[kind] = max(best[kind], runs[kind]())
    return {
        "model": model.stem,
        "cores": len(CORES),
        "chosen": reports["shipped"]["throughput"]["chosen"],
        "gap": gap(reports["stages"]["throughput"]),
        "frames_per_second": best,
        "ratio_to_peers": best["shipped"] / max(best[peer] for peer in PEERS),
        "ratio_to_ours": best["shipped"] / max(best["stages"], best["replicas"]),
    }


def gap(throughput: dict) -> float | None:
    """How far the predicted stages are from the bound."""
    bound, predicted = throughput["bound_ms"], throughput["predicted_ms"]
    return predicted / bound - 1 if bound and predicted else None


def make_inputs(model: pathlib.Path) -> dict:
    import numpy as np

    import onnx

    graph = onnx.load(model, load_external_data=False).graph
    weights = {weight.name for weight in graph.initializer}
    inputs = {}
    for one in graph.input:
        if one.name not in weights:
            kind = one.type.tensor_type
            shape = [size.dim_value or 1 for size in kind.shape.dim]
            inputs[one.name] = np.ones(shape, onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type))
    return inputs


def run_onnxruntime(model: pathlib.Path, inputs: dict, seconds: float) -> float:
    """A session, a thread and a core each."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    sessions = [onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"]) for _ in CORES]
    for session in sessions:
        session.run(None, inputs)
    done = [0] * len(CORES)
    begin = time.perf_counter()

    def work(number: int) -> None:
        os.sched_setaffinity(0, {CORES[number]})
        while time.perf_counter() < begin + seconds:
            sessions[number].run(None, inputs)
            done[number] += 1

    threads = [threading.Thread(target=work, args=[number]) for number in range(len(CORES))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(done) / (time.perf_counter() - begin)


def run_openvino(model: pathlib.Path, inputs: dict, seconds: float) -> float:
    """As many requests at once as its throughput mode asks for."""
    import openvino

    core = openvino.Core()
    network = core.read_model(model)
    network.reshape({name: value.shape for name, value in inputs.items()})
    queue = openvino.AsyncInferQueue(
        core.compile_model(
            network, "CPU", {"PERFORMANCE_HINT": "THROUGHPUT", "INFERENCE_PRECISION_HINT": "f32"}
        )
    )
    for _ in range(2 * len(queue)):
        queue.start_async(inputs, share_inputs=True)
    queue.wait_all()
    done = 0
    begin = time.perf_counter()
    while time.perf_counter() < begin + seconds:
        queue.start_async(inputs, share_inputs=True)
        done += 1
    queue.wait_all()
    return done / (time.perf_counter() - begin)


def run_peer(peer: str, model: pathlib.Path, seconds: float) -> float:
    """In a process of its own."""
    run = {"onnxruntime": run_onnxruntime, "openvino": run_openvino}[peer]
    return run(model, make_inputs(model), seconds)


def section(results: list[dict]) -> list[str]:
    """The lines of the document, from the title on."""
    lines = [
        TITLE,
        "",
        "Frames per second on two cores, one thread each: what `compile --objective throughput` ships and what it chose, two stages, two",
        "replicas of the whole; ONNX Runtime with a session a core, OpenVINO in its throughput mode. f32, batch 1, all in turn, the best",
        "round of each. Gap: how far the predicted stages are above the bound that no split of these parts is below.",
        "Written by `bench/throughput.py`.",
        "",
        "| model | shipped | is | stages | gap | replicas | ONNX Runtime | OpenVINO | shipped / best peer | shipped / better of stages and replicas |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in results:
        fps = row["frames_per_second"]
        lines.append(
            f"| {row['model']} | {fps['shipped']:.1f} | {row['chosen']} | {fps['stages']:.1f} "
            f"| {'' if row['gap'] is None else format(row['gap'], '.1%')} | {fps['replicas']:.1f} "
            f"| {fps['onnxruntime']:.1f} | {fps['openvino']:.1f} | {row['ratio_to_peers']:.2f} | {row['ratio_to_ours']:.2f} |"
        )
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", default=MODELS, metavar="MODEL")
    parser.add_argument("--seconds", type=float, default=5, help="of one turn")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--document", action="store_true", help="write the section of docs/performance.md")
    parser.add_argument("--peer", choices=PEERS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peer:
        rate = run_peer(arguments.peer, pathlib.Path(arguments.models[0]), arguments.seconds)
        print(json.dumps({"frames_per_second": rate}))
        return
    OUT.mkdir(parents=True, exist_ok=True)
    file = OUT / "throughput.json"
    kept = {row["model"]: row for row in (json.loads(file.read_text()) if file.exists() else [])}
    for name in arguments.models:
        result = measure_model(ROOT / f"build/models/{name}.onnx", arguments.seconds, arguments.rounds)
        kept[name] = result
        file.write_text(json.dumps(list(kept.values()), indent=1) + "\n")
        print(json.dumps(result), flush=True)
    if arguments.document:
        replace_section(TITLE, section(list(kept.values())))


if __name__ == "__main__":
    main()
