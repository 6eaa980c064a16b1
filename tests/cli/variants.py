"""Programs for several CPUs: which variant a machine takes, what all tools see then, what is refused, and sizes.

Covers: cli/commands/ compile.cc explain.cc
src/api/ export_api.cc read_request.cc rewrite_api.cc
src/base/ cpu_level.cc
src/compile/ compile_variants.cc
src/program/ join_programs.cc variants.cc
src/report/ explain_text.cc report.cc
"""

import subprocess
import sys

import intarsia
import numpy as np
import pytest
from cli_models import TensorProto, call, call_json, error_of, helper, save

FLAGS = [line for line in open("/proc/cpuinfo") if line.startswith("flags")][0].split()
ALONE = ("--fallback", "none", "--threads", "1", "--tune", "off")
FOREIGN = "sapphirerapids" if "sse4a" in FLAGS else "znver4"  # code for it has what no CPU has that runs here


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """x[1,8,12,12] -> convolution, Relu, product of 8-bit numbers -> y[1,16,12,10]."""
    random = np.random.default_rng(3)
    constants = [
        ("w", random.normal(size=(16, 8, 3, 3)).astype(np.float32)),
        ("s", np.float32(0.05)),
        ("z", np.uint8(128)),
        ("m", random.integers(-127, 128, (12, 10)).astype(np.int8)),
        ("ms", np.float32(0.01)),
    ]
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], "conv", pads=[1] * 4),
        helper.make_node("Relu", ["c"], ["r"], "relu"),
        helper.make_node("QuantizeLinear", ["r", "s", "z"], ["q"], "quantize"),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"], "back"),
        helper.make_node("DequantizeLinear", ["m", "ms"], ["md"], "weights"),
        helper.make_node("MatMul", ["d", "md"], ["y"], "product"),
    ]
    inputs = [("x", TensorProto.FLOAT, [1, 8, 12, 12])]
    outputs = [("y", TensorProto.FLOAT, [1, 16, 12, 10])]
    return save(tmp_path_factory.mktemp("model") / "net.onnx", nodes, inputs, outputs, constants)


def run(program):
    x = np.random.default_rng(2).normal(size=(1, 8, 12, 12)).astype(np.float32)
    return intarsia.load(program).bind(threads=1).run({"x": x})["y"]


def test_the_most_demanding_that_runs_is_taken(model, tmp_path):
    program = tmp_path / "net.so"
    report = call_json("compile", model, "-o", program, "--cpu", "x86-64-v2,native", *ALONE)
    assert [variant["cpu"] for variant in report["variants"]] == ["native", "x86-64-v2"]
    assert [variant["taken"] for variant in report["variants"]] == [True, False]
    explained = call_json("explain", program)
    taken, other = explained["variants"]
    assert taken["taken"] and taken["runs_here"] and taken["why_not"] is None and not other["taken"]
    assert other["features"] == ["x86-64-v2"] and other["runs_here"] and len(taken["features"]) >= 1
    assert explained["size"] == report["size"] and explained["size"]["variants_bytes"] > 0
    text = call("explain", program).stdout
    assert "taken here" in text and "x86-64-v2: runs here, too" in text
    alone = tmp_path / "alone.so"
    call("compile", model, "-o", alone, "--cpu", "native", *ALONE)
    assert np.array_equal(run(program), run(alone))
    assert call_json("explain", alone)["variants"] is None
    call("check", program, "--rtol", "0.02")
    call("run", program)
    call("bench", program, "--seconds", "0.1")


def test_a_lesser_one_runs_where_the_best_cannot(model, tmp_path):
    program, alone = tmp_path / "net.so", tmp_path / "alone.so"
    report = call_json("compile", model, "-o", program, "--cpu", f"x86-64-v2,{FOREIGN},x86-64-v3", *ALONE)
    assert [variant["cpu"] for variant in report["variants"]] == [FOREIGN, "x86-64-v3", "x86-64-v2"]
    assert [variant["taken"] for variant in report["variants"]] == [False, True, False]
    assert "this CPU lacks" in call_json("explain", program)["variants"][0]["why_not"]
    call("compile", model, "-o", alone, "--cpu", "x86-64-v3", *ALONE)
    assert np.array_equal(run(program), run(alone))
    call("check", program, "--rtol", "0.02")
    assert (
        f"{FOREIGN} (not here), x86-64-v3 (taken here), x86-64-v2"
        in call("compile", model, "-o", program, "--cpu", f"x86-64-v2,{FOREIGN},x86-64-v3", *ALONE).stdout
    )


