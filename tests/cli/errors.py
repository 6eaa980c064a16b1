"""Bad input of every kind: one `error: ...` line that says what, where and what to do; never a crash, never half a file.

Covers: cli/ main.cc cli/system/ files.cc src/base/ cpu_level.cc src/base/files/ output_file.cc regular_file.cc
src/import/ import_model.cc src/plan/place/ unsupported_nodes.cc src/program/ read_program.cc
src/runtime/ bind_arguments.cc
"""

import ctypes
import ctypes.util
import os
import random
import resource
import signal
import struct
import subprocess

import numpy as np
import onnx
import pytest
from cli_models import (
    INTARSIA,
    LIGHT_MODELS,
    TensorProto,
    call,
    call_json,
    compile_small,
    error_of,
    helper,
    numpy_helper,
    save,
    save_relu,
    save_small,
    without_progress,
)

XXHASH_NAME = ctypes.util.find_library("xxhash")
XXHASH = ctypes.CDLL(XXHASH_NAME) if XXHASH_NAME else None
if XXHASH:
    XXHASH.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    XXHASH.XXH3_64bits.restype = ctypes.c_uint64


def compile_error(model, *options, status=1):
    """No file may be left behind."""
    before = sorted(model.parent.iterdir())
    message = error_of(
        "compile", model, "-o", model.parent / "out.so", "--backends", "reference", *options, status=status
    )
    assert sorted(model.parent.iterdir()) == before
    return message


# ---- Usage ----


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("nonsense",),
        ("compile",),
        ("run",),
        ("check",),
        ("explain",),
        ("compile", "a.onnx", "--nonsense"),
        ("compile", "a.onnx", "b.onnx"),
        ("compile", "a.onnx", "--threads", "0"),
        ("compile", "a.onnx", "--threads", "x"),
        ("compile", "a.onnx", "--fallback", "maybe"),
        ("run", "a.so", "-i", "=x"),
        ("run", "a.so", "-i"),
        ("check", "a.onnx", "--against", "nobody"),
        ("check", "a.onnx", "--rtol", "-1"),
        ("compile", "a.onnx", "--shape", "x"),
        ("compile", "a.onnx", "--shape", "x=1x-2"),
        ("compile", "a.onnx", "--shape", "x=-1x2"),
        ("compile", "a.onnx", "--pin", "x"),
        ("compile", "a.onnx", "--cpu", "pentium"),
        ("compile", "a.onnx", "--stop-after", "lunch"),
        ("compile", "a.onnx", "--print-after", "lunch"),
    ],
)
def test_wrong_usage(tmp_path, arguments):
    (tmp_path / "a.so").write_bytes(b"")
    error_of(*arguments, status=2, cwd=tmp_path)


def test_unknown_names(tmp_path):
    model = save_small(tmp_path / "small.onnx")
    assert "there are" in compile_error(model, "--pin", "conv1=nobody@cpu", status=2)
    assert "no node's name matches" in compile_error(model, "--pin", "nothing*=reference@cpu", status=2)
    message = error_of("compile", model, "--backends", "tvm", "--dry-run", status=2)
    assert "no such backend" in message and "reference" in message
    assert "intarsia devices" in compile_error(model, "-d", "abacus:0", status=2)
    for kind in ("cuda", "sim", "opencl"):
        message = error_of("compile", model, "-d", f"cpu,{kind}", "--dry-run", status=2)
        assert f"{kind} is a kind of device" in message and f"{kind}:0" in message
    assert "two slots" in compile_error(model, "-d", "a=cpu,a=sim:0", status=2)
    assert "import" in compile_error(model, "--stop-after", "lunch", status=2)
    assert "nothing" in compile_error(model, "--shape", "nothing=1x2", status=2)
    assert "contradicts" in error_of(
        "compile", model, "--backends", "onnxruntime", "--fallback", "none", "--dry-run", status=2
    )
    program = compile_small(tmp_path)
    assert "nowhere" in error_of("run", program, "--bind", "nowhere=cpu", status=2)
    assert "abacus" in error_of("run", program, "--bind", "cpu=abacus")
    assert "main" in error_of("run", program, "--function", "nothing", status=2)
    assert "is already compiled" in error_of("check", program, "--pin", "a=b@c", status=2)
    assert "is already compiled" in error_of("explain", program, "--backends", "reference", status=2)


