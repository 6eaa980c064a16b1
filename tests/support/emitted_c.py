"""Programs in plain C for tests: emitted, built, and run by a caller that keeps the arena between pages without access."""

import pathlib
import shutil
import subprocess

import numpy as np
import onnx
from cli_models import call, call_json, skip_where_the_emulator_failed
from onnx import helper

STRICT = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic")

# The arena ends where a page without access begins, or begins where one ends.
CALLER = """
#define _GNU_SOURCE
#include "NAME.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned char* guarded(size_t bytes, int at_end) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) / page * page;
  unsigned char* memory = mmap(NULL, whole + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory + page, whole, PROT_READ | PROT_WRITE) != 0) exit(90);
  memset(memory + page, 0xab, whole);
  return memory + page + (at_end ? whole - bytes : 0);
}

static void* read_file(const char* folder, const char* name, size_t most) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.in", folder, name);
  FILE* file = fopen(path, "rb");
  unsigned char* memory = guarded((most + 63) / 64 * 64, 0);
  if (file == NULL) exit(91);
  if (fread(memory, 1, most, file) == 0 && most > 0 && !feof(file)) exit(92);
  fclose(file);
  return memory;
}

static void write_file(const char* folder, const char* name, const void* memory, size_t bytes) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.out", folder, name);
  FILE* file = fopen(path, "wb");
  if (file == NULL || fwrite(memory, 1, bytes, file) != bytes || fclose(file) != 0) exit(93);
}

int main(int argc, char** argv) {
  if (argc < 2) return 94;
  for (int at_end = 0; at_end < 2; ++at_end) {
    struct NAME_inputs inputs;
    struct NAME_outputs outputs;
    unsigned char* const arena = guarded(UPPER_ARENA_BYTES, at_end);
    if (UPPER_ARENA_BYTES % UPPER_ARENA_ALIGNMENT != 0) return 95;
    if (NAME_check_arena(arena, UPPER_ARENA_BYTES) != UPPER_OK) return 96;
    if (NAME_check_arena(arena, UPPER_ARENA_BYTES - 1) != UPPER_ARENA_TOO_SMALL) return 97;
    if (NAME_check_arena(arena + 4, UPPER_ARENA_BYTES) != UPPER_MISALIGNED) return 98;
FILL
    if (NAME_run(&inputs, &outputs, arena + 4MORE) != UPPER_MISALIGNED) return 99;
    const int status = NAME_run(&inputs, &outputs, arenaMORE);
    if (status != UPPER_OK) return status;
KEEP
  }
  return 0;
}
"""


# For a board: files are this machine's. Prints how many bytes of a painted stack a run touched.
BOARD_CALLER = """
#include "NAME.h"

#include <stdio.h>
#include <string.h>

enum { paint = 0xa5, heap_bytes = 1 << 20 };
extern unsigned char end[];
static _Alignas(UPPER_ARENA_ALIGNMENT) unsigned char arena[UPPER_ARENA_BYTES];
BUFFERS

static void transfer(const char* name, const char* mode, void* memory, size_t bytes) {
  char path[512];
  snprintf(path, sizeof path, "FOLDER/%s", name);
  FILE* file = fopen(path, mode);
  if (file == NULL || (mode[0] == 'r' ? fread : (size_t (*)(void*, size_t, size_t, FILE*))fwrite)(memory, 1, bytes, file) != bytes)
    _Exit(91);
  fclose(file);
}

static int run(const struct NAME_inputs* inputs, struct NAME_outputs* outputs) {
  unsigned char* const top = (unsigned char*)__builtin_frame_address(0) - 256;
  unsigned char* at = end + heap_bytes;
  memset(at, paint, (size_t)(top - at));
  const int status = NAME_run(inputs, outputs, arena);
  while (at < top && *at == paint) ++at;
  printf("stack %ld\\n", (long)(top - at));
  return status;
}

int main(void) {
  struct NAME_inputs inputs;
  struct NAME_outputs outputs;
FILL
  const int status = run(&inputs, &outputs);
KEEP
  return status;
}
"""


