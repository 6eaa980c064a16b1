"""Products of f32 that round their factors: the error that a compile measures, shows and bounds, what `check` allows then, and
processors without such products.

Covers: cli/commands/ compile.cc
cli/usage/ compile_options.cc
src/api/ read_request.cc
src/compile/ compile_precision.cc
src/measure/ measure_rounding.cc
src/report/ report.cc
"""

import intarsia
import numpy as np
import pytest
from cli_models import TensorProto, call, call_json, error_of, helper, save

FLAGS = [line for line in open("/proc/cpuinfo") if line.startswith("flags")][0].split()
HAS_BF16 = "avx512_bf16" in FLAGS
needs_bf16 = pytest.mark.skipif(not HAS_BF16, reason="this CPU has no products of bf16")
ALONE = ("--fallback", "none", "--threads", "1")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """x[64,96] -> product, bias, Relu, product -> y[64,48]."""
    random = np.random.default_rng(3)
    constants = [
        ("w", random.normal(size=(96, 160)).astype(np.float32)),
        ("b", random.normal(size=160).astype(np.float32)),
        ("v", random.normal(size=(160, 48)).astype(np.float32)),
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"]),
        helper.make_node("Add", ["m", "b"], ["a"]),
        helper.make_node("Relu", ["a"], ["r"]),
        helper.make_node("MatMul", ["r", "v"], ["y"]),
    ]
    inputs, outputs = [("x", TensorProto.FLOAT, [64, 96])], [("y", TensorProto.FLOAT, [64, 48])]
    return save(tmp_path_factory.mktemp("model") / "net.onnx", nodes, inputs, outputs, constants)


