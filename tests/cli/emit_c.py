"""`compile --emit c`: what plain C computes, how it is called, what it is made of, and what is refused.

Covers: src/emit_c/ c_names.cc c_program.cc c_text.cc emit_c.cc greatest_bytes.cc kernel_table.cc write_constants.cc write_header.cc write_source.cc write_test.cc
src/compile/ compile_to_c.cc
src/measure/ record_runs.cc
backends/halide/emit/ kernel_calls.h list_calls.cc
"""

import json
import re
import shutil
import subprocess

import keyword_spotting
import numpy as np
import pytest
from cli_models import SOURCE, call, error_of, save
from emitted_c import (
    STRICT,
    assert_equal,
    build,
    compare,
    emit,
    run,
    run_ordinary,
    undefined_symbols,
    values_for,
    writable_sections,
    write_caller,
)
from onnx import TensorProto, helper
from small_models import attention, convolutions, functions, lstm, quantized, random

COMPILERS = [name for name in ("gcc", "clang-19") if shutil.which(name)]
FAST = ("--tune", "off")
SANITIZED = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


MAKERS = [convolutions, functions, attention, lstm]


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_it_computes_what_an_ordinary_program_computes(tmp_path, make):
    make(tmp_path / "model.onnx")
    compare(tmp_path / "model.onnx", tmp_path)


@pytest.mark.parametrize("level", ["native", "x86-64-v2", "cascadelake"])
def test_integers_of_8_bits_are_exact(tmp_path, level):
    quantized(tmp_path / "model.onnx")
    if level == "cascadelake" and "avx512_vnni" not in open("/proc/cpuinfo").read():
        pytest.skip("this machine has no AVX-512 VNNI")
    compare(tmp_path / "model.onnx", tmp_path, "--cpu", level, tolerance=0)


def test_from_sound_to_a_word(tmp_path):
    compare(keyword_spotting.save_keyword_spotting(tmp_path / "model.onnx"), tmp_path)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("constants", ["object", "file", "array"])