def write_board_caller(folder, report, files, name="net"):
    """Writes a main program for a board that reads NAME.in files of the folder `files`, and writes NAME.out files there."""
    [function] = report["plain_c"]["functions"]
    upper = name.upper()
    buffers, fill, keep = [], [], []
    for way, values in (("in", function["inputs"]), ("out", function["outputs"])):
        for c in (value["identifier"] for value in values):
            bytes = f"{upper}_{way.upper()}_{c.upper()}_BYTES"
            buffers.append(f"static _Alignas(8) unsigned char {way}_{c}[{bytes}];")
            fill.append(f"  {way}puts.{c} = (void*){way}_{c};")
            if way == "in":
                fill.append(f'  transfer("{c}.in", "rb", in_{c}, {bytes});')
            else:
                keep.append(f'  transfer("{c}.out", "wb", out_{c}, {bytes});')
    text = BOARD_CALLER.replace("NAME", name).replace("UPPER", upper).replace("FOLDER", str(files))
    text = text.replace("BUFFERS", "\n".join(buffers)).replace("FILL", "\n".join(fill))
    path = pathlib.Path(folder) / "caller.c"
    path.write_text(text.replace("KEEP", "\n".join(keep)))
    return path


def emit(model, folder, *options, name="net", **more):
    """Emits to folder/NAME.c; returns the report."""
    return call_json("compile", model, "--emit", "c", "-o", pathlib.Path(folder) / name, *options, **more)


def write_caller(folder, report, name="net", more="", prepare=""):
    """Writes a main program that reads NAME.in files from a folder and writes NAME.out files there; sizes are arguments."""
    [function] = report["plain_c"]["functions"]
    upper = name.upper()
    fill = [prepare]
    for number, size in enumerate(function["sizes"]):
        fill.append(f"    inputs.{size['identifier']} = atoi(argv[{2 + number}]);")
    for value in function["inputs"]:
        c = value["identifier"]
        fill.append(f'    inputs.{c} = read_file(argv[1], "{c}", {upper}_IN_{c.upper()}_BYTES);')
    keep = []
    for value in function["outputs"]:
        c = value["identifier"]
        fill.append(f"    outputs.{c} = (void*)guarded(({upper}_OUT_{c.upper()}_BYTES + 63) / 64 * 64, 0);")
        keep.append(f'    write_file(argv[1], "{c}", outputs.{c}, {upper}_OUT_{c.upper()}_BYTES);')
    text = CALLER.replace("NAME", name).replace("UPPER", upper).replace("MORE", more)
    path = pathlib.Path(folder) / "caller.c"
    path.write_text(text.replace("FILL", "\n".join(fill)).replace("KEEP", "\n".join(keep)))
    return path


def build(folder, report, *sources, compiler="gcc", flags=STRICT, name="net", program="program"):
    """Compiles sources with what was emitted; returns the program's path."""
    folder = pathlib.Path(folder)
    files = [
        file for file in report["plain_c"]["files"] if file.endswith((".a", "_constants.o", "_constants.c"))
    ]
    files.sort(key=lambda file: file.endswith(".a"))
    path = folder.parent / f"{folder.name}_{program}"
    command = [compiler, *flags, "-I.", f"{name}.c", *map(str, sources), *files, "-lm", "-o", path]
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return path


def run(program, folder, inputs, outputs, *sizes, runner=(), status=0):
    """Runs a caller on arrays by identifier; `outputs` are (identifier, dtype, shape). Returns arrays."""
    for name, value in inputs.items():
        np.ascontiguousarray(value).tofile(pathlib.Path(folder) / f"{name}.in")
    done = subprocess.run(
        [*runner, str(program), str(folder), *map(str, sizes)], capture_output=True, text=True, timeout=600
    )
    skip_where_the_emulator_failed(done.stderr)
    assert done.returncode == status, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
    if status:
        return None
    return [
        np.fromfile(pathlib.Path(folder) / f"{name}.out", dtype)[: int(np.prod(shape))].reshape(shape)
        for name, dtype, shape in outputs
    ]


