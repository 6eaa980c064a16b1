#!/usr/bin/env python3
"""The tree keeps to its layers, and scripts/check_layers.py finds each fault that it checks for.

Covers: scripts/check_layers.py
"""

import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
from check_layers import check  # noqa: E402

LONG = "void f() {\n" + "  g();\n" * 90 + "}\n"
CASES = [  # file, its text, what the fault says; None: no fault
    ("src/runtime/a.cc", '#include "graph/graph.h"\n', "runtime may not include src/graph/graph.h"),
    ("src/device/a.cc", '#include "base/through.h"\n', "reaches src/graph/graph.h of the compile half"),
    ("src/graph/a.cc", '#include "passes/b.h"\n', "graph may not include src/passes/b.h"),
    ("cli/a.cc", '#include "base/through.h"\n', "cli may not include src/base/through.h"),
    ("cli/a.cc", "#include <intarsia/intarsia.h>\n", None),
    (
        "backends/x/load.cc",
        '#include "graph/graph.h"\n',
        "the run half of a backend may not include src/graph/graph.h",
    ),
    ("backends/x/target.cc", '#include "graph/graph.h"\n', None),
    (
        "backends/x/target.cc",
        '#include "passes/b.h"\n',
        "the compile half of a backend may not include src/passes/b.h",
    ),
    ("backends/x/target.cc", "#include <Halide.h>\n", "only the compile half of backends/halide"),
    ("backends/halide/build.cc", "#include <Halide.h>\n", None),
    ("backends/halide/fuse/a.cc", '#include "backends/halide/tune/b.h"\n', "room fuse may not include"),
    ("backends/halide/tune/a.cc", '#include "backends/halide/fuse/b.h"\n', None),
    ("backends/halide/a.cc", '#include "backends/halide/tune/b.h"\n', None),
    ("src/plan/place/a.cc", '#include "plan/stages/b.h"\n', "room place may not include"),
    ("src/plan/stages/a.cc", '#include "plan/place/b.h"\n', None),
    ("src/plan/plan.h", '// p\n#include "plan/place/b.h"\n', "room of contracts may not include"),
    ("src/base/threads/a.cc", '#include "base/files/b.h"\n', "room threads may not include"),
    ("src/base/code/a.cc", '#include "base/files/b.h"\n', None),
    ("src/base/result.h", '// r\n#include "base/files/b.h"\n', "room of contracts may not include"),
    ("src/device/opencl/a.cc", '#include "device/sim/b.h"\n', "room opencl may not include"),
    ("src/device/plugin/a.cc", '#include "device/sim/b.h"\n', None),
    ("src/device/queue.h", '// q\n#include "device/sim/b.h"\n', "room of contracts may not include"),
    ("src/device/by_name/a.cc", '#include "device/sim/b.h"\n', None),
    ("cli/text/a.cc", '#include "cli/inputs/b.h"\n', "room text may not include"),
    ("cli/commands/a.cc", '#include "cli/inputs/b.h"\n', None),
    ("cli/main.cc", '#include "cli/inputs/b.h"\n', None),
    ("cli/inputs/a.cc", '#include "cli/main.h"\n', "room inputs may not include"),
    ("src/compile/a.cc", '#include "report/b.h"\n', "compile may not include src/report/b.h"),
    ("src/report/a.cc", '#include "compile/b.h"\n', None),
    (
        "backends/halide/runtime/load.cc",
        '#include "graph/graph.h"\n',
        "the run half of a backend may not include",
    ),
    (
        "backends/halide/runtime/load.cc",
        '#include "backends/halide/fuse/b.h"\n',
        "room runtime may not include",
    ),
    ("src/api/a.cc", '#include "backends/halide/fuse/b.h"\n', "api may not include"),
    ("registry/a.cc", '#include "backends/halide/fuse/b.h"\n', None),
    ("src/base/a.h", "#pragma once\n", "has no head comment"),
    ("src/base/a.cc", LONG, "src/base/a.cc:1: a function of 92 lines"),
    ("src/base/a.cc", "namespace n {\nclass C {\n" + "  int f() { return 1; }\n" * 90 + "};\n}\n", None),
    ("src/base/a.cc", "int x;\n" * 601, "601 lines"),
]


def faults_of(name, text):
    with tempfile.TemporaryDirectory() as folder:
        tree = {
            "src/graph/graph.h": "// g\n",
            "src/passes/b.h": "// b\n",
            "backends/halide/fuse/b.h": "// f\n",
            "backends/halide/tune/b.h": "// t\n",
            "src/plan/place/b.h": "// p\n",
            "src/plan/stages/b.h": "// s\n",
            "src/base/files/b.h": "// f\n",
            "src/device/sim/b.h": "// s\n",
            "src/compile/b.h": "// c\n",
            "src/report/b.h": "// r\n",
            "cli/inputs/b.h": "// i\n",
            "cli/main.h": "// c\n",
            "include/intarsia/intarsia.h": "// i\n",
            "src/base/through.h": '// t\n#include "graph/graph.h"\n',
            name: text,
        }
        for path, content in tree.items():
            file = pathlib.Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)
        return [fault for fault in check(pathlib.Path(folder))[0] if fault.startswith(name)]


for name, text, want in CASES:
    faults = faults_of(name, text)
    ok = not faults if want is None else any(want in fault for fault in faults)
    if not ok:
        sys.exit(f"{name}: want {want!r}, got {faults}\n{text[:200]}")
faults, count = check(ROOT)
print("\n".join(faults) if faults else f"{count} files keep to their layers and sizes")
sys.exit(1 if faults else 0)
