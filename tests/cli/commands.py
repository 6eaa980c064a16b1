"""Every command of the command line, as a user types it.

Covers: cli/commands/ check.cc compile.cc devices.cc explain.cc run.cc
cli/usage/ compile_options.cc
cli/system/ files.cc
cli/inputs/ inputs.cc npy.cc npy_header.cc
cli/ main.cc
cli/text/ print.cc progress.cc
cli/results/ trace.cc
src/compile/ assign_arenas.cc program_source.cc
src/report/ report.cc
backends/kernels/ kernel_library.cc load.cc target.cc
src/target/ absent_target.cc
registry/ compile_services.cc halide_absent.cc halide_present.cc onnxruntime_target.cc run_backends.cc
"""

import contextlib
import json
import os
import pty
import re
import shutil
import subprocess
from itertools import pairwise

import numpy as np
import pytest
from cli_models import (
    INTARSIA,
    LIGHT_MODELS,
    build_kernel,
    call,
    call_json,
    compile_small,
    save,
    save_relu,
    save_small,
    without_progress,
)
from trace_events import read_trace

from onnx import TensorProto, helper

SQUEEZENET = LIGHT_MODELS / "light_squeezenet.onnx"


def test_first_minutes_of_a_new_user(tmp_path):
    program = tmp_path / "squeezenet.so"
    call("compile", SQUEEZENET, "-o", program, "--backends", "reference")
    assert "softmaxout_1" in call("run", program).stdout
    assert "reference@cpu" in call("explain", program).stdout
    assert call_json("check", program, "--against", "reference")["ok"]


def test_help_and_version():
    assert "compile" in call("--help").stdout
    for command in ("compile", "run", "check", "bench", "explain", "devices"):
        assert "--json" in call(command, "--help").stdout
    assert call("--version").stdout.startswith("intarsia ")


def test_compile_report(tmp_path):
    program = tmp_path / "small.so"
    report = call_json(
        "compile", save_small(tmp_path / "small.onnx"), "-o", program, "--backends", "reference"
    )
    assert report["program"] == str(program) and program.exists()
    assert report["inputs"] == [{"name": "x", "dtype": "f32", "shape": [2, 3, 8, 8]}]
    assert report["outputs"] == [{"name": "y", "dtype": "f32", "shape": [2, 5]}]
    (region,) = report["regions"]
    assert region["id"] == 0 and region["target"] == "reference@cpu" and region["nodes"] == 5
    assert region["source_nodes"] == ["conv1", "relu1", "pool1", "flatten1", "gemm1"]
    assert report["copies"] == []
    assert (
        report["predicted_ms"] is None
        and report["measured_ms"] is None
        and report["single_backend_ms"] is None
    )
    assert report["model_weights_bytes"] == 4 * (4 * 27 + 20 + 5)
    assert report["constants_bytes"] > 0 and report["arena_bytes"] > 0 and report["compile_seconds"] > 0


def test_program_goes_here_by_default(tmp_path):
    save_small(tmp_path / "small.onnx")
    call("compile", "small.onnx", "--backends", "reference", cwd=tmp_path)
    assert (tmp_path / "small.so").exists()


def test_dry_run_and_stop_after_write_nothing(tmp_path):
    model = save_small(tmp_path / "small.onnx")
    report = call_json("compile", model, "-o", tmp_path / "x.so", "--dry-run")
    assert report["program"] is None and report["regions"]
    done = call(
        "compile",
        model,
        "-o",
        tmp_path / "x.so",
        "--stop-after",
        "infer_types",
        "--print-after",
        "infer_types",
    )
    assert "# after infer_types" in done.stdout and "Conv" in done.stdout
    report = call_json("compile", model, "-o", tmp_path / "x.so", "--stop-after", "import")
    assert report["regions"] == [] and report["constants_bytes"] is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small.onnx"]


def test_only_json_on_standard_output(tmp_path):
    done = call(
        "compile", save_small(tmp_path / "small.onnx"), "--dry-run", "--json", "--print-after", "place_nodes"
    )
    json.loads(done.stdout)
    assert "conv1 (Conv): " in done.stderr


