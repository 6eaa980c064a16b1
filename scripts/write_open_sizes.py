#!/usr/bin/env python3
"""Writes docs/open_sizes.md: which operators run in our kernels when the sizes of all their inputs are open, by the node cases of the
onnx package, and why the others do not.

scripts/write_open_sizes.py      takes about ten minutes
"""

import collections
import pathlib
import re
import sys
import tempfile

import onnx

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/open_sizes.md"
for folder in ("tests/support", "tests/conformance"):
    sys.path.append(str(ROOT / folder))

import intarsia
from onnx_cases import draws_randomly, load_cases, read_exceptions, with_constants
from test_onnx_open_sizes import CONSTANT, with_open_sizes

HEAD = """# Operators at open sizes

Written by `scripts/write_open_sizes.py`; do not edit. The node cases of the onnx package, each with the sizes of all its inputs open (equal
sizes are one open size; weights of recurrences and axes of sums are constant), compiled without frameworks. Of {cases} cases with sizes to open and
operators that we run, {native} run in our kernels alone, {elsewhere} have a node in the reference; {fixed} of these have one at fixed sizes, too. `onnx_open_sizes` runs them
and compares the results.

A node is elsewhere because of an open size where the last column says so; the words are those of `intarsia explain MODEL --nodes`.

| operator | cases | in our kernels | at fixed sizes | why the others are not |
|---|---|---|---|---|
"""


def general(reason: str) -> str:
    """The reason without what is particular to a case: names of values and sizes, shapes, numbers."""
    reason = reason.replace("halide: ", "").removeprefix("open sizes: ").partition("; one item")[0]
    reason = re.sub(r"'[^']*'", "...", reason)
    reason = re.sub(r"\[[^\]]*\]|\bsize\d+\b", "...", reason)
    return re.sub(r"\d+", "N", reason).replace("|", "\\|").strip()


def judge(path: pathlib.Path, shapes: dict | None) -> list[str]:
    """The reasons of nodes that our compiler refuses; none: all are in our kernels."""
    report = intarsia.explain(
        path, shapes=shapes, tune="off", fallback="none", backends=["halide", "reference"]
    )
    reasons = []
    for node in report["nodes"]:
        if node["target"] != "halide@cpu" and node["target"]:
            told = [one for one in node.get("refusals", []) if one.startswith("halide")]
            reasons += [general(one) for one in told] or [general(node["reason"])]
    return reasons


def main() -> None:
    exceptions = read_exceptions("unsupported_fallback_none.txt")
    cases = [case for case in load_cases() if case.kind == "node" and case.name not in exceptions]
    rows = collections.defaultdict(lambda: [0, 0, 0, collections.Counter()])
    both = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(cases):
            case = with_constants(case, CONSTANT) if len(case.data_sets) == 1 else case
            model, shapes = with_open_sizes(case.model)
            if not any(None in shape for shape in shapes.values()) or draws_randomly(case):
                continue
            paths = [pathlib.Path(folder) / f"{number}_{kind}.onnx" for kind in ("open", "fixed")]
            for path, one in zip(paths, (model, case.model)):
                onnx.save(one, path)
            row = rows[case.model.graph.node[-1].op_type if len(case.model.graph.node) == 1 else "(several)"]
            reasons = judge(paths[0], shapes)
            is_fixed_native = not reasons or not judge(paths[1], None)
            row[0] += 1
            row[1] += not reasons
            row[2] += is_fixed_native
            row[3].update(set(reasons))
            both += bool(reasons) and not is_fixed_native
            print(f"\r{number + 1} of {len(cases)}", end="", file=sys.stderr)
    total, native = (sum(row[i] for row in rows.values()) for i in (0, 1))
    text = HEAD.format(cases=total, native=native, elsewhere=total - native, fixed=both)
    for op, (count, ours, fixed, reasons) in sorted(rows.items()):
        why = "; ".join(f"{reason} ({times})" for reason, times in reasons.most_common(3))
        text += f"| {op} | {count} | {ours} | {fixed} | {why} |\n"
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