def values_for(model, seed):
    """Random values of a model's inputs, by name."""
    random = np.random.default_rng(seed)
    values = {}
    for info in onnx.load(model, load_external_data=False).graph.input:
        shape = [size.dim_value or 1 for size in info.type.tensor_type.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)
        values[info.name] = (
            random.standard_normal(shape).astype(dtype)
            if dtype.kind == "f"
            else random.integers(0, 2, shape).astype(dtype)
            if dtype.itemsize > 2
            else random.integers(-3000, 3000, shape).astype(dtype)
        )
    return values


def run_ordinary(program, folder, values):
    """Outputs of a program, by name."""
    given = []
    for name, value in values.items():
        np.save(folder / f"{name}.npy", value)
        given += ["-i", f"{name}={folder}/{name}.npy"]
    shutil.rmtree(folder / "ordinary", ignore_errors=True)
    (folder / "ordinary").mkdir()
    report = call_json("run", program, *given, "-o", folder / "ordinary")
    return {output["name"]: np.load(output["file"]) for output in report["outputs"]}


def assert_equal(got, want, tolerance):
    if want.dtype.kind == "f":
        assert np.isfinite(got).all()
        assert np.abs(got - want).max(initial=0) <= tolerance * np.abs(want).max(initial=0)
    else:
        assert (got == want).all()


def compare(
    model, folder, *options, there=(), sources=(), tolerance=1e-4, compiler="gcc", flags=STRICT, runner=()
):
    """Emits a model, and runs it by `runner`, and its ordinary program here, on two different inputs. `there`: options for the
    machine of the former; `sources`: more of C to link."""
    options = ("--tune", "off", *options)
    report = emit(model, folder / "c", *options, *there)
    program = build(
        folder / "c", report, write_caller(folder, report), *sources, compiler=compiler, flags=flags
    )
    call("compile", model, "-o", folder / "program.so", "--threads", 1, "--fallback", "none", *options)
    [function] = report["plain_c"]["functions"]
    names = {one["name"]: one["identifier"] for one in function["inputs"]}
    for seed in (1, 2):
        values = values_for(model, seed)
        want = run_ordinary(folder / "program.so", folder, values)
        outputs = [
            (one["identifier"], want[one["name"]].dtype, want[one["name"]].shape)
            for one in function["outputs"]
        ]
        got = run(
            program, folder, {names[name]: value for name, value in values.items()}, outputs, runner=runner
        )
        for one, value in zip(function["outputs"], got):
            assert_equal(value, want[one["name"]], tolerance)
    return report


def undefined_symbols(*files):
    """Symbols that objects and static libraries need from elsewhere."""
    needed, defined = set(), set()
    for file in files:
        for line in subprocess.run(
            ["nm", str(file)], capture_output=True, text=True, check=True
        ).stdout.splitlines():
            parts = line.split()
            if len(parts) == 2 and parts[0] in "Uw":
                needed.add(parts[1])
            elif len(parts) == 3:
                defined.add(parts[2])
    return needed - defined - {"_GLOBAL_OFFSET_TABLE_"}  # which linkers make


def writable_sections(*files):
    """Sections with contents that a run could write."""
    found = set()
    for file in files:
        text = subprocess.run(
            ["readelf", "-S", "-W", str(file)], capture_output=True, text=True, check=True
        ).stdout
        for line in text.splitlines():
            parts = line.replace("[ ", "[").split()
            if len(parts) > 8 and parts[0].startswith("[") and "W" in parts[7] and int(parts[5], 16) > 0:
                found.add(parts[1])
    return found