def percentages(*command):
    """What the bar shows on a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([INTARSIA, *map(str, command)], stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while more := os.read(ours, 4096):
                shown += more
        os.close(ours)
        assert b"%" not in process.stdout.read()
    assert process.returncode == 0, shown[-2000:].decode()
    assert shown == b"" or shown.endswith(b"\r\033[K")
    return [(int(number), phase.decode()) for number, phase in re.findall(rb"\] +(\d+)% (\w+)", shown)]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


def test_progress_counts_what_takes_the_time(tmp_path, cache):
    """Passes are quick; kernels are generated and timed in many small steps of the bar."""
    shown = percentages(
        "compile", LIGHT_MODELS / "light_squeezenet.onnx", "-o", tmp_path / "net.so", "--cache", cache
    )
    passes = [number for number, phase in shown if phase == "import"]
    is_making = [phase in ("generate_code", "tune") for _, phase in shown]
    making = [number for (number, _), made in zip(shown, is_making) if made]
    assert max(passes) < 10 and max(making) - min(making) > 40
    # Where plans are compared between two of these, the bar has moved for that.
    steps = [b - a for i, ((a, _), (b, _)) in enumerate(pairwise(shown)) if is_making[i] and is_making[i + 1]]
    assert len(steps) > 40 and max(steps) < 10, shown


def test_one_bar_that_never_goes_back(tmp_path):
    """Even if a model is compiled several times to compare plans. Each compile has a cache of its own: one whose times
    are all known has little to show."""
    model, small = LIGHT_MODELS / "light_squeezenet.onnx", save_small(tmp_path / "small.onnx")
    for command in (
        ("compile", model, "-o", tmp_path / "net.so", "--cache", tmp_path / "for_net"),
        (
            "compile",
            small,
            "-o",
            tmp_path / "small.so",
            "--backends",
            "halide,onnxruntime,reference",
            "--pin",
            "relu1=reference@cpu",
            "--cache",
            tmp_path / "for_compile",
        ),
        ("check", small, "--cache", tmp_path / "for_check"),
        ("bench", small, "-t", "0.5", "--cache", tmp_path / "for_bench"),
    ):
        shown = percentages(*command)
        numbers = [number for number, _ in shown]
        assert numbers == sorted(numbers) and len(set(numbers)) > 10, shown
    assert percentages("compile", small, "-o", tmp_path / "small.so", "-q") == []


def test_progress_is_not_output(tmp_path):
    """Standard output holds only the report, and its reader may end early."""
    model, program = save_small(tmp_path / "small.onnx"), tmp_path / "small.so"
    done = call("compile", model, "-o", program)
    assert done.stdout.startswith(f"{model} -> {program}") and without_progress(done.stderr) == ""
    squeezenet = LIGHT_MODELS / "light_squeezenet.onnx"
    done = call("compile", squeezenet, "-o", program, "--tune", "off", "--cache", tmp_path / "new", "-v")
    assert "progress: generate_code took " in done.stderr and "progress: " not in done.stdout
    program.unlink()
    with subprocess.Popen([INTARSIA, "compile", model, "-o", program], stdout=subprocess.PIPE) as process:
        process.stdout.close()
    assert program.exists()
    assert "excludes" in call("compile", model, "-q", "-v", status=2).stderr


def test_core_sets_share_memory_and_keep_to_their_cores(tmp_path):
    program = tmp_path / "cores.so"
    first, last = min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))
    report = call_json(
        "compile",
        save_small(tmp_path / "small.onnx"),
        "-o",
        program,
        "-d",
        f"a=cpu:{first},b=cpu:{last}",
        "--pin",
        "relu1=reference@b",
        "--backends",
        "halide,reference",
        "--threads",
        "2",
    )
    assert [(slot["device"], slot["cores"]) for slot in report["slots"]] == [
        (f"cpu:{first}", "exact"),
        (f"cpu:{last}", "exact"),
    ]
    assert report["copies"] == [] and len(report["regions"]) > 1
    assert call_json("check", program)["ok"]
    assert call_json("run", program, "-o", tmp_path / "out", "--bind", "a=cpu", "--bind", f"b=cpu:{first}")[
        "outputs"
    ]
    error = call("run", program, "--bind", "a=cpu:4000", status=1).stderr
    assert "device 'cpu:4000': this process may use the CPUs" in error
    error = call("compile", tmp_path / "small.onnx", "-o", program, "-d", "cpu:1-0", status=2).stderr
    assert "--devices cpu:1-0: '1-0': the range ends before it begins" in error


def test_copies_between_devices(tmp_path):
    program = tmp_path / "two.so"
    report = call_json(
        "compile",
        save_small(tmp_path / "small.onnx"),
        "-o",
        program,
        "-d",
        "cpu,accel=sim:0",
        "--backends",
        "reference",
        "--pin",
        "relu1=reference@accel",
    )
    assert [slot["name"] for slot in report["slots"]] == ["cpu", "accel"]
    assert [region["target"] for region in report["regions"]] == [
        "reference@cpu",
        "reference@accel",
        "reference@cpu",
    ]
    size = 2 * 4 * 8 * 8 * 4
    expected = [
        {"value": "c", "from": "cpu", "to": "accel", "bytes": size},
        {"value": "r", "from": "accel", "to": "cpu", "bytes": size},
    ]
    assert report["copies"] == expected
    explained = call_json("explain", program)
    assert explained["copies"] == expected
    assert (
        explained["nodes"][1]["target"] == "reference@accel"
        and explained["nodes"][1]["reason"] == "pinned by the user"
    )
    here = call_json("run", program, "-o", tmp_path / "here")["outputs"][0]["file"]
    there = call_json("run", program, "-o", tmp_path / "there", "--bind", "accel=sim:1?latency_us=1")[
        "outputs"
    ][0]["file"]
    assert np.array_equal(np.load(here), np.load(there))
    report = call_json("run", program, "-o", tmp_path / "dump", "--dump", "[cr]")
    assert {entry["name"] for entry in report["dumped"]} == {"dump.c", "dump.r"}
    assert np.load(report["dumped"][0]["file"]).shape == (2, 4, 8, 8)


def test_run_given_inputs(tmp_path):
    program = tmp_path / "relu.so"
    call("compile", save_relu(tmp_path / "relu.onnx"), "-o", program, "--backends", "reference")
    x = np.array([[-1, 2, -3], [4, -5, 6]], np.float32)
    for name, array in (("c.npy", x), ("fortran.npy", np.asfortranarray(x))):
        np.save(tmp_path / name, array)
        report = call_json("run", program, "-i", f"x={tmp_path / name}", "-o", tmp_path / "out")
        assert report["inputs"] == [
            {"name": "x", "dtype": "f32", "shape": [2, 3], "filled": False, "conversion": None}
        ]
        assert report["function"] == "main" and report["milliseconds"] > 0
        assert np.array_equal(np.load(report["outputs"][0]["file"]), np.maximum(x, 0))


def test_trace(tmp_path):
    """Every run leaves its regions on the device's row, each over its kernels."""
    program, trace = tmp_path / "relu.so", tmp_path / "trace.json"
    call("compile", save_relu(tmp_path / "relu.onnx"), "-o", program)
    assert call_json("run", program, "--runs", "3", "--trace", trace)["trace"] == str(trace)
    rows = read_trace(trace).rows
    assert rows.keys() == {("session", "cpu")}
    work = rows["session", "cpu"]
    assert [one.category for one in work] == ["region", "kernel"] * 3
    for region, kernel in zip(work[::2], work[1::2], strict=True):
        assert kernel.name.endswith(": Relu") and kernel.parent is region and region.parent is None