def test_its_own_test_passes(tmp_path, compiler, constants):
    convolutions(tmp_path / "model.onnx")
    report = emit(tmp_path / "model.onnx", tmp_path / "c", *FAST, "--constants", constants)
    flags = (*STRICT, *SANITIZED) if compiler == "gcc" else STRICT
    test = build(tmp_path / "c", report, "net_test.c", compiler=compiler, flags=flags)
    done = subprocess.run([test], cwd=tmp_path / "c", capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.split() == "y: ok best: ok places: ok".split(), done.stdout


def test_its_test_finds_a_wrong_weight(tmp_path):
    convolutions(tmp_path / "model.onnx")
    report = emit(tmp_path / "model.onnx", tmp_path / "c", *FAST, "--constants", "array")
    weights = tmp_path / "c/net_constants.c"
    weights.write_text(re.sub(r"0x3[a-f0-9]{7}", "0x40000000", weights.read_text()))
    test = build(tmp_path / "c", report, "net_test.c")
    done = subprocess.run([test], cwd=tmp_path / "c", capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "best: differs" in done.stdout


def test_it_needs_the_c_library_alone(tmp_path):
    """No writable data, no allocation, no input or output: objects need only what copies memory, and mathematics."""
    convolutions(tmp_path / "model.onnx")
    report = emit(tmp_path / "model.onnx", tmp_path / "c", *FAST)
    folder = tmp_path / "c"
    subprocess.run(["gcc", *STRICT, "-c", "net.c"], cwd=folder, check=True)
    objects = [
        folder / "net.o",
        *(folder / name for name in report["plain_c"]["files"] if name.endswith((".o", ".a"))),
    ]
    of_routines = {
        "expf",
        "log",
        "sqrt",
        "roundf",
        "memmove",
        "snprintf",
    }  # as TopK, which are linked one by one
    assert undefined_symbols(*objects) <= {"memcpy", "memset", "memcmp", *of_routines}
    assert writable_sections(*objects) == set()


def test_sanitizers_and_the_analyzer_find_nothing(tmp_path):
    convolutions(tmp_path / "model.onnx")
    compare(tmp_path / "model.onnx", tmp_path, flags=(*STRICT, *SANITIZED))
    if "clang-19" not in COMPILERS:
        pytest.skip("clang-19 is not installed")
    checked = ["clang-19", "--analyze", "-Xclang", "-analyzer-werror", "-std=c11", "net.c", "net_test.c"]
    done = subprocess.run(checked, cwd=tmp_path / "c", capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and not done.stderr, done.stderr


THREADS = """
#include "net.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float x[NET_IN_X_BYTES / 4], want[NET_OUT_Y_BYTES / 4];

static int run(float* y) {
  static _Thread_local float best[NET_OUT_BEST_BYTES / 4];
  static _Thread_local int64_t places[NET_OUT_PLACES_BYTES / 8];
  struct net_inputs inputs = {x};
  struct net_outputs outputs = {y, best, places};
  void* arena = aligned_alloc(NET_ARENA_ALIGNMENT, NET_ARENA_BYTES);
  const int status = net_run(&inputs, &outputs, arena);
  free(arena);
  return status;
}

static void* repeat(void* wrong) {
  float y[NET_OUT_Y_BYTES / 4];
  for (int i = 0; i < 50; ++i) *(int*)wrong |= run(y) != NET_OK || memcmp(y, want, sizeof y) != 0;
  return NULL;
}

int main(void) {
  for (size_t i = 0; i < sizeof x / 4; ++i) x[i] = (float)(i % 17) - 8;
  if (run(want) != NET_OK) return 1;
  pthread_t threads[2];
  int wrong[2] = {0, 0};
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, repeat, &wrong[i]);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return wrong[0] | wrong[1];
}
"""


def test_two_threads_run_it_at_the_same_time(tmp_path):
    convolutions(tmp_path / "model.onnx")
    report = emit(tmp_path / "model.onnx", tmp_path / "c", *FAST)
    (tmp_path / "threads.c").write_text(THREADS)
    program = build(
        tmp_path / "c",
        report,
        tmp_path / "threads.c",
        flags=("-std=gnu11", "-O1", "-fsanitize=thread", "-pthread"),
    )
    subprocess.run([program], check=True, timeout=120)


PARALLEL = """
    struct net_threads threads = {run_tasks, NULL};
"""
TASKS = """
#define _GNU_SOURCE
#include <pthread.h>
struct part { void (*task)(void*, int, int); void* data; int worker, count; };
static void* run_part(void* data) {
  struct part* part = data;
  for (int i = part->worker; i < part->count; i += 2) part->task(part->data, i, part->worker);
  return 0;
}
static void run_tasks(void* pool, void (*task)(void*, int, int), void* data, int count) {
  struct part parts[2] = {{task, data, 0, count}, {task, data, 1, count}};
  pthread_t thread;
  (void)pool;
  pthread_create(&thread, 0, run_part, &parts[1]);
  run_part(&parts[0]);
  pthread_join(thread, 0);
}
"""


def test_callers_bring_threads(tmp_path):
    convolutions(tmp_path / "model.onnx")
    report = emit(tmp_path / "model.onnx", tmp_path / "c", *FAST, "--threads", 2)
    caller = write_caller(tmp_path, report, more=", &threads", prepare=PARALLEL)
    caller.write_text(TASKS + caller.read_text().replace("#define _GNU_SOURCE\n", ""))
    program = build(
        tmp_path / "c", report, caller, flags=("-std=gnu11", "-O1", "-fsanitize=thread", "-pthread")
    )
    call("compile", tmp_path / "model.onnx", "-o", tmp_path / "program.so", *FAST, "--threads", 2)
    values = values_for(tmp_path / "model.onnx", 1)
    want = run_ordinary(tmp_path / "program.so", tmp_path, values)
    outputs = [(name, value.dtype, value.shape) for name, value in want.items()]
    for (name, *_), value in zip(outputs, run(program, tmp_path, values, outputs)):
        assert_equal(value, want[name], 1e-4)


# ---- open sizes ----


def save_open(path):
    """x f32 [batch, 6], ids i64 [batch] -> y f32 [batch, 5]: rows of a table beside a product."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Gather", ["table", "ids"], ["b"]),
        helper.make_node("Add", ["a", "b"], ["c"]),
        helper.make_node("Softmax", ["c"], ["y"]),
    ]
    inputs = [("x", TensorProto.FLOAT, ["batch", 6]), ("ids", TensorProto.INT64, ["batch"])]
    constants = [("w", random(1, 6, 5)), ("table", random(2, 9, 5))]
    return save(path, nodes, inputs, [("y", TensorProto.FLOAT, ["batch", 5])], constants, [("", 17)])


def test_sizes_are_fields(tmp_path):
    model = save_open(tmp_path / "model.onnx")
    report = emit(model, tmp_path / "c", *FAST, "--shape", "x=1..8x6")
    assert report["plain_c"]["ram_bytes"]["arena"] < 8 * 1024
    program = build(tmp_path / "c", report, write_caller(tmp_path, report))
    call("compile", model, "-o", tmp_path / "program.so", *FAST, "--threads", 1)
    for batch in (1, 3, 8):
        values = {"x": random(batch, batch, 6), "ids": np.arange(batch)}
        want = run_ordinary(tmp_path / "program.so", tmp_path, values)["y"]
        [got] = run(program, tmp_path, values, [("y", np.float32, want.shape)], batch)
        assert_equal(got, want, 1e-4)
    bad_size, bad_index = 4, 5
    run(program, tmp_path, {"x": random(1, 8, 6), "ids": np.arange(8)}, [], 9, status=bad_size)
    run(program, tmp_path, {"x": random(1, 8, 6), "ids": np.arange(8) + 2}, [], 8, status=bad_index)


def save_open_picture(path):
    """x f32 [1, 3, h, w] -> y f32 [1, 24, 1, 1]: kernels that keep copies of rows."""
    same = [1, 1, 1, 1]
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], pads=same),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "w2"], ["c"], pads=same, strides=[2, 2]),
        helper.make_node("Conv", ["c", "depthwise"], ["d"], pads=same, group=24),
        helper.make_node("MaxPool", ["d"], ["e"], kernel_shape=[3, 3], strides=[2, 2], pads=same),
        helper.make_node("GlobalAveragePool", ["e"], ["y"]),
    ]
    weights = [
        ("w", random(1, 16, 3, 3, 3)),
        ("w2", random(2, 24, 16, 3, 3)),
        ("depthwise", random(3, 24, 1, 3, 3)),
    ]
    inputs = [("x", TensorProto.FLOAT, [1, 3, "h", "w"])]
    return save(path, nodes, inputs, [("y", TensorProto.FLOAT, [1, 24, 1, 1])], weights, [("", 17)])


@pytest.mark.parametrize("math", ["exact", "fast"])
def test_kernels_of_open_sizes_have_the_scratch_that_they_need(tmp_path, math):
    model = save_open_picture(tmp_path / "model.onnx")
    report = emit(model, tmp_path / "c", *FAST, "--shape", "x=1x3x8..64x8..64", "--math", math)
    program = build(tmp_path / "c", report, write_caller(tmp_path, report))
    call("compile", model, "-o", tmp_path / "program.so", *FAST, "--threads", 1, "--math", math)
    for height, width in ((8, 8), (64, 64), (64, 8), (13, 57)):
        values = {"x": random(height + width, 1, 3, height, width)}
        want = run_ordinary(tmp_path / "program.so", tmp_path, values)["y"]
        [got] = run(program, tmp_path, values, [("y", np.float32, want.shape)], height, width)
        assert_equal(got, want, 1e-4)


def test_functions_that_kernels_call_have_room(tmp_path):
    """MaxUnpool, RoiAlign and TopK keep blocks of their own, which have to be in the arena."""
    nodes = [
        helper.make_node("MaxPool", ["x"], ["pooled"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node(
            "MaxUnpool", ["pooled", "places"], ["unpooled"], kernel_shape=[2, 2], strides=[2, 2]
        ),
        helper.make_node("RoiAlign", ["x", "boxes", "of"], ["bins"], output_height=5, output_width=7),
        helper.make_node("TopK", ["unpooled", "k"], ["best", "where"]),
    ]
    boxes = np.array([[0, 0, 40, 40], [3, 5, 30, 9]], np.float32)
    places = np.arange(8 * 64 * 64).reshape(1, 8, 64, 64)[:, :, ::2, ::2].copy()
    constants = [("boxes", boxes), ("of", np.array([0, 0])), ("k", np.array([30])), ("places", places)]
    outputs = [("unpooled", [1, 8, 64, 64]), ("bins", [2, 8, 5, 7]), ("best", [1, 8, 64, 30])]
    made = [(name, TensorProto.FLOAT, shape) for name, shape in outputs]
    inputs = [("x", TensorProto.FLOAT, [1, 8, 64, 64])]
    compare(save(tmp_path / "model.onnx", nodes, inputs, made, constants, [("", 17)]), tmp_path)


def test_copies_at_open_sizes_have_room_without_a_bound(tmp_path):
    """A direct convolution copies blocks of rows, whose bytes no short expression of the sizes bounds."""
    model = tmp_path / "model.onnx"
    nodes = [helper.make_node("Conv", ["x", "weights"], ["y"], pads=[4, 4, 4, 4], dilations=[2, 2])]
    inputs, outputs = (
        [("x", TensorProto.FLOAT, [1, 64, "h", "w"])],
        [("y", TensorProto.FLOAT, [1, 8, "h", "w"])],
    )
    save(model, nodes, inputs, outputs, [("weights", random(1, 8, 64, 5, 5))])
    report = emit(model, tmp_path / "c", *FAST, "--shape", "x=1x64x8..40x8..1200")
    program = build(tmp_path / "c", report, write_caller(tmp_path, report), flags=(*STRICT, *SANITIZED))
    call("compile", model, "-o", tmp_path / "program.so", *FAST, "--threads", 1)
    for height, width in ((8, 8), (40, 1200), (9, 300)):
        values = {"x": random(height + width, 1, 64, height, width)}
        want = run_ordinary(tmp_path / "program.so", tmp_path, values)["y"]
        [got] = run(program, tmp_path, values, [("y", np.float32, want.shape)], height, width)
        assert_equal(got, want, 1e-4)


# ---- constants in a file ----


def test_a_file_of_other_weights_replaces_them(tmp_path):
    """Weights of a model that was trained again fit the same program; damaged ones and those of others are refused."""
    programs = []
    for number, channels in (("a", 24), ("b", 24), ("c", 32)):
        weights = random(ord(number), channels, 3, 3, 3)
        nodes = [helper.make_node("Conv", ["x", "w"], ["y"])]
        inputs, outputs = (
            [("x", TensorProto.FLOAT, [1, 3, 9, 9])],
            [("y", TensorProto.FLOAT, [1, channels, 7, 7])],
        )
        save(tmp_path / f"{number}.onnx", nodes, inputs, outputs, [("w", weights)])
        report = emit(tmp_path / f"{number}.onnx", tmp_path / number, *FAST, "--constants", "file")
        programs.append(build(tmp_path / number, report, "net_test.c"))

    def status(program, file):
        return subprocess.run([programs[program], file], capture_output=True, timeout=60).returncode

    assert status(0, tmp_path / "a/net.bin") == 0 and status(1, tmp_path / "b/net.bin") == 0
    b = (tmp_path / "b/net.bin").read_bytes()
    assert (tmp_path / "a/net.c").read_text() == (tmp_path / "b/net.c").read_text()
    assert status(0, tmp_path / "b/net.bin") == 1  # runs, and differs from what was recorded
    assert (
        "differs"
        in subprocess.run([programs[0], tmp_path / "b/net.bin"], capture_output=True, text=True).stdout
    )
    (tmp_path / "damaged.bin").write_bytes(b[:100] + bytes([b[100] ^ 1]) + b[101:])
    for file in ("c/net.bin", "damaged.bin", "missing.bin"):
        done = subprocess.run([programs[1], tmp_path / file], capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and "is not that of this program" in done.stdout


# ---- what is written ----


def test_files_are_the_same_twice(tmp_path):
    convolutions(tmp_path / "model.onnx")
    for folder in ("one", "other"):
        emit(tmp_path / "model.onnx", tmp_path / folder, *FAST)
    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "other" / file.name).read_bytes(), file.name


def test_cmake_builds_it(tmp_path):
    convolutions(tmp_path / "model.onnx")
    emit(tmp_path / "model.onnx", tmp_path / "a folder", *FAST)
    (tmp_path / "CMakeLists.txt").write_text(
        'cmake_minimum_required(VERSION 3.16)\nproject(main C)\ninclude("a folder/net.cmake")\n'
        'add_executable(main "a folder/net_test.c")\ntarget_link_libraries(main PRIVATE net)\n'
    )
    for command in (["cmake", "-S", ".", "-B", "build"], ["cmake", "--build", "build"], ["build/main"]):
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=120)


def test_a_dry_run_says_what_it_takes(tmp_path):
    convolutions(tmp_path / "model.onnx")
    report = emit(tmp_path / "model.onnx", tmp_path / "c", *FAST, "--dry-run")["plain_c"]
    assert not (tmp_path / "c").exists()
    written = emit(tmp_path / "model.onnx", tmp_path / "c", *FAST)["plain_c"]
    assert written == report
    header = (tmp_path / "c/net.h").read_text()
    assert f"#define NET_ARENA_BYTES {report['ram_bytes']['arena']}\n" in header
    assert (
        0 < report["largest_kernel"]["bytes"] <= report["flash_bytes"]["code"] + report["flash_bytes"]["data"]
    )


def save_chain(path):
    """Convolutions whose first values are much larger than all others: x [1, 3, 64, 64] -> y [1, 8, 8, 8]."""
    nodes, constants, value = [], [], "x"
    for i, (before, after) in enumerate(((3, 16), (16, 24), (24, 8))):
        constants.append((f"w{i}", random(i, after, before, 3, 3)))
        nodes.append(
            helper.make_node(
                "Conv", [value, f"w{i}"], [f"c{i}"], f"conv{i}", pads=[1, 1, 1, 1], strides=[2, 2]
            )
        )
        nodes.append(helper.make_node("Relu", [f"c{i}"], [f"r{i}"]))
        value = f"r{i}"
    outputs = [("r2", TensorProto.FLOAT, [1, 8, 8, 8])]
    return save(path, nodes, [("x", TensorProto.FLOAT, [1, 3, 64, 64])], outputs, constants)


def test_memory_is_limited(tmp_path):
    model = save_chain(tmp_path / "model.onnx")
    most = emit(model, tmp_path / "c", *FAST, "--dry-run")["plain_c"]["ram_bytes"]["arena"]
    small = compare(model, tmp_path, "--memory", f"cpu={most // 2}")["plain_c"]["ram_bytes"]["arena"]
    assert small <= most // 2
    error = refused(model, tmp_path / "other", "--memory", "cpu=2KB")
    assert re.search(
        r"--memory cpu: the limit is 2.0 KB.*more: 0 bytes of constants and .* working memory", error
    ), error


def test_a_board_times_its_kernels(tmp_path):
    """As a file of times says it."""
    convolutions(tmp_path / "model.onnx")
    report = emit(tmp_path / "model.onnx", tmp_path / "c", *FAST)
    flags = (
        "-std=c11",
        "-O2",
        "-Wall",
        "-Wextra",
        "-DINTARSIA_PROFILE",
        '-DBOARD_TEST="net_test.c"',
        "-Wno-format",
    )
    board = build(tmp_path / "c", report, SOURCE / "bench/board.c", flags=flags)
    times = json.loads(
        subprocess.run([board], cwd=tmp_path / "c", capture_output=True, text=True, check=True).stdout
    )
    assert times["machine"]["architecture"] == "x86_64" and len(times["kernels"]) >= 5
    assert all(0 < kernel["seconds"] < 1 and len(kernel["digest"]) == 32 for kernel in times["kernels"])


# ---- what is refused ----


def save_named(path, *names):
    """The sum of inputs with these names."""
    inputs = [(name, TensorProto.FLOAT, [2, 3]) for name in names]
    nodes = [helper.make_node("Sum", list(names), ["sum"])]
    return save(path, nodes, inputs, [("sum", TensorProto.FLOAT, [2, 3])], checked=False)


def refused(model, folder, *options, name="net", status=1):
    error = error_of("compile", model, "--emit", "c", "-o", folder / name, *FAST, *options, status=status)
    assert not folder.exists() or not list(folder.glob("*.h"))
    assert not list(folder.parent.glob(f"{folder.name}.new-*"))
    return error


def test_names_get_identifiers(tmp_path):
    model = save_named(tmp_path / "model.onnx", "image:0", "int", "a.b", "a_b")
    assert "input 'int' is a keyword of C or C++: give it another name with --c-name 'int=NAME'" in refused(
        model, tmp_path / "c"
    )
    named = ("--c-name", "int=whole")
    assert (
        "'a.b' and input 'a_b' are both a_b in C: give one another name with --c-name 'a_b=NAME'"
        in refused(model, tmp_path / "c", *named)
    )
    for identifier, why in (("1st", "want a letter"), ("while", "keyword of C")):
        assert why in refused(model, tmp_path / "c", "--c-name", f"a_b={identifier}", status=2)
    report = emit(model, tmp_path / "c", *FAST, *named, "--c-name", "a_b=c")
    [function] = report["plain_c"]["functions"]
    assert [one["identifier"] for one in function["inputs"]] == ["image_0", "whole", "a_b", "c"]


def test_folders(tmp_path):
    model = save_named(tmp_path / "model.onnx", "x", "y")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("mine")
    assert "holds other files ('notes.txt')" in refused(model, tmp_path / "mine", status=2)
    assert "'while' is a keyword" in refused(model, tmp_path / "c", name="while", status=2)
    assert "programs include" in refused(model, tmp_path / "c", name="plain_c", status=2)
    assert "cannot write" in refused(model, tmp_path / "missing/c")
    (tmp_path / "file").write_text("")
    assert "is not a folder" in error_of(
        "compile", model, "--emit", "c", "-o", tmp_path / "file/net", status=2
    )
    emit(model, tmp_path / "c", *FAST)
    emit(model, tmp_path / "c", *FAST, "--constants", "array")  # replaces its own files
    assert not (tmp_path / "c/net_constants.o").exists()


def test_options_that_plain_c_has_not(tmp_path):
    model = save_named(tmp_path / "model.onnx", "x", "y")
    for options, why in (
        (("-d", "accel=sim:0"), "plain C (--emit c) runs on one processor"),
        (("-d", "cpu,accel=sim:0"), "plain C (--emit c) runs on one processor"),
        (("--objective", "throughput"), "has no stages"),
        (("--cpu", "x86-64-v2,x86-64-v3"), "is for one CPU"),
        (("--precision", "f16"), "has products in f32"),
        (("--backends", "reference"), "its code needs a runtime"),
    ):
        assert why in refused(model, tmp_path / "c", *options, status=2)
    for options in (("--constants", "file"), ("--c-name", "x=y")):
        assert "add --emit c" in error_of("compile", model, "-o", tmp_path / "p.so", *options, status=2)


def test_models_that_plain_c_cannot_run(tmp_path):
    open_model = save_open(tmp_path / "open.onnx")
    assert "the size 'batch' of function 'main' has no largest value" in refused(open_model, tmp_path / "c")
    strings = save(
        tmp_path / "strings.onnx",
        [helper.make_node("StringNormalizer", ["x"], ["y"], "words")],
        [("x", TensorProto.STRING, [2])],
        [("y", TensorProto.STRING, [2])],
    )
    error = refused(strings, tmp_path / "c")
    assert "StringNormalizer" in error and "words" in error, error
