#!/usr/bin/env python3
"""Writes docs/operators.md: which operator runs where, according to the program, the pinned frameworks and the test cases.

scripts/write_ledger.py [--build FOLDER] [--check]      --check: writes nothing and fails when the page is not what would be written"""

import argparse
import collections
import difflib
import hashlib
import importlib.metadata
import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import onnx.defs

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/operators.md"
HEAD = """# Operators, and the backends that run them

Written by `scripts/write_ledger.py`; do not edit. What our backends and the translation support comes from the program
(`tests/conformance/list_operators.cc`), the operators of ONNX {onnx} and TensorFlow {tensorflow}, and those that ONNX Runtime
{onnxruntime} has kernels for, from these packages themselves.

- **yes** means that a rule or kernel exists. Attributes, types and shapes may still send a single node elsewhere:
  `intarsia explain MODEL --nodes` shows for each node which backend runs it, and why others refused.
- **some** (TensorFlow): the backend takes some of the nodes of the test cases and refuses others, most often for their types.
- `halide` is our compiler, `reference` our plain kernels, which also compute constants at compile time. A node that
  neither supports runs in the framework that the model came from.
- An operator that our compiler makes of others ([how](decisions/0057-operators-made-of-others.md)) counts as one with a kernel.
- `If`, `Loop` and `Scan` run in those of our backends that take their bodies ([how](decisions/0059-branches-and-loops.md)).
- **where known**: a sequence whose elements and positions are known at compile time becomes its elements, which any backend takes
  ([how](decisions/0063-sequences-that-are-known.md)); one that depends on data runs in ONNX Runtime, with all that lies between.
- Operators of other domains (`com.microsoft`, your own) are not listed: they run in their framework, or in your kernel. Those that ONNX
  Runtime's quantizers write (`QLinearAdd`, `QGemm`, ...) run in all backends, `MatMulNBits` in all but OpenVINO ([precision](precision.md#quantized-models));
  so do those that its optimizers and exporters write: `Attention`, `MultiHeadAttention`, `GroupQueryAttention`, `RotaryEmbedding`, `EmbedLayerNormalization`,
  `SkipLayerNormalization`, `SimplifiedLayerNormalization`, `BiasGelu`, `FastGelu`, `FusedConv`, `FusedGemm`, `FusedMatMul` and the like.

"""
# Operators that the pass resolve_sequences replaces.
RESOLVED = (
    "ConcatFromSequence SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength SplitToSequence"
).split()
ROLES = {
    "input": "becomes an input of the program",
    "constant": "becomes a constant",
    "variable": "becomes a constant of the saved contents, or what follows from them",
    "alias": "removed: its outputs are its inputs",
    "call": "replaced by the nodes of its function",
    "left out": "removed: it has no outputs, so no output of the model needs it",
    "reference variable": "refused: a variable of TensorFlow 1 without a handle is not read",
    "refused": "refused: it changes a variable or table, and a program is frozen",
}


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command[-2]}: {done.stderr[-2000:]}")
    return done.stdout


def make_graphs(build):
    """The folder with the graphs of the test cases, remade when these, or TensorFlow, change."""
    sources = sorted((ROOT / "tests/conformance").glob("tensorflow_*.py"))
    digest = hashlib.sha256(
        b"".join(path.read_bytes() for path in sources) + version_of("tensorflow-cpu").encode()
    ).hexdigest()[:16]
    folder = build / "operator_graphs" / digest
    if not folder.exists():
        shutil.rmtree(folder.parent, ignore_errors=True)
        folder.parent.mkdir()
        with tempfile.TemporaryDirectory(dir=folder.parent) as made:
            run(sys.executable, ROOT / "tests/conformance/tensorflow_operators.py", made, "--graphs")
            shutil.copytree(made, folder.with_suffix(".new"))
        folder.with_suffix(".new").rename(folder)
    return folder


