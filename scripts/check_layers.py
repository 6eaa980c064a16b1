#!/usr/bin/env python3
"""Checks what the compiler cannot: which folder includes which (DESIGN section 2), and the sizes of files and functions.

    scripts/check_layers.py [ROOT]

Prints one line per fault and fails if there is any."""

import ast
import pathlib
import re
import sys

# What a folder may include, besides itself; includes of those are implied.
LAYERS = {
    "base": [],
    "graph": ["base"],
    "tensorflow": ["base"],
    "onnx": ["graph"],
    "import": ["graph", "tensorflow"],
    "target": ["graph"],
    "translate": ["graph", "tensorflow"],
    "passes": ["graph", "translate"],
    "plan": ["graph", "target"],
    "program": ["base"],
    "emit_c": ["target", "program"],
    "compile": ["emit_c", "import", "onnx", "passes", "plan", "program"],
    "rewrite": ["compile"],
    "report": ["compile", "rewrite"],
    "plugin": ["base"],
    "device": ["base", "plugin"],
    "onnx_region": ["device"],
    "runtime": ["program", "device"],
    "pipeline": ["runtime"],
    "measure": ["compile", "runtime", "target"],
    "api": ["report", "rewrite", "measure", "pipeline", "include"],
    "registry": ["api", "backends"],
}


def in_order(*rooms):
    """Rooms of which each may include those before it."""
    return {room: rooms[:at] for at, room in enumerate(rooms)}


# The rooms (subfolders) of a folder that has some, and the rooms that each may include besides itself. The empty name
# stands for the files outside the rooms, which may include all where it is not listed.
CONTRACTS = ""
ROOMS = {
    "src/base": in_order(CONTRACTS, "threads", "files", "code"),
    "src/plan": in_order(CONTRACTS, "partition", "place", "costs", "choose", "stages"),
    "src/device": {
        CONTRACTS: (),
        "sim": (CONTRACTS,),
        "opencl": (CONTRACTS,),
        "cuda": (CONTRACTS,),
        "plugin": (CONTRACTS, "sim"),
        "by_name": (CONTRACTS, "sim", "opencl", "cuda", "plugin"),
    },
    "backends/halide": {
        **in_order(
            "abi",
            "routines",
            "core",
            "canonicalize",
            "layout",
            "fuse",
            "schedule",
            "memory",
            "build",
            "emit",
            "tune",
        ),
        "runtime": ("abi",),
        "timer": ("abi",),
        "functions": ("abi", "emit", "runtime"),
    },
    "cli": in_order("text", "system", "usage", "inputs", "results", "commands"),
}
# The room with load.cc, for backends that have it in one.
RUN_ROOM = {"halide": "runtime"}
EDGES = ("cli", "bindings")  # see only include/intarsia
# Backends that are built on another one, or on a public header.
BACKEND_ON = {"kernels": ["backends/reference/", "include/intarsia/kernel.h"]}
# Tables of facts without code: field numbers of the public ONNX schema, for readers and writers of it, and
# what plug-ins are called by.
FREE = {"src/onnx/onnx_fields.h", "include/intarsia/plugin.h"}
RUN_HALF_NEVER = {
    "graph",
    "onnx",
    "import",
    "passes",
    "target",
    "plan",
    "compile",
    "report",
    "measure",
    "api",
}
MOST_LINES, MOST_FUNCTION_LINES = 600, 80
CODE = (".h", ".hpp", ".cc", ".cpp", ".c")
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<(intarsia/[^>]+|Halide\.h)>)', re.M)


def closure(layer):
    """The layer and everything that it may include."""
    seen, stack = set(), [layer]
    while stack:
        at = stack.pop()
        if at not in seen:
            seen.add(at)
            stack += LAYERS.get(at, [])
    return seen


def layer_of(path):
    """src/graph/x.h -> graph; backends/halide/x.h -> backends."""
    parts = path.split("/")
    return parts[1] if parts[0] == "src" and len(parts) > 2 else parts[0]


def read_includes(root, files):
    """Included files of the repository, as paths from its root, by file."""
    result = {}
    for path in files:
        text = (root / path).read_text(errors="replace")
        found = set()
        for quoted, angled in INCLUDE.findall(text):
            name = quoted or angled
            near = pathlib.PurePosixPath(path).parent / name
            for candidate in (f"src/{name}", name, f"include/{name}", str(near)):
                if candidate in files:
                    found.add(candidate)
                    break
            if name == "Halide.h":
                found.add(name)
        result[path] = found
    return result


def room_of(path):
    """src/device/cuda/x.h -> src/device, cuda; no room: an empty name; a folder without rooms: None."""
    folder = next((folder for folder in ROOMS if path.startswith(folder + "/")), None)
    room, slash, _ = path[len(folder) + 1 :].partition("/") if folder else ("", "", "")
    return folder, room if slash else CONTRACTS


def check_rooms(path, used):
    folder, room = room_of(path)
    if room not in ROOMS.get(folder, {}):
        return
    allowed = {room, *ROOMS[folder][room]}
    for other in sorted(used):
        if room_of(other)[0] == folder and room_of(other)[1] not in allowed:
            yield f"{path}: room {room or 'of contracts'} may not include {other}"


