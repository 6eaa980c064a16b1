#!/usr/bin/env python3
"""The run half exports the C API and, for the compile half of the same release, what is in our namespace; it needs only the C
and C++ runtime.

tests/api/check_symbols.py build/lib/libintarsia.so

Covers: registry/ run_exports.map.in
src/base/ fmt_library.cc
"""

import re
import subprocess
import sys

EXPORTED = (
    r"intarsia_\w+@@INTARSIA_\d+|_Z\w*8intarsia\w+@@INTARSIA_PRIVATE_[\d.]+|INTARSIA_(PRIVATE_)?[\d.]+(@@.*)?"
)
NEEDED = r"(libc|libm|libdl|libpthread|libstdc\+\+|libgcc_s|ld-linux-\S+)\.so(\.\d+)*"


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def faults(library):
    for line in output_of("nm", "-D", "--defined-only", library).splitlines():
        name = line.split()[-1]
        if not re.fullmatch(EXPORTED, name):
            yield f"exports {name}"
    for name in re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "-d", library)):
        if not re.fullmatch(NEEDED, name):
            yield f"needs {name}"
    inside = output_of("nm", "-C", library)
    for word in ("google::protobuf", "absl::", "grpc::", "Halide::", "intarsia::Graph"):
        if word in inside:
            yield f"contains {word}"


if __name__ == "__main__":
    found = [f"{library} {fault}" for library in sys.argv[1:] for fault in faults(library)]
    print("\n".join(found) or "ok")
    sys.exit(bool(found))