def test_bytes_in_memory_and_python(model, tmp_path):
    compiled = intarsia.compile(model, cpu="x86-64-v2,x86-64-v3", fallback="none", threads=1, tune="off")
    assert [variant["cpu"] for variant in compiled.report["variants"]] == ["x86-64-v3", "x86-64-v2"]
    program = tmp_path / "net.so"
    compiled.save(program)
    assert np.array_equal(run(program), run(program.read_bytes()))
    sizes = {}
    for cpu in ("x86-64-v2", "x86-64-v3"):
        intarsia.compile(model, cpu=cpu, fallback="none", threads=1, tune="off").save(tmp_path / f"{cpu}.so")
        sizes[cpu] = (tmp_path / f"{cpu}.so").stat().st_size
    assert program.stat().st_size <= sum(sizes.values()) + 4096


def test_in_pipelines_and_tensorflow(model, tmp_path):
    program, alone = tmp_path / "net.so", tmp_path / "alone.so"
    call("compile", model, "-o", program, "--cpu", f"x86-64-v2,{FOREIGN},x86-64-v3", *ALONE)
    call("compile", model, "-o", alone, "--cpu", "x86-64-v3", *ALONE)
    want = run(alone)
    x = np.random.default_rng(2).normal(size=(1, 8, 12, 12)).astype(np.float32)
    with intarsia.PipelineBuilder().add("net", intarsia.load(program)).start() as pipeline:
        for frame in pipeline.run_all([{"x": x}, {"x": x}], progress=False):
            assert np.allclose(frame.outputs["y"], want, rtol=1e-3, atol=1e-4)
    in_tensorflow = """
import sys, numpy, intarsia.tensorflow
made = intarsia.tensorflow.call(sys.argv[1], "main", [numpy.load(sys.argv[2])])
numpy.save(sys.argv[3], made)
"""
    np.save(tmp_path / "x.npy", x)
    files = (program, tmp_path / "x.npy", tmp_path / "y.npy")
    subprocess.run([sys.executable, "-c", in_tensorflow, *files], check=True, timeout=120)
    assert np.allclose(np.load(files[2]), want, rtol=1e-3, atol=1e-4)


def test_precisions(model, tmp_path):
    several = ("--cpu", "x86-64-v2,x86-64-v3,sapphirerapids")
    why = error_of("compile", model, "--precision", "bf16", *several, status=2)
    assert "code for x86-64-v3 has no products of bf16" in why
    report = call_json("compile", model, "--precision", "auto", "--dry-run", *several, *ALONE)
    tried = {variant["cpu"]: variant["products"]["tried"] for variant in report["variants"]}
    assert tried["x86-64-v3"] in ("f16", None) and tried["x86-64-v2"] is None
    program = tmp_path / "net.so"
    both = ("--cpu", "znver4,sapphirerapids", "--precision", "bf16")
    report = call_json("compile", model, "-o", program, *both, *ALONE)
    assert {variant["products"]["precision"] for variant in report["variants"]} == {"bf16"}
    assert {variant["precision"] for variant in call_json("explain", program)["variants"]} == {"bf16"}


def test_wrong_uses(model, tmp_path):
    for cpus, why in {
        "x86-64-v2,,native": "name 2 is empty; want names between commas",
        "native,": "name 2 is empty",
        "native,native": "native is named twice; name each CPU once",
        "native,i386": "--cpu i386: want native, x86-64-v2",
    }.items():
        assert why in error_of("compile", model, "-o", tmp_path / "net.so", "--cpu", cpus, status=2)
    plan = ("--save-plan", tmp_path / "plan.json")
    why = error_of(
        "compile", model, "-o", tmp_path / "net.so", "--cpu", "x86-64-v2,x86-64-v3", *plan, status=2
    )
    assert "plans for several CPUs (--cpu x86-64-v2,x86-64-v3) differ; name one CPU" in why
    assert "name one" in error_of(
        "rewrite", tmp_path, tmp_path / "out", "--cpu", "x86-64-v2,x86-64-v3", status=2
    )


def test_damage(model, tmp_path):
    program = tmp_path / "net.so"
    call("compile", model, "-o", program, "--cpu", "x86-64-v2,x86-64-v3", *ALONE)
    good = program.read_bytes()
    for place in (-60, -200, -len(good) // 20):
        bad = bytearray(good)
        bad[place] ^= 64
        program.write_bytes(bad)
        assert "damaged" in error_of("run", program)
    program.write_bytes(good[:-64])
    assert "truncated" in error_of("run", program)