@needs_bf16
def test_the_error_is_what_the_programs_differ_by(model, tmp_path):
    """On AMX all products round; where it is missing, only those for which that is faster."""
    x = np.random.default_rng(1).normal(size=(64, 96)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    outputs = {}
    for precision in ("f32", "bf16"):
        given = ["-i", tmp_path / "x.npy"] if precision == "bf16" else []
        program = tmp_path / f"{precision}.so"
        report = call_json("compile", model, "-o", program, "--precision", precision, *given, *ALONE)
        outputs[precision] = intarsia.load(program).bind(threads=1).run({"x": x})["y"]
    products = report["products"]
    error = np.abs(outputs["bf16"] - outputs["f32"]).max() / np.abs(outputs["f32"]).max()
    assert products["precision"] == "bf16" and products["output"] == "y" and products["max_error"] is None
    assert products["error"] == pytest.approx(error, rel=1e-3, abs=1e-9) and error < 0.02
    if "amx_tile" in FLAGS:
        assert error > 1e-5
    call("check", tmp_path / "bf16.so")  # with the tolerance of bf16
    if error > 1e-3:
        assert "differs" in error_of("check", tmp_path / "bf16.so", "--rtol", 1e-6)


@needs_bf16
def test_auto_ships_what_the_limit_allows(model, tmp_path):
    program = tmp_path / "net.so"
    report = call_json("compile", model, "-o", program, "--precision", "auto", "--max-error", 0.5, *ALONE)
    assert report["products"]["precision"] == "bf16" and report["products"]["max_error"] == 0.5
    if report["products"]["error"] == 0:
        pytest.skip("products in f32 are faster on this machine")
    text = call("compile", model, "-o", program, "--precision", "auto", "--max-error", 1e-9, *ALONE).stdout
    if "precision f16" not in text:  # where f16 was not faster either, it differs by nothing
        assert "precision f32: in f16 'y' differs" in text and "more than 1e-09" in text
    call("check", program, "--rtol", 1e-5)
    compiled = intarsia.compile(
        model, precision="auto", max_error=0.5, inputs={"x": np.ones((64, 96), np.float32)}
    )
    assert compiled.report["products"]["error"] < 0.5


def test_weights_are_kept_as_f16(model, tmp_path):
    """With --optimize size all of them are, so that the program has half of the weights' bytes."""
    reports, sizes = {}, {}
    for precision in ("f32", "f16"):
        program = tmp_path / f"{precision}.so"
        options = ("--precision", precision, "--optimize", "size", "--cpu", "x86-64-v3", *ALONE)
        reports[precision] = call_json("compile", model, "-o", program, *options)
        sizes[precision] = reports[precision]["constants_bytes"]
    products = reports["f16"]["products"]
    assert products["precision"] == products["tried"] == "f16" and 1e-6 < products["error"] < 2e-3
    assert sizes["f16"] < 0.55 * sizes["f32"]
    call("check", tmp_path / "f16.so")
    assert "differs" in error_of("check", tmp_path / "f16.so", "--rtol", 1e-7, "--atol", 0)
    text = call("compile", model, "--precision", "f16", "--dry-run", "--optimize", "size", *ALONE).stdout
    assert "precision f16: 'y' differs from that in f32 by" in text


def test_auto_takes_f16_where_bf16_is_too_rough(model, tmp_path):
    options = ("--precision", "auto", "--optimize", "size", "--cpu", "x86-64-v3", *ALONE)
    within = call_json("compile", model, "--dry-run", *options)["products"]
    assert within["precision"] == within["tried"] == "f16" and within["error"] < within["max_error"] == 0.01
    beyond = call_json("compile", model, "--dry-run", "--max-error", 1e-6, *options)["products"]
    assert beyond["precision"] == "f32" and beyond["tried"] == "f16" and beyond["error"] > 1e-6


def test_where_products_cannot_round(model, tmp_path):
    level = ("--cpu", "x86-64-v3")
    assert "--cpu native, sapphirerapids or znver4" in error_of(
        "compile", model, "--precision", "bf16", *level, status=2
    )
    oldest = ("--cpu", "x86-64-v2")
    assert "use --cpu x86-64-v3" in error_of("compile", model, "--precision", "f16", *oldest, status=2)
    report = call_json("compile", model, "--precision", "auto", "--dry-run", *oldest, *ALONE)
    assert report["products"]["precision"] == "f32" and "--cpu x86-64-v3" in report["products"]["why_not"]
    assert report["products"]["error"] is None
    for cpu in ("sapphirerapids", "znver4"):  # named, whether or not this machine runs it
        program = tmp_path / f"{cpu}.so"
        compiled = call_json("compile", model, "-o", program, "--precision", "bf16", "--cpu", cpu, *ALONE)
        assert compiled["products"]["precision"] == "bf16"
        demands = program.read_bytes()
        assert (b"amx-tile" in demands) == (cpu == "sapphirerapids") and b"avx512bf16" in demands
        runs = intarsia.compile(model, cpu=cpu, dry_run=True).report["tuning"]["disabled_reason"] is None
        if not runs:
            assert "lacks" in error_of("run", program) and "measured" in compiled["products"]["why_not"]
    for cpu in ("alderlake", "cascadelake"):  # products of 8 bits only
        why = error_of("compile", model, "--precision", "bf16", "--cpu", cpu, status=2)
        assert f"code for {cpu} has no products of bf16" in why
    if not HAS_BF16:
        assert "avx512bf16" in error_of("compile", model, "--precision", "bf16", status=2)


def test_wrong_uses(model, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((64, 96), np.float32))
    assert "only --precision auto has a limit" in error_of("compile", model, "--max-error", 0.1, status=2)
    assert "--precision bf16, f16 or auto" in error_of("compile", model, "-i", tmp_path / "x.npy", status=2)
    auto = error_of("rewrite", tmp_path, tmp_path / "out", "--precision", "auto", status=2)
    assert "use bf16, f16 or f32" in auto
    assert "f8 not in" in error_of("compile", model, "--precision", "f8", status=2)
    assert call_json("compile", model, "--dry-run", *ALONE)["products"] is None