DTYPES = {
    "bool": TensorProto.BOOL,
    "int8": TensorProto.INT8,
    "uint8": TensorProto.UINT8,
    "int16": TensorProto.INT16,
    "uint16": TensorProto.UINT16,
    "int32": TensorProto.INT32,
    "uint32": TensorProto.UINT32,
    "int64": TensorProto.INT64,
    "uint64": TensorProto.UINT64,
    "float16": TensorProto.FLOAT16,
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
    "complex64": TensorProto.COMPLEX64,
    "complex128": TensorProto.COMPLEX128,
    "S5": TensorProto.STRING,
    "U5": TensorProto.STRING,
}


@pytest.mark.parametrize("dtype", DTYPES)
def test_npy_of_every_dtype(tmp_path, dtype):
    """Identity returns the file's values."""
    program = tmp_path / "same.so"
    call(
        "compile",
        save_relu(tmp_path / "same.onnx", DTYPES[dtype], (3, 2), "Identity"),
        "-o",
        program,
        "--backends",
        "reference",
    )
    values = (
        np.array([["a", "bc"], ["", "xyz"], ["ü", "12345"]])
        if dtype == "U5"
        else np.array([[0, 1], [1, 0], [1, 1]]).astype(dtype)
    )
    np.save(tmp_path / "x.npy", values)
    got = np.load(
        call_json("run", program, "-i", f"x={tmp_path / 'x.npy'}", "-o", tmp_path)["outputs"][0]["file"]
    )
    assert np.array_equal(np.char.encode(values, "utf-8") if dtype == "U5" else values, got)
    assert dtype in ("S5", "U5") or got.dtype == values.dtype
    if dtype not in ("S5", "U5"):
        assert call_json("run", program)["inputs"][0]["filled"]


