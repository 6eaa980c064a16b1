#!/usr/bin/env python3
"""Counts the operators of ONNX models: which are used most, and which of them our compiler has no kernel for.

    build/venv/bin/python scripts/count_operators.py [MODEL.onnx or FOLDER ...]

Without arguments: the models of build/models and those that the onnx package brings. Bodies of branches, loops and functions count, too.
What has a kernel is read from docs/operators.md.
"""

from __future__ import annotations

import argparse
import pathlib
import re
from collections import Counter
from collections.abc import Iterator

import onnx

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIGHT = pathlib.Path(onnx.__file__).parent / "backend/test/data/light"


def nodes_of(nodes: list[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for graph in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                yield from nodes_of(graph.node)


def operators_of(path: pathlib.Path) -> Counter[str]:
    model = onnx.load(path, load_external_data=False)
    functions = {function.name for function in model.functions}
    bodies = [model.graph.node, *(function.node for function in model.functions)]
    return Counter(
        f"{node.domain}::{node.op_type}" if node.domain not in ("", "ai.onnx") else node.op_type
        for body in bodies
        for node in nodes_of(body)
        if node.op_type not in functions and node.op_type != "Constant"
    )


def native_operators() -> set[str]:
    """Of ONNX's own: the rows of the ledger with a kernel in halide."""
    onnx_part = (ROOT / "docs/operators.md").read_text().split("\n## TensorFlow")[0]
    rows = re.findall(r"^\| (\w+) \| \d+ \| (\S+) \|", onnx_part, re.MULTILINE)
    return {name for name, halide in rows if halide == "yes"}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", type=pathlib.Path, default=[ROOT / "build/models", LIGHT])
    arguments = parser.parse_args()
    paths = [
        path
        for given in arguments.models
        for path in (sorted(given.rglob("*.onnx")) if given.is_dir() else [given])
    ]
    nodes: Counter[str] = Counter()
    models: Counter[str] = Counter()
    for path in paths:
        used = operators_of(path)
        nodes += used
        models.update(used.keys())
    native = native_operators()
    print(
        f"{len(paths)} models, {nodes.total()} nodes\n\n| operator | models | nodes | native |\n|---|---|---|---|"
    )
    for name, count in sorted(models.items(), key=lambda item: (-item[1], item[0])):
        kernel = "unlisted" if "::" in name else "yes" if name in native else "no"
        print(f"| {name} | {count} | {nodes[name]} | {kernel} |")


if __name__ == "__main__":
    main()