def ask_program(build):
    """The JSON of list_operators over the graphs of the test cases."""
    program = next(
        (path for folder in (build, build.parent) if (path := folder / "bin/list_operators").exists()), None
    )
    if program is None:
        sys.exit(f"no bin/list_operators in {build} or above: build it first")
    return json.loads(run(program, make_graphs(build)))


def version_of(package):
    return importlib.metadata.version(package)


def word(count, of=1):
    return "yes" if count == of else "some" if count else "-"


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines) + "\n"


# ONNX.


def onnxruntime_word(schema, kernels, schemas):
    key = (schema.domain, schema.name)
    if key in kernels:
        return "yes"
    has_parts = schema.has_function or schema.has_context_dependent_function
    return "by its parts" if has_parts and key in schemas else "-"


def onnx_rows(known):
    """[domain, operator, since, halide, reference, ONNX Runtime], newest versions."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    kernels = {(kernel.domain, kernel.op_name) for kernel in state.get_all_opkernel_def()}
    schemas = {(schema.domain, schema.name) for schema in state.get_all_operator_schema()}
    ours = {(op["domain"], op["name"]): op for op in known}
    rows = []
    for schema in sorted(onnx.defs.get_all_schemas(), key=lambda schema: (schema.domain, schema.name)):
        op = ours.get((schema.domain, schema.name), {"halide": False, "reference": False})
        is_resolved = not schema.domain and schema.name in RESOLVED
        since = f"{schema.since_version}, deprecated" if schema.deprecated else schema.since_version
        rows.append(
            [
                schema.domain,
                schema.name,
                since,
                *(["where known"] * 2 if is_resolved else [word(op["halide"]), word(op["reference"])]),
                onnxruntime_word(schema, kernels, schemas),
            ]
        )
    return rows


def onnx_text(rows):
    text = "## ONNX\n\n*by its parts*: ONNX Runtime has no kernel, but has the function body of the operator.\n\n"
    for domain in sorted({row[0] for row in rows}):
        text += f"### {domain or 'ai.onnx'}\n\n"
        text += table(
            ["operator", "version", "halide", "reference", "ONNX Runtime"],
            [row[1:] for row in rows if row[0] == domain],
        )
    return text


# TensorFlow.


def read_families():
    """{operator: family}, by the generated Python wrappers of the TensorFlow wheel: gen_math_ops.py -> math."""
    folder = pathlib.Path(importlib.util.find_spec("tensorflow").origin).parent
    families = {}
    for path in sorted(folder.rglob("gen_*_ops*.py"), reverse=True):
        family = re.sub(r"^gen_|_ops|\.py$", "", path.name).replace("_", " ")
        families |= dict.fromkeys(re.findall(r'_apply_op_helper\(\s*"(\w+)"', path.read_text()), family)
    return families


def translation_row(entry, kernel):
    targets = (
        [word(entry[name], entry["nodes"]) for name in ("halide", "reference")]
        if entry["seen"]
        else ["?", "?"]
    )
    becomes = ", ".join(entry.get("becomes", []))
    if entry["seen"] and not entry["nodes"]:
        becomes, targets = becomes or "a constant", ["at compile time"] * 2
    return [entry["name"], becomes or "?", *targets, word(kernel)]


def translated_text(translations, registry):
    """The section, and its rows."""
    text = "### Translated\n\nA region of these is handed to our backends as the operators of ONNX that are named here, where constants\n"
    text += "are already computed. *at compile time*: none of it remains, unless sizes depend on data. *?*: TensorFlow no longer\nwrites graphs with it.\n"
    text += "*NonZeroRows*, *NonMaxSuppressionPlaces* and *UniqueInOrder* are ours: forms of ONNX's that give what TensorFlow wants.\n\n"
    nodes = [entry for entry in translations if registry.get(entry["name"], {}).get("role") == "node"]
    rows = [translation_row(entry, registry[entry["name"]]["kernel"]) for entry in nodes]
    own = ", ".join(entry["name"] for entry in translations if entry["name"] not in registry)
    text += table(["operator", "becomes", "halide", "reference", "TensorFlow"], rows)
    return text + f"Whole loops that the importer recognizes become operators, too: {own}.\n\n", rows


def imported_text(operators):
    """What the importer eliminates, and how many."""
    rows = []
    for role, meaning in ROLES.items():
        names = [op["name"] for op in operators if op["role"] == role]
        rows.append([meaning, len(names), ", ".join(names)])
    return "### Eliminated by the importer\n\n" + table(["what becomes of it", "", "operators"], rows), sum(
        row[1] for row in rows
    )


def families_text(title, explanation, operators, families):
    groups = collections.defaultdict(list)
    for op in operators:
        groups[families.get(op["name"], "other")].append(op["name"])
    order = sorted(groups, key=lambda family: (family == "other", family))
    rows = [[family, len(groups[family]), ", ".join(groups[family])] for family in order]
    return f"### {title}\n\n{explanation}\n\n" + table(["family", "", "operators"], rows)


def summary_text(standard, translated, counts):
    """`counts` are of operators eliminated by the importer, handed to TensorFlow, nowhere."""
    lacks = [row for row in standard if row[3] == row[4] == "-"]
    nowhere = [row for row in lacks if row[5] == "-"]
    halide, reference = (sum(row[column] == "yes" for row in standard) for column in (3, 4))
    text = table(
        ["", "operators", "in halide", "in reference", "only in ONNX Runtime", "nowhere"],
        [["ONNX", len(standard), halide, reference, len(lacks) - len(nowhere), len(nowhere)]],
    )
    halide = sum(row[2] in ("yes", "some") for row in translated)
    return text + table(
        [
            "",
            "operators",
            "translated",
            "of these in halide",
            "eliminated by the importer",
            "only in TensorFlow",
            "nowhere",
        ],
        [["TensorFlow", len(translated) + sum(counts), len(translated), halide, *counts]],
    )


def write_page(facts):
    registry = {op["name"]: op for op in facts["tensorflow"]}
    translated = {entry["name"] for entry in facts["translations"]}
    rest = [op for op in facts["tensorflow"] if op["role"] == "node" and op["name"] not in translated]
    handed, nowhere = ([op for op in rest if op["kernel"] == kernel] for kernel in (True, False))
    families = read_families()
    rows = onnx_rows(facts["onnx"])
    translations, translated_rows = translated_text(facts["translations"], registry)
    imported, imported_count = imported_text(facts["tensorflow"])
    text = HEAD.format(
        onnx=onnx.__version__, tensorflow=version_of("tensorflow-cpu"), onnxruntime=version_of("onnxruntime")
    )
    text += summary_text(rows, translated_rows, [imported_count, len(handed), len(nowhere)])
    text += (
        onnx_text(rows)
        + "## TensorFlow\n\nOperators whose names begin with `_` are internal to TensorFlow and in no model.\n\n"
    )
    text += translations + imported
    text += families_text(
        "Handed to TensorFlow", "No translation; TensorFlow has a kernel for the CPU.", handed, families
    )
    text += families_text(
        "Nowhere",
        "TensorFlow itself has no kernel for the CPU: they belong to other devices, to compilers, or to a Python process.",
        nowhere,
        families,
    )
    return text.rstrip() + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="the build folder")
    parser.add_argument("--check", action="store_true", help="only compare")
    arguments = parser.parse_args()
    text = write_page(ask_program(arguments.build))
    if not arguments.check:
        PAGE.write_text(text)
        return
    old = PAGE.read_text() if PAGE.exists() else ""
    changes = list(
        difflib.unified_diff(
            old.splitlines(), text.splitlines(), "docs/operators.md", "what it should be", lineterm="", n=0
        )
    )
    if changes:
        sys.exit("\n".join([*changes[:40], "docs/operators.md is out of date: run scripts/write_ledger.py"]))


if __name__ == "__main__":
    main()