@pytest.mark.parametrize(
    "dtype,raw",
    [
        (TensorProto.BFLOAT16, "V2"),
        (TensorProto.FLOAT8E4M3FN, "V1"),
        (TensorProto.INT4, "i1"),
        (TensorProto.UINT4, "u1"),
    ],
)
def test_npy_of_types_that_numpy_lacks(tmp_path, dtype, raw):
    program = tmp_path / "same.so"
    model = save(
        tmp_path / "same.onnx",
        [helper.make_node("Identity", ["x"], ["y"])],
        [("x", dtype, [3])],
        [("y", dtype, [3])],
        opsets=[("", 21)],
    )
    call("compile", model, "-o", program, "--backends", "reference")
    values = np.frombuffer(bytes([1, 2, 3, 4, 5, 6]), raw)[:3]
    np.save(tmp_path / "x.npy", values)
    got = np.load(
        call_json("run", program, "-i", f"x={tmp_path / 'x.npy'}", "-o", tmp_path)["outputs"][0]["file"]
    )
    assert got.tobytes() == values.tobytes()


def test_scalars_and_empty_tensors(tmp_path):
    for shape in ((), (0, 3), (3, 0)):
        program = tmp_path / "relu.so"
        call(
            "compile",
            save_relu(tmp_path / "relu.onnx", shape=shape),
            "-o",
            program,
            "--backends",
            "reference",
        )
        got = np.load(call_json("run", program, "-o", tmp_path)["outputs"][0]["file"])
        assert got.shape == shape


def test_file_names_are_safe(tmp_path):
    model = save(
        tmp_path / "names.onnx",
        [helper.make_node("Relu", ["x"], ["../a/b:0"]), helper.make_node("Neg", ["x"], ["../a/b_0"])],
        [("x", TensorProto.FLOAT, [2])],
        [("../a/b:0", TensorProto.FLOAT, [2]), ("../a/b_0", TensorProto.FLOAT, [2])],
    )
    call("compile", model, "-o", tmp_path / "names.so", "--backends", "reference")
    files = [
        output["file"]
        for output in call_json("run", tmp_path / "names.so", "-o", tmp_path / "out")["outputs"]
    ]
    assert len(set(files)) == 2 and sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "_.._a_b_0.npy",
        "_.._a_b_0_2.npy",
    ]


def test_check_model_and_program(tmp_path):
    model = save_small(tmp_path / "small.onnx")
    for against in ("reference", "onnxruntime"):
        report = call_json("check", model, "--backends", "reference", "--against", against)
        assert (
            report["ok"]
            and report["against"] == against
            and report["first_bad_node"] is None
            and report["warnings"] == []
        )
        (output,) = report["outputs"]
        assert (
            output["name"] == "y" and output["ok"] and output["max_abs"] < 1e-4 and output["max_rel"] < 1e-4
        )
    program = compile_small(tmp_path)
    assert call_json("check", program)["ok"]
    np.save(tmp_path / "x.npy", np.ones((2, 3, 8, 8), np.float32))
    report = call_json("check", program, "-i", f"x={tmp_path / 'x.npy'}")
    assert report["ok"] and not report["inputs"][0]["filled"]


def test_check_finds_a_difference(tmp_path):
    program = compile_small(tmp_path)
    other = save_small(tmp_path / "other.onnx", scale=1.01)
    report = call_json("check", program, "--model", other, status=1)
    assert not report["ok"] and "differs by" in report["outputs"][0]["why"]
    assert call_json("check", program, "--model", other, "--rtol", "0.1")["ok"]


def test_check_warns_of_constant_outputs(tmp_path):
    model = save(
        tmp_path / "zero.onnx",
        [helper.make_node("Mul", ["x", "zero"], ["y"])],
        [("x", TensorProto.FLOAT, [3])],
        [("y", TensorProto.FLOAT, [3])],
        [("zero", np.zeros(3, np.float32))],
    )
    report = call_json("check", model, "--backends", "reference")
    assert report["ok"] and "'y' hardly depends on the inputs" in report["warnings"][0]


