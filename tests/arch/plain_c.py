"""Plain C for another architecture, built with its compiler and run there by an emulator, computes what programs for this machine
compute, on inputs that are not those of its own test.

Covers: src/emit_c/ archive.cc elf_file.cc
"""

import json
import os
import subprocess

import keyword_spotting
import onnx
import pytest
from cli_models import SOURCE, call_json
from control_flow_models import save_scan
from emitted_c import STRICT, build, compare, emit, writable_sections
from programs import ARCH, RUNNER
from rounds import one_in
from small_models import attention, convolutions, functions, lstm, quantized
from user_kernels import save_scales, write_kernel

COMPILER = os.environ["INTARSIA_CC"]
THERE = {"there": ("--arch", ARCH), "compiler": COMPILER, "runner": RUNNER[:-1]}
MODELS = ("mobilenetv2", "resnet50")


@pytest.mark.parametrize("make", [convolutions, functions, attention, lstm], ids=lambda make: make.__name__)
def test_it_computes_the_same(tmp_path, make):
    make(tmp_path / "model.onnx")
    compare(tmp_path / "model.onnx", tmp_path, **THERE)


def test_integers_of_8_bits_are_exact(tmp_path):
    quantized(tmp_path / "model.onnx")
    compare(tmp_path / "model.onnx", tmp_path, tolerance=0, **THERE)


@pytest.mark.parametrize("constants", ["object", "file", "array"])
def test_its_own_test_passes(tmp_path, constants):
    model = keyword_spotting.save_keyword_spotting(tmp_path / "model.onnx")
    report = emit(model, tmp_path / "c", "--arch", ARCH, "--constants", constants)
    test = build(tmp_path / "c", report, "net_test.c", compiler=COMPILER)
    done = subprocess.run(
        [*RUNNER[:-1], test], cwd=tmp_path / "c", capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0 and done.stdout.split() == "scores: ok word: ok".split(), done.stdout
    objects = [tmp_path / "c" / name for name in report["plain_c"]["files"] if name.endswith((".o", ".a"))]
    assert writable_sections(*objects) == set()


def test_keyword_spotting_in_8_bits(tmp_path):
    model = keyword_spotting.save_quantized_network(tmp_path)
    compare(model, tmp_path, tolerance=1e-4, **THERE)


def test_branches_and_loops(tmp_path):
    compare(save_scan(tmp_path / "model.onnx"), tmp_path, **THERE)


def test_kernels_of_users(tmp_path):
    source, library = write_kernel(tmp_path)
    compare(save_scales(tmp_path / "model.onnx"), tmp_path, "--kernels", library, sources=[source], **THERE)


CPUS = {"aarch64": "cortex-a72", "armv7": "cortex-a9", "riscv64": "rv64gcv"}


def test_times_of_a_board_choose_kernels(tmp_path):
    """bench/board.c runs there; a compile for the same processor knows the times of the kernels that have rivals."""
    convolutions(tmp_path / "model.onnx")
    options = ("--arch", ARCH, "--cpu", CPUS[ARCH], "--cache", tmp_path / "cache")
    before = emit(tmp_path / "model.onnx", tmp_path / "c", *options)
    flags = (*STRICT, "-DINTARSIA_PROFILE", '-DBOARD_TEST="net_test.c"', '-DBOARD_NAME="a board"')
    board = build(tmp_path / "c", before, SOURCE / "bench/board.c", compiler=COMPILER, flags=flags)
    printed = subprocess.run([*RUNNER[:-1], board], capture_output=True, text=True, timeout=300, check=True)
    (tmp_path / "times.json").write_text(printed.stdout)
    imported = call_json("costs", "import", tmp_path / "times.json", "--cache", tmp_path / "cache")
    assert (imported["cpu"], imported["machine"]) == (CPUS[ARCH], "a board")
    kernels = json.loads(printed.stdout)["kernels"]
    assert imported["taken"] == len(kernels) >= 5

    after = emit(tmp_path / "model.onnx", tmp_path / "again", *options)["tuning"]
    assert after["imported"]["machine"] == "a board" and after["disabled_reason"] is None
    assert 0 < after["remembered"] <= len(kernels) and after["measured"] == 0
    # Rivals have no time: what was timed stays.
    assert (tmp_path / "again/net.c").read_bytes() == (tmp_path / "c/net.c").read_bytes()
    exported = tmp_path / "exported.json"
    call_json("costs", "export", exported, "--cpu", CPUS[ARCH], "--cache", tmp_path / "cache")
    assert {
        kernel["digest"]: kernel["seconds"] for kernel in json.loads(exported.read_text())["kernels"]
    } == {kernel["digest"]: kernel["seconds"] for kernel in kernels}


@pytest.mark.parametrize("name", one_in(len(MODELS), MODELS))
def test_real_models_compute_the_same(tmp_path, name):
    model = SOURCE / f"build/models/{name}.onnx"
    inputs = onnx.load(model, load_external_data=False).graph.input
    shapes = [
        part
        for info in inputs
        for part in (
            "--shape",
            f"{info.name}={'x'.join(str(s.dim_value or 1) for s in info.type.tensor_type.shape.dim)}",
        )
    ]
    compare(model, tmp_path, *shapes, **THERE)