def run_half(backend, includes):
    """Files of a backend that its load.cc needs: headers, and the sources of those headers."""
    folder = f"backends/{backend}/{RUN_ROOM.get(backend, '')}".rstrip("/")
    seen, stack = set(), [f"{folder}/load.cc"]
    while stack:
        at = stack.pop()
        if at in seen or at not in includes or not at.startswith(f"backends/{backend}/"):
            continue
        seen.add(at)
        stack += includes[at]
        if at.endswith(".h"):
            stack.append(at[:-2] + ".cc")
    return seen | {path for path in includes if path.startswith(f"backends/{backend}/kernels/")}


def check_backend(path, used, in_run_half):
    backend = path.split("/")[1]
    shared = {"tensorflow", "onnx_region", "plugin"}
    allowed = {"base", "device"} | shared if in_run_half else closure("target") | shared | {"onnx"}
    own = [f"backends/{backend}/", *BACKEND_ON.get(backend, [])]
    for name in sorted(used - FREE):
        if name == "Halide.h":
            if backend != "halide" or in_run_half:
                yield f"{path}: includes Halide.h; only the compile half of backends/halide may"
        elif not any(name.startswith(folder) for folder in own) and layer_of(name) not in allowed:
            half = "run" if in_run_half else "compile"
            yield f"{path}: the {half} half of a backend may not include {name}"


def check_layer(path, used):
    layer = layer_of(path)
    if layer in EDGES:
        allowed = {"include", layer}
    elif layer == "include":
        allowed = {"include"}
    elif layer in LAYERS:
        allowed = closure(layer)
    else:
        return  # tests, examples and benchmarks may include everything
    for name in sorted(used - FREE):
        if name == "Halide.h" or layer_of(name) not in allowed:
            yield f"{path}: {layer} may not include {name}"


def check_transitive(includes):
    """The run half must not reach the compile half, not even through others."""
    for path in includes:
        if layer_of(path) not in ("runtime", "device", "program"):
            continue
        seen, stack = set(), [path]
        while stack:
            at = stack.pop()
            if at not in seen:
                seen.add(at)
                stack += includes.get(at, ())
        for name in sorted(seen):
            if layer_of(name) in RUN_HALF_NEVER or name == "Halide.h":
                yield f"{path}: reaches {name} of the compile half"


NOISE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\])+\'|^[ \t]*#(?:\\\n|[^\n])*',
    re.S | re.M,
)
SCOPE = re.compile(
    r"^(?:\[\[[^\]]*\]\]\s*)?(?:template\s*<.*>\s*)?(?:inline\s+)?(?:namespace|class|struct|enum|union|extern)\b",
    re.S,
)


def long_functions(text):
    """(first line, length) of C++ functions over the limit: a body is a brace after a parameter list that is not inside
    another body."""
    text = NOISE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    start, stack = 0, []  # of the words before the next brace; (is a body, first line) of each open brace
    for i, c in enumerate(text):
        if c == "{":
            head = text[start:i].strip()
            inside = any(body for body, _ in stack)
            body = not inside and ")" in head and not SCOPE.match(head)
            stack.append((body, text.count("\n", 0, i - len(text[start:i].lstrip())) + 1))
        elif c == "}" and stack:
            body, first = stack.pop()
            length = text.count("\n", 0, i) + 2 - first
            if body and length > MOST_FUNCTION_LINES:
                yield first, length
        if c in "{};":
            start = i + 1


def check_size(root, path):
    text = (root / path).read_text(errors="replace")
    lines = text.splitlines()
    if len(lines) > MOST_LINES:
        yield f"{path}: {len(lines)} lines, at most {MOST_LINES}"
    if path.endswith(".py"):
        functions = [
            (node.lineno, node.end_lineno - node.lineno + 1)
            for node in ast.walk(ast.parse(text))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        ]
        functions = [(line, size) for line, size in functions if size > MOST_FUNCTION_LINES]
    else:
        functions = long_functions(text)
    for line, size in functions:
        yield f"{path}:{line}: a function of {size} lines, at most {MOST_FUNCTION_LINES}"
    if path.startswith("src/") and path.endswith(".h") and not text.startswith(("//", "/*")):
        yield f"{path}: has no head comment"


def find_files(root):
    folders = (
        "src",
        "backends",
        "registry",
        "include",
        "bindings",
        "cli",
        "tests",
        "examples",
        "bench",
        "scripts",
    )
    return sorted(
        path.relative_to(root).as_posix()
        for folder in folders
        for path in (root / folder).rglob("*")
        if path.is_file() and path.suffix in (*CODE, ".py")
    )


def check(root):
    files = find_files(root)
    includes = read_includes(root, set(path for path in files if not path.endswith(".py")))
    faults = [fault for path in files for fault in check_size(root, path)]
    backends = {
        path.split("/")[1] for path in includes if path.startswith("backends/") and path.count("/") > 1
    }
    halves = {backend: run_half(backend, includes) for backend in backends}
    for path, used in includes.items():
        if path.startswith("backends/") and path.count("/") > 1:
            faults += check_backend(path, used, path in halves[path.split("/")[1]])
        else:
            faults += check_layer(path, used)
        faults += check_rooms(path, used)
    return faults + list(check_transitive(includes)), len(files)


if __name__ == "__main__":
    faults, count = check(
        pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    )
    print("\n".join(faults) if faults else f"{count} files keep to their layers and sizes")
    sys.exit(1 if faults else 0)