def test_check_of_sequences(tmp_path):
    model = save(
        tmp_path / "split.onnx",
        [helper.make_node("SplitToSequence", ["x"], ["s"], axis=0)],
        [("x", TensorProto.FLOAT, [3, 2])],
        [],
    )
    import onnx

    proto = onnx.load(model)
    proto.graph.output.append(helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None))
    onnx.save(proto, model)
    report = call_json("check", model)
    assert report["ok"] and [output["name"] for output in report["outputs"]] == ["s[0]", "s[1]", "s[2]"]
    call("compile", model, "-o", tmp_path / "split.so")
    (output,) = call_json("run", tmp_path / "split.so", "-o", tmp_path / "out")["outputs"]
    assert [np.load(item["file"]).shape for item in output["items"]] == [(1, 2)] * 3


def test_devices():
    report = call_json("devices")
    assert "cpu" in [device["name"] for device in report["devices"]]
    backends = {backend["name"]: backend for backend in report["backends"]}
    assert backends["reference"]["present"]


def test_strip_names(tmp_path):
    program = compile_small(tmp_path, "--strip-names")
    assert b"conv1" not in program.read_bytes()
    assert {node["name"] for node in call_json("explain", program)["nodes"]} == {""}


def test_no_framework(tmp_path):
    absent = {"INTARSIA_ONNXRUNTIME": str(tmp_path / "nowhere")}
    model = save_small(tmp_path / "small.onnx")
    assert call_json("check", model, env=absent)["against"] == "reference"
    (entry,) = [one for one in call_json("devices", env=absent)["backends"] if one["name"] == "onnxruntime"]
    assert not entry["present"] and "no ONNX Runtime can be opened" in entry["why"]
    strange = save(
        tmp_path / "strange.onnx",
        [helper.make_node("Strange", ["x"], ["y"], domain="my.ops")],
        [("x", TensorProto.FLOAT, [2])],
        [("y", TensorProto.FLOAT, [2])],
        opsets=[("", 18), ("my.ops", 1)],
        checked=False,
    )
    message = call("compile", strange, "-o", tmp_path / "x.so", env=absent, status=1).stderr
    assert "no ONNX Runtime can be opened" in message and "my.ops.Strange" in message


def test_run_needs_no_compiler(tmp_path):
    """The executable with only the run half."""
    program = compile_small(tmp_path)
    alone = tmp_path / "alone"
    alone.mkdir()
    linked = subprocess.run(["ldd", INTARSIA], capture_output=True, text=True, check=True).stdout
    library = next(
        line.split()[2] for line in linked.splitlines() if line.split()[0].startswith("libintarsia.so")
    )
    shutil.copy(library, alone / library.rsplit("/", 1)[1])
    environment = {"LD_LIBRARY_PATH": str(alone)}
    assert "y" in call("run", program, env=environment).stdout


def test_own_kernels(tmp_path):
    library = build_kernel(tmp_path, "my.ops", "Strange", "2 * x + 1")
    model = save(
        tmp_path / "strange.onnx",
        [
            helper.make_node("Strange", ["x"], ["a"], "s", domain="my.ops"),
            helper.make_node("Neg", ["a"], ["y"], "n"),
        ],
        [("x", TensorProto.FLOAT, [3])],
        [("y", TensorProto.FLOAT, [3])],
        opsets=[("", 18), ("my.ops", 1)],
        checked=False,
    )
    program = tmp_path / "strange.so"
    report = call_json("compile", model, "-o", program, "--kernels", library, "--backends", "reference")
    assert [region["target"] for region in report["regions"]] == ["kernels@cpu", "reference@cpu"]
    np.save(tmp_path / "x.npy", np.array([1, 2, 3], np.float32))
    got = np.load(
        call_json("run", program, "-i", f"x={tmp_path / 'x.npy'}", "-o", tmp_path)["outputs"][0]["file"]
    )
    assert got.tolist() == [-3, -5, -7]


def test_bisect_finds_nothing_where_nothing_is_wrong(tmp_path):
    model = save_small(tmp_path / "small.onnx")
    assert call_json("check", model, "--bisect")["first_bad_node"] is None
    assert call_json("check", compile_small(tmp_path), "--bisect")["first_bad_node"] is None
