"""How good and how fast the splitter of pipelines is on whole models, a node an operator.

    build/venv/bin/python bench/operator_graphs.py [--document] [MODEL.onnx ...]

Each model becomes a placement problem in the format of plan_workload.cc: a node takes the time of its multiply-adds and of its
traffic on 2 and on 6 accelerators with a slow link and 2 processors, ten times as slow. Prints the time of the search, and the gap
between the slowest device of the split that was found and the lower bound; aims: a minute, 5%. All numbers go to
build/bench/operator_graphs.json. With --document it writes the section "Splitting operators" of docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import math
import pathlib
import re
import subprocess

from measuring import BIN, OUT, ROOT, json_of, replace_section
from model_work import NODE, OPERAND, VALUE, unquote

TITLE = "## Splitting operators"
NINE = (
    "mobilenetv2 resnet50 efficientnetb0 mobilenetv3_large inceptionv3 densenet121 convnext_tiny bert_base vit_b16"
).split()
ACCELERATORS = (2, 6)
MULTIPLY_ADDS_A_US, BYTES_A_US, LINK_BYTES_A_US = 1e6, 1e5, 1e4


def read_nodes(model: pathlib.Path) -> tuple[list[dict], dict[str, int]]:
    """Nodes as {"inputs", "outputs", "work", "bytes"}, and the bytes of each value."""
    last = "remove_dead_nodes"
    command = [BIN / "intarsia", "compile", model, "--stop-after", last, "--print-after", last]
    text = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout
    shapes: dict[str, list[int]] = {}
    nodes = []
    for line in text.splitlines():
        made = [(unquote(name), sizes) for name, _, sizes in VALUE.findall(line.split(" = ")[0])]
        for name, sizes in made:
            shapes[name] = [int(size) for size in sizes.split(",") if size]
        if not (node := NODE.match(line)):
            continue
        inputs = [unquote(name) for name in OPERAND.findall(node[2])]
        elements = math.prod(shapes[made[0][0]])
        weights = shapes.get(inputs[1], []) if len(inputs) > 1 else []
        depth = {"Conv": math.prod(weights[1:]), "MatMul": weights[-2] if len(weights) > 1 else 1}
        work = elements * depth.get(re.split(r"[.]", node[1])[-1], 1)
        outputs = [name for name, _ in made]
        moved = 4 * sum(math.prod(shapes.get(name, [])) for name in {*inputs, *outputs})
        nodes.append({"inputs": inputs, "outputs": outputs, "work": work, "bytes": moved})
    return nodes, {name: 4 * math.prod(shape) for name, shape in shapes.items()}


def make_workload(model: pathlib.Path, accelerators: int) -> dict:
    nodes, bytes_of = read_nodes(model)
    maker = {name: i for i, node in enumerate(nodes) for name in node["outputs"]}
    edges = {}
    for i, node in enumerate(nodes):
        for name in node["inputs"]:
            if name in maker:
                moved = sum(bytes_of[one] for one in nodes[maker[name]]["outputs"])
                edges[maker[name], i] = moved / LINK_BYTES_A_US
    times = [node["work"] / MULTIPLY_ADDS_A_US + node["bytes"] / BYTES_A_US for node in nodes]
    return {
        "maxFPGAs": accelerators,
        "maxCPUs": 2,
        "maxSizePerFPGA": 1e12,
        "nodes": [
            {"id": i, "supportedOnFpga": True, "fpgaLatency": time, "cpuLatency": 10 * time, "size": 0.0}
            for i, time in enumerate(times)
        ],
        "edges": [{"sourceId": a, "destId": b, "cost": cost} for (a, b), cost in edges.items()],
    }


def solve(model: pathlib.Path, accelerators: int) -> dict:
    file = OUT / "operators.json"
    workload = make_workload(model, accelerators)
    file.write_text(json.dumps(workload))
    found = json_of(BIN / "plan_workload", file, "--json")
    row = {
        "model": model.stem,
        "operators": len(workload["nodes"]),
        "accelerators": accelerators,
        "max_load": found["max_load"],
        "gap": found["max_load"] / found["lower_bound"] - 1,
        "seconds": found["seconds"],
    }
    print(
        f"{row['model']}: {row['operators']} operators, {accelerators} accelerators and 2 processors: {row['max_load']:.1f} us, "
        f"gap {100 * row['gap']:.2f}%, {row['seconds']:.2f} s",
        flush=True,
    )
    return row


def document(rows: list[dict]) -> list[str]:
    lines = [
        TITLE,
        "",
        "Models as placement problems, a node an operator, on 2 or 6 accelerators and 2 processors that are ten times as slow",
        "(`plan_workload`): seconds of the search, and how far the split that was found is above the lower bound.",
        "Written by `bench/operator_graphs.py`.",
        "",
        "| model | operators | 2 accelerators: gap | seconds | 6 accelerators: gap | seconds |",
        "|---|---|---|---|---|---|",
    ]
    by_model: dict[str, list[dict]] = {}
    for row in rows:
        by_model.setdefault(row["model"], []).append(row)
    for model, own in by_model.items():
        cells = [f"{100 * row['gap']:.2f}% | {row['seconds']:.2f}" for row in own]
        lines.append(f"| {model} | {own[0]['operators']} | {' | '.join(cells)} |")
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    parser.add_argument("--document", action="store_true")
    arguments = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    models = arguments.models or [ROOT / f"build/models/{name}.onnx" for name in NINE]
    rows = [solve(model, accelerators) for model in models for accelerators in ACCELERATORS]
    (OUT / "operator_graphs.json").write_text(json.dumps(rows, indent=1) + "\n")
    if arguments.document:
        replace_section(TITLE, document(rows))


if __name__ == "__main__":
    main()
