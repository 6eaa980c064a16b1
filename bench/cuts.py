"""What cutting a model in two costs: the pieces on two slots of one executor, so that nothing is copied, against the whole.

    build/venv/bin/python bench/cuts.py [--seconds S] [--rounds N] [--threads N] MODEL.onnx...

Cuts lie between blocks: where one value with several readers is all that the later nodes need of the earlier ones. Each program
runs in turn with the whole one; best times count. Prints one line a cut, and one for all cuts at once; all numbers go to
build/bench/cuts.json. For an idle machine.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics

from measuring import BIN, OUT, ROOT, best_in_turn, json_of

import onnx

SLOTS = ["a", "b"]


def block_boundaries(model: pathlib.Path) -> list[tuple[str, list[str]]]:
    """Values between blocks, each with the names of the nodes before it."""
    graph = onnx.load(model, load_external_data=False).graph
    constants = {tensor.name for tensor in graph.initializer}
    readers: dict[str, list[int]] = {}
    for at, node in enumerate(graph.node):
        for name in set(node.input) - constants - {""}:
            readers.setdefault(name, []).append(at)
    is_constant_node = [node.op_type == "Constant" for node in graph.node]
    alive = {value.name for value in graph.input if value.name not in constants}
    boundaries = []
    for at, node in enumerate(graph.node):
        if not is_constant_node[at]:
            alive |= set(node.output)
        alive = {name for name in alive if readers.get(name, [-1])[-1] > at}
        [boundary, *others] = alive or [""]
        if boundary in node.output and not others and len(readers[boundary]) > 1:
            boundaries.append((boundary, [before.name for before in graph.node[: at + 1]]))
    return boundaries


def compile_placement(model: pathlib.Path, name: str, threads: int, slot_of: dict[str, str]) -> pathlib.Path:
    plan, program = OUT / "cut.json", OUT / f"cut_{name}.so"
    nodes = {node: f"halide@{slot}" for node, slot in slot_of.items()}
    plan.write_text(json.dumps({"intarsia_plan": 1, "functions": {"main": {"nodes": nodes}}}))
    command = ["compile", model, "-o", program, "-d", ",".join(f"{slot}=cpu" for slot in SLOTS)]
    json_of(
        BIN / "intarsia", *command, "--threads", threads, "--backends", "halide", "--plan", plan, "--json"
    )
    return program


def measure_model(model: pathlib.Path, arguments: argparse.Namespace) -> dict:
    plan = OUT / "whole.json"
    json_of(
        *(BIN / "intarsia", "compile", model, "-o", OUT / "whole.so", "--threads", arguments.threads),
        *("--backends", "halide", "--save-plan", plan, "--json"),
    )
    nodes = list(json.loads(plan.read_text())["functions"]["main"]["nodes"])
    whole = compile_placement(model, "whole", arguments.threads, dict.fromkeys(nodes, SLOTS[0]))
    boundaries = block_boundaries(model)
    cuts = {}
    for value, before in boundaries:
        slot_of = {node: SLOTS[0 if node in set(before) else 1] for node in nodes}
        cuts[value] = compile_placement(model, "once", arguments.threads, slot_of).rename(
            OUT / f"cut_{len(cuts)}.so"
        )
    everywhere = {node: SLOTS[sum(node not in before for _, before in boundaries) % 2] for node in nodes}
    cuts["all of these"] = compile_placement(model, "everywhere", arguments.threads, everywhere)
    result = {}
    for value, program in cuts.items():
        uncut_ms, cut_ms = best_in_turn(
            [whole, program], arguments.threads, arguments.seconds, arguments.rounds
        )
        result[value] = {"uncut_ms": uncut_ms, "cut_ms": cut_ms, "ratio": cut_ms / uncut_ms}
        print(
            f"{model.stem}: {value}: {cut_ms:.3f} ms, whole {uncut_ms:.3f} ms: {cut_ms / uncut_ms:.3f}",
            flush=True,
        )
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", type=pathlib.Path, default=[ROOT / "build/models/resnet50.onnx"])
    parser.add_argument("--seconds", type=float, default=1, help="of one turn")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    results = {model.stem: measure_model(model, arguments) for model in arguments.models}
    for name, cuts in results.items():
        ratios = [cut["ratio"] for value, cut in cuts.items() if value != "all of these"]
        print(
            f"{name}: {len(ratios)} single cuts, median {statistics.median(ratios):.3f}, worst {max(ratios):.3f}"
        )
    (OUT / "cuts.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