# ---- Models ----


def test_no_model(tmp_path):
    for path in (tmp_path / "missing.onnx", tmp_path):
        for command in ("compile", "check", "explain"):
            assert str(path) in error_of(command, path)


def test_only_regular_files_are_read(tmp_path):
    """Opening a pipe without a writer would block."""
    program = compile_small(tmp_path)
    model, pipe, saved = tmp_path / "small.onnx", tmp_path / "pipe", tmp_path / "saved"
    os.mkfifo(pipe)
    os.mkfifo(tmp_path / "pipe.pb")
    saved.mkdir()
    os.mkfifo(saved / "saved_model.pb")
    for arguments in (
        ("compile", pipe),
        ("check", pipe),
        ("explain", pipe),
        ("bench", pipe),
        ("run", pipe),
        ("compile", tmp_path / "pipe.pb"),
        ("compile", saved),
        ("check", program, "--model", pipe),
        ("bench", program, "--model", pipe, "--against", "onnxruntime"),
        ("bench", program, "--model", pipe, "--against", "openvino"),
        ("run", program, "-i", f"x={pipe}"),
        ("check", program, "-i", f"x={pipe}"),
        ("compile", model, "--kernels", pipe),
        ("compile", tmp_path / "pipe.pb", "--op-library", pipe),
    ):
        assert "not a regular file" in error_of(*arguments, cwd=tmp_path, timeout=60), arguments
    assert f"'{tmp_path}': it is a folder" in error_of("check", program, "-i", f"x={tmp_path}")


def test_pipe_as_external_data(tmp_path):
    os.mkfifo(tmp_path / "weights.bin")
    tensor = onnx.TensorProto(
        name="w", data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL
    )
    tensor.external_data.add(key="location", value="weights.bin")
    model = save(
        tmp_path / "external.onnx",
        [helper.make_node("Add", ["x", "w"], ["y"])],
        [("x", TensorProto.FLOAT, [2])],
        [("y", TensorProto.FLOAT, [2])],
        [tensor],
        checked=False,
    )
    assert "it is a pipe" in error_of("compile", model, cwd=tmp_path, timeout=60)


