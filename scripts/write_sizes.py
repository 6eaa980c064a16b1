#!/usr/bin/env python3
"""Writes into docs/other_cpus.md what the bytes of the run half are: of a whole one and of the least one, for AArch64, by the
linker's maps.

    scripts/write_sizes.py     after building runtime-only-aarch64 and runtime-only-least-aarch64"""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/other_cpus.md"
BUILDS = ("runtime-only-aarch64", "runtime-only-least-aarch64")
BEGIN, END = "<!-- written by scripts/write_sizes.py -->\n", "<!-- end of what is written -->\n"

# An output section, or a part of one with the file that it comes from. A long name is on a line of its own.
PIECE = re.compile(r"^( ?)(\.[\w.$]+)\s+0x([0-9a-f]+)\s+0x([0-9a-f]+)(?: (\S+))?$", re.M)
LAYER = re.compile(r"intarsia_(\w+)\.dir/")
# What its sections' names begin with.
UNWINDING = (".eh_frame", ".gcc_except_table")
LINKING = (".dyn", ".gnu.", ".rela.", ".plt", ".got", ".note", ".init", ".fini", ".comment")
# Libraries by the mangled names of their functions, in which namespaces have their length before them.
LIBRARIES = {
    "JSON (nlohmann)": "8nlohmann",
    "{fmt}": "3fmt2v",
    "FlatBuffers": "11flatbuffers",
    "the C++ library's templates": r"\._Z(N[KVO]*)?(St|S[abdios]|9__gnu_cxx)",
}
LAYERS = {  # rows of the table: layers, and what they are for
    "base": "threads, files, types, errors",
    "program": "a program's file: read, verified",
    "device": "devices by name, memory, queues",
    "plugin": "plug-ins",
    "runtime": "binding and running",
    "pipeline": "pipelines",
    "run_api": "the C API",
    "halide_run": "regions of our code",
    "reference_kernels": "the interpreter's kernels",
    "reference_run": "the interpreter",
    "kernels_run": "kernels of users",
    "plugin_run": "regions of plug-ins",
    "tensorflow": "TensorFlow's messages",
    "onnx_region": "regions as ONNX models",
    "onnxruntime_run": "ONNX Runtime",
    "openvino_run": "OpenVINO",
    "tensorflow_run": "TensorFlow",
    "run_backends": "the list of backends",
}


def owner_of(section, file):
    """Row of a piece: a library whose template it is, or the layer of its file."""
    if section.startswith(UNWINDING):
        return "tables for exceptions"
    for library, pattern in LIBRARIES.items():
        if re.search(pattern, section):
            return library
    layer = LAYER.search(file)
    if layer is None:
        return "the compiler's own"
    if file.endswith("fmt_library.cc.o"):
        return "{fmt}"
    return f"`{layer[1]}`: {LAYERS[layer[1]]}"


def read_sizes(map_file):
    """Bytes in the stripped library by row."""
    text = map_file.read_text().partition("Linker script and memory map")[2]
    sizes, inside = collections.Counter(), 0
    whole = 0
    for indent, section, address, size, file in PIECE.findall(
        re.sub(r"^( ?\.\S+)\n\s+0x", r"\1 0x", text, flags=re.M)
    ):
        if int(address, 16) == 0 or section.startswith((".bss", ".tbss")):
            continue
        if not indent:
            whole += int(size, 16)
        elif not section.startswith(LINKING):
            sizes[owner_of(section, file)] += int(size, 16)
            inside += int(size, 16)
    sizes["names, relocations, gaps"] = whole - inside
    return sizes


def write_table(before, least):
    lines = ["| what | all | least |", "|---|---|---|"]
    for row in sorted(before.keys() | least.keys(), key=lambda row: -before[row]):
        cells = (f"{round(sizes[row] / 1000)}" if sizes[row] else "-" for sizes in (before, least))
        lines.append(f"| {row} | {' | '.join(cells)} |")
    totals = (f"{round(sizes.total() / 1000)}" for sizes in (before, least))
    return "\n".join([*lines, f"| together | {' | '.join(totals)} |"]) + "\n"


def main():
    maps = [ROOT / "build" / build / "libintarsia.map" for build in BUILDS]
    for path in maps:
        if not path.exists():
            sys.exit(f"error: there is no '{path}': build the preset {path.parent.name}")
    head, begin, rest = PAGE.read_text().partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        sys.exit(f"error: '{PAGE}' has no place for the table, between '{BEGIN.strip()}' and '{END.strip()}'")
    PAGE.write_text(head + begin + "\n" + write_table(*map(read_sizes, maps)) + "\n" + end + tail)


if __name__ == "__main__":
    main()