def test_truncated_models(tmp_path):
    whole = save_small(tmp_path / "whole.onnx").read_bytes()
    model = tmp_path / "part.onnx"
    for size in [0, 1, 2, 3, *range(5, len(whole) - 1, len(whole) // 25)]:
        model.write_bytes(whole[:size])
        compile_error(model)


def test_flipped_bits_in_models(tmp_path):
    """What is still a model may compile; nothing crashes."""
    whole = save_small(tmp_path / "whole.onnx").read_bytes()
    model = tmp_path / "flipped.onnx"
    generator = random.Random(1)
    failures = 0
    for _ in range(80):
        damaged = bytearray(whole)
        damaged[generator.randrange(len(damaged))] ^= 1 << generator.randrange(8)
        model.write_bytes(damaged)
        failures += flips_fail("compile", model, "--dry-run", "--backends", "reference", "--json")
    assert failures > 0


def flips_fail(*arguments):
    try:
        call(*arguments)
    except AssertionError:
        call(*arguments, status=1)
        return 1
    return 0


def test_cycle(tmp_path):
    model = save(
        tmp_path / "cycle.onnx",
        [
            helper.make_node("Add", ["x", "b"], ["a"], "first"),
            helper.make_node("Relu", ["a"], ["b"], "second"),
        ],
        [("x", TensorProto.FLOAT, [2])],
        [("b", TensorProto.FLOAT, [2])],
        checked=False,
    )
    message = compile_error(model)
    assert "cycle" in message and ("first" in message or "second" in message)


@pytest.mark.parametrize(
    "nodes,word",
    [
        ([helper.make_node("MatMul", ["x", "w"], ["y"], "product")], "product"),
        ([helper.make_node("Add", ["x", "i"], ["y"], "sum")], "sum"),
        ([helper.make_node("Relu", ["nothing"], ["y"], "relu")], "nothing"),
        ([helper.make_node("Relu", ["x", "x", "x"], ["y"], "relu")], "relu"),
        ([helper.make_node("Relu", [], ["y"], "relu")], "relu"),
        ([helper.make_node("Concat", ["x", "x"], ["y"], "join", axis=9)], "join"),
        ([helper.make_node("Conv", ["x", "w"], ["y"], "conv")], "conv"),
        ([helper.make_node("Relu", ["x"], ["z"], "relu")], "y"),
        ([helper.make_node("Relu", ["x"], ["y"], "one"), helper.make_node("Relu", ["x"], ["y"], "two")], "y"),
    ],
)
def test_wrong_shapes_types_and_edges(tmp_path, nodes, word):
    model = save(
        tmp_path / "wrong.onnx",
        nodes,
        [("x", TensorProto.FLOAT, [2, 3])],
        [("y", TensorProto.FLOAT, None)],
        [("w", np.ones((5, 7), np.float32)), ("i", np.ones((2, 3), np.int64))],
        checked=False,
    )
    assert word in compile_error(model)


def test_what_lacks_a_backend_is_named_first(tmp_path):
    """Not what is refused since the types of its results are unknown."""
    shape = [2, 3]
    model = save(
        tmp_path / "strange.onnx",
        [
            helper.make_node("Strange", ["x"], ["a"], "strange1", domain="my.ops"),
            helper.make_node("Abs", ["a"], ["b"], "abs1"),
            helper.make_node("Add", ["b", "x"], ["y"], "add1"),
        ],
        [("x", TensorProto.FLOAT, shape)],
        [("y", TensorProto.FLOAT, shape)],
        opsets=[("", 18), ("my.ops", 1)],
        checked=False,
    )
    message = error_of("compile", model, "-o", tmp_path / "x.so", "--backends", "halide,openvino")
    assert "no backend runs these operators: my.ops.Strange (1 node, first 'strange1'" in message
    assert "while types or sizes are not known: Abs (1 node), Add (1 node)." in message


@pytest.mark.parametrize(
    "location", ["missing.bin", "../secret.bin", "/etc/passwd", "folder/../../secret.bin", "link.bin", ""]
)
def test_external_data(tmp_path, location):
    """The data must lie in the model's folder."""
    (tmp_path / "secret.bin").write_bytes(bytes(4096))
    folder = tmp_path / "model"
    folder.mkdir()
    if location == "link.bin":
        os.symlink("../secret.bin", folder / "link.bin")
    tensor = onnx.TensorProto(
        name="w", data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL
    )
    for key, value in (("location", location), ("length", "8")):
        entry = tensor.external_data.add()
        entry.key, entry.value = key, value
    model = save(
        folder / "external.onnx",
        [helper.make_node("Add", ["x", "w"], ["y"])],
        [("x", TensorProto.FLOAT, [2])],
        [("y", TensorProto.FLOAT, [2])],
        [tensor],
        checked=False,
    )
    assert "external" in compile_error(model) or location in compile_error(model)


@pytest.mark.parametrize("sizes", [[-5], [2**62, 2**62], [2**40, 2**20], [0]])
def test_strange_sizes(tmp_path, sizes):
    """For constants: a size that does not match the bytes. For inputs: too large to run."""
    tensor = numpy_helper.from_array(np.ones(2, np.float32), "w")
    del tensor.dims[:]
    tensor.dims.extend(sizes)
    model = save(
        tmp_path / "strange.onnx",
        [helper.make_node("Add", ["w", "w"], ["y"])],
        [],
        [("y", TensorProto.FLOAT, None)],
        [tensor],
        checked=False,
    )
    assert "w" in compile_error(model)
    if sizes != [0]:
        model = save(
            tmp_path / "input.onnx",
            [helper.make_node("Relu", ["x"], ["y"])],
            [("x", TensorProto.FLOAT, sizes)],
            [("y", TensorProto.FLOAT, sizes)],
            checked=False,
        )
        error_of("check", model, "--backends", "reference", "--against", "reference")


# ---- Programs ----


def test_truncated_programs(tmp_path):
    whole = compile_small(tmp_path).read_bytes()
    program = tmp_path / "part.so"
    for size in [0, 1, 4, 64, *range(100, len(whole) - 1, len(whole) // 25), len(whole) - 1]:
        program.write_bytes(whole[:size])
        assert "part.so" in error_of("run", program)


def test_flipped_bits_in_programs(tmp_path):
    """Constants have their own digests, which `check` compares; all other damage is refused at load."""
    whole = compile_small(tmp_path).read_bytes()
    program = tmp_path / "flipped.so"
    generator = random.Random(2)
    for _ in range(60):
        damaged = bytearray(whole)
        damaged[generator.randrange(len(damaged))] ^= 1 << generator.randrange(8)
        program.write_bytes(damaged)
        if flips_fail("run", program, "--json") == 0:
            flips_fail("check", program, "--json", "--against", "reference")


def test_damaged_constant(tmp_path):
    model = save(
        tmp_path / "add.onnx",
        [helper.make_node("Add", ["x", "w"], ["y"])],
        [("x", TensorProto.FLOAT, [4])],
        [("y", TensorProto.FLOAT, [4])],
        [("w", np.array([1.25, 2.25, 3.25, 4.25], np.float32))],
    )
    program = tmp_path / "add.so"
    call("compile", model, "-o", program, "--backends", "reference")
    damaged = program.read_bytes().replace(struct.pack("<f", 3.25), struct.pack("<f", 3.5))
    assert damaged != program.read_bytes()
    program.write_bytes(damaged)
    call("run", program)
    assert "damaged" in error_of("check", program) or "digest" in error_of("check", program)


def test_newer_format(tmp_path):
    """The last 16 bytes: version, size of the footer, magic."""
    program = compile_small(tmp_path)
    whole = bytearray(program.read_bytes())
    assert whole[-8:] == b"INTARSIA"
    whole[-16:-12] = struct.pack("<I", 999)
    program.write_bytes(whole)
    message = error_of("run", program)
    assert "999" in message and "newer" in message


def test_unwritable_program(tmp_path):
    model = save_small(tmp_path / "small.onnx")
    before = sorted(tmp_path.iterdir())
    (tmp_path / "folder").mkdir()
    for path, status in ((tmp_path / "nowhere/x.so", 1), (tmp_path / "folder", 2), ("/proc/x.so", 1)):
        assert str(path) in error_of("compile", model, "-o", path, "--backends", "reference", status=status)
    assert list((tmp_path / "folder").iterdir()) == []
    (tmp_path / "folder").rmdir()
    assert sorted(tmp_path.iterdir()) == before


def test_where_nothing_can_be_written_nothing_is_computed(tmp_path):
    """The model is not even read: it is damaged, and the error is about the output."""
    model = tmp_path / "damaged.onnx"
    model.write_bytes(b"no model")
    nowhere = tmp_path / "nowhere"
    for arguments in (("-o", nowhere / "x.so"), ("--dry-run", "--save-plan", nowhere / "plan.json")):
        assert f"cannot write '{nowhere}" in error_of("compile", model, *arguments)
    for option in ("--dot", "--html"):
        assert f"cannot write '{nowhere}" in error_of("explain", model, option, nowhere / "page")
    assert [file.name for file in tmp_path.iterdir()] == ["damaged.onnx"]


def test_outputs_are_regular_files(tmp_path):
    """A pipe stays a pipe, a folder stays; nothing is left next to them."""
    program = compile_small(tmp_path)
    pipe, results = tmp_path / "pipe", tmp_path / "results"
    os.mkfifo(pipe)
    results.mkdir()
    os.mkfifo(results / "y.npy")
    before = sorted(tmp_path.rglob("*"))
    for arguments in (
        ("compile", tmp_path / "small.onnx", "-o", pipe, "--backends", "reference"),
        ("explain", program, "--dot", pipe),
        ("explain", program, "--html", pipe),
        ("run", program, "--trace", pipe),
        ("run", program, "-o", results),
    ):
        assert "it is a pipe" in error_of(*arguments, status=2, timeout=60), arguments
    for arguments in (
        ("compile", tmp_path / "small.onnx", "-o", results),
        ("explain", program, "--dot", results),
        ("explain", program, "--html", results),
        ("run", program, "--trace", results),
    ):
        assert "it is a folder" in error_of(*arguments, status=2), arguments
    assert pipe.is_fifo() and (results / "y.npy").is_fifo() and sorted(tmp_path.rglob("*")) == before


def test_inputs_are_not_replaced(tmp_path):
    program = compile_small(tmp_path)
    model, x, link = tmp_path / "small.onnx", tmp_path / "y.npy", tmp_path / "link"
    np.save(x, np.zeros((2, 3, 8, 8), np.float32))
    link.symlink_to(model)
    saved = tmp_path / "saved"
    saved.mkdir()
    (saved / "saved_model.pb").write_bytes(b"")
    contents = {path: path.read_bytes() for path in (model, program, x)}
    for arguments in (
        ("compile", model, "-o", model),
        ("compile", model, "-o", link),
        ("compile", link, "-o", model),
        ("compile", saved, "-o", saved / "saved_model.pb"),
        ("compile", model, "--kernels", program, "-o", program),
        ("explain", model, "--dot", model),
        ("explain", model, "--html", model),
        ("explain", program, "--dot", program),
        ("explain", program, "--html", program),
        ("run", program, "--trace", program),
        ("run", program, "-i", f"x={x}", "--trace", x),
        ("run", program, "-i", f"x={x}", "-o", tmp_path),
    ):
        assert "it is the input" in error_of(*arguments, status=2), arguments
    assert contents == {path: path.read_bytes() for path in contents} and link.is_symlink()


def test_links_are_followed(tmp_path):
    """Like a shell's redirection: the target is replaced or created, and keeps its mode."""
    program = compile_small(tmp_path)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "old").write_text("old")
    (folder / "old").chmod(0o640)
    for name in ("old", "new"):
        (tmp_path / name).symlink_to(f"folder/{name}")
        for arguments in (
            ("compile", tmp_path / "small.onnx", "-o", tmp_path / name, "--backends", "reference"),
            ("run", program, "--trace", tmp_path / name),
            ("explain", program, "--dot", tmp_path / name),
        ):
            call(*arguments)
            assert (tmp_path / name).is_symlink() and len((folder / name).read_bytes()) > 100
    assert (folder / "old").stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in folder.iterdir()) == ["new", "old"]


def test_standard_output_on_a_full_disk(tmp_path):
    program = compile_small(tmp_path)
    for arguments in (
        ("--help",),
        ("devices",),
        ("explain", program),
        ("explain", program, "--json"),
        ("run", program),
        ("check", program),
        ("compile", tmp_path / "small.onnx", "--dry-run"),
        ("bench", program, "-t", "0.1", "--json"),
    ):
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [INTARSIA, *map(str, arguments)], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
            )
        error = without_progress(done.stderr)
        assert done.returncode == 1 and error.startswith("error: cannot write to standard output"), (
            arguments,
            done,
        )


def small_files():
    """Like a full disk: writing fails after some bytes."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))


def test_disk_full(tmp_path):
    program = compile_small(tmp_path)
    whole = program.read_bytes()
    before = sorted(tmp_path.iterdir())
    environment = {"TMPDIR": str(tmp_path)}
    error_of(
        "compile",
        tmp_path / "small.onnx",
        "-o",
        program,
        "--backends",
        "reference",
        preexec_fn=small_files,
        env=environment,
    )
    assert program.read_bytes() == whole and sorted(tmp_path.iterdir()) == before
    wide = save_relu(tmp_path / "wide.onnx", shape=(2000,))
    call("compile", wide, "-o", tmp_path / "wide.so", "--backends", "reference")
    error_of("run", tmp_path / "wide.so", "-o", tmp_path / "out", preexec_fn=small_files)
    assert list((tmp_path / "out").iterdir()) == []
    error_of(
        "run",
        tmp_path / "wide.so",
        "--runs",
        "100",
        "--trace",
        tmp_path / "trace.json",
        preexec_fn=small_files,
    )
    error_of(
        "explain",
        LIGHT_MODELS / "light_squeezenet.onnx",
        "--dot",
        tmp_path / "model.dot",
        "-d",
        "cpu,accel=sim:0",
        "--pin",
        "n*[02468]=reference@accel",
        preexec_fn=small_files,
    )
    assert not {"trace.json", "model.dot"} & {path.name for path in tmp_path.iterdir()}


def test_model_of_a_program(tmp_path):
    program = compile_small(tmp_path)
    save_small(tmp_path / "small.onnx", scale=2.0)
    assert "has changed" in error_of("check", program)
    (tmp_path / "small.onnx").unlink()
    assert "--model" in error_of("check", program)


def test_unwritable_outputs(tmp_path):
    program = compile_small(tmp_path)
    assert str(program) in error_of("run", program, "-o", program)
    assert "folder with -o" in error_of("run", program, "--dump", "*", status=2)
    assert "nowhere" in error_of("explain", program, "--dot", tmp_path / "nowhere/x.dot")


def test_mismatch_is_an_error(tmp_path):
    program = compile_small(tmp_path)
    message = error_of("check", program, "--model", save_small(tmp_path / "other.onnx", scale=2.0))
    assert "'y'" in message and "element" in message
    assert call_json("check", program)["ok"]


def reseal(whole):
    """The digest of everything but the constants, as in the footer (docs/format.md)."""
    sizes = struct.unpack("<4Q", whole[-56:-24])
    tail = -(-sizes[0] // 4096) * 4096
    hashed = bytes(whole[:tail] + whole[tail + sizes[1] : -24])
    return struct.pack("<Q", XXHASH.XXH3_64bits(hashed, len(hashed)))


@pytest.mark.skipif(XXHASH is None, reason="needs libxxhash")
def test_another_cpu(tmp_path):
    backends = {one["name"]: one["present"] for one in call_json("devices")["backends"]}
    if not backends["halide"]:
        pytest.skip("needs native code: this build is without Halide")
    program = tmp_path / "small.so"
    call("compile", save_small(tmp_path / "small.onnx"), "-o", program, "--backends", "halide,reference")
    whole = bytearray(program.read_bytes())
    assert reseal(whole) == whole[-24:-16]
    at = whole.rindex(b"x86_64\0")
    whole[at : at + 6] = b"sparc9"
    whole[-24:-16] = reseal(whole)
    program.write_bytes(whole)
    assert "sparc9" in error_of("run", program) and "x86_64" in error_of("run", program)


def test_a_linker_that_writes_nothing(tmp_path):
    (tmp_path / "bin").mkdir()
    linker = tmp_path / "bin/ld.lld"
    linker.write_text("#!/bin/sh\nexit 0\n")
    linker.chmod(0o755)
    path = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    message = error_of("compile", save_relu(tmp_path / "relu.onnx"), "-o", tmp_path / "relu.so", env=path)
    assert "which ld.lld should have written" in message and not (tmp_path / "relu.so").exists()


def test_a_wrong_layout_is_recognized(tmp_path):
    program = compile_small(tmp_path)  # x[2,3,8,8]
    picture = tmp_path / "x.npy"
    np.save(picture, np.zeros((2, 8, 8, 3), np.float32))
    message = error_of("run", program, "-i", f"x={picture}", status=2)
    assert (
        "it looks like NHWC where the model has NCHW: transpose it" in message and "(0, 3, 1, 2)" in message
    )
    np.save(picture, np.zeros((2, 3, 9, 8), np.float32))
    message = error_of("run", program, "-i", f"x={picture}", status=2)
    assert "--shape" in message and "looks like" not in message
