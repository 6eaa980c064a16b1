"""Programs for CPUs of other architectures: what is in them, what is not measured, and what is refused. Running them is in
tests/arch/.

Covers: cli/usage/ compile_options.cc
src/api/ read_request.cc
src/base/ architecture.cc cpu_level.cc
src/compile/ emit_program.cc link_objects.cc tuning.cc
src/program/ verify_machine.cc
backends/halide/emit/ glue_object.cc
"""

import subprocess

import intarsia
import numpy as np
import pytest
from cli_models import INTARSIA, TensorProto, call, call_json, error_of, helper, save, save_small

ALONE = ("--fallback", "none")
MACHINES = {"aarch64": 183, "armv7": 40, "riscv64": 243}  # e_machine of ELF
DEFAULTS = {"aarch64": "armv8-a", "armv7": "armv7-a+neon", "riscv64": "rv64gcv"}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_small(tmp_path_factory.mktemp("model") / "net.onnx")


def skip_without_compiler(model, arch):
    """Skips where Intarsia was built without the cross compiler, which the error names."""
    command = [INTARSIA, "compile", model, "--dry-run", "--arch", arch, *ALONE]
    said = subprocess.run(command, capture_output=True, text=True, timeout=300).stderr
    if "build Intarsia again" in said:
        pytest.skip(said)


@pytest.mark.parametrize("arch", ["aarch64", "armv7", "riscv64"])
def test_a_program_for_another_architecture_says_so(model, tmp_path, arch):
    skip_without_compiler(model, arch)
    program = tmp_path / "net.so"
    report = call_json("compile", model, "-o", program, "--arch", arch, *ALONE)
    assert report["tuning"]["disabled_reason"] == f"code for {DEFAULTS[arch]} cannot run here"
    assert report["threads"] == 4
    assert int.from_bytes(program.read_bytes()[18:20], "little") == MACHINES[arch]
    explained = call_json("explain", program)
    assert (explained["arch"], explained["cpu"]) == (arch, DEFAULTS[arch])
    message = f"compiled for {arch}, but this machine is x86_64: compile the model for it (--arch x86_64)"
    assert message in error_of("run", program)
    with pytest.raises(intarsia.UnsupportedError, match=f"compiled for {arch}"):
        intarsia.load(program)
    again = tmp_path / "again.so"
    call("compile", model, "-o", again, "--arch", arch, *ALONE)
    assert again.read_bytes() == program.read_bytes()


def test_in_python(model):
    skip_without_compiler(model, "aarch64")
    compiled = intarsia.compile(model, arch="aarch64", cpu="cortex-a53", fallback="none")
    assert compiled.report["threads"] == 4


def test_this_machine_is_an_architecture_like_others(model, tmp_path):
    call("compile", model, "-o", tmp_path / "net.so", "--arch", "x86-64", "--tune", "off", *ALONE)
    call("run", tmp_path / "net.so")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--arch", "riscv64", "--cpu", "rv64gc"), "--cpu rv64gc: want rv64gcv"),
        (("--arch", "z80"), "--arch z80: want x86-64, aarch64"),
        (("--arch", "aarch64", "--cpu", "cortex-a54"), "--cpu cortex-a54: want armv8-a, "),
        (("--arch", "aarch64", "--cpu", "armv8.2-a+sve"), "--cpu armv8.2-a+sve: want armv8-a, "),
        (
            ("--arch", "aarch64", "--cpu", "x86-64-v3"),
            "--cpu x86-64-v3: it is a processor of x86_64: add --arch x86_64, or for aarch64 name armv8-a, ",
        ),
        (("--cpu", "cortex-a53"), "--cpu cortex-a53: it is a processor of aarch64: add --arch aarch64, "),
        (
            ("--arch", "aarch64", "-d", "opencl:0"),
            "-d opencl:0: programs for aarch64 (--arch) run on another machine, whose devices are not known here",
        ),
        (("--arch", "aarch64", "-d", "auto"), "-d auto: programs for aarch64"),
        (("--arch", "aarch64", "--objective", "throughput"), "name the core sets of that machine"),
        (("--arch", "aarch64", "--precision", "bf16"), "code for aarch64 has no products of bf16"),
        (("--arch", "aarch64", "--precision", "f16"), "code for aarch64 has no weights of f16"),
    ],
)
def test_what_is_refused(model, options, message):
    said = error_of("compile", model, "--dry-run", *options, *ALONE, status=2)
    assert message in said


def test_what_32_bits_cannot_hold_is_refused(model, tmp_path):
    skip_without_compiler(model, "armv7")
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["y"], "product"),
        helper.make_node("TopK", ["y", "k"], ["v", "i"], "best"),
    ]
    constants = [("w", np.ones((4, 30000), np.float32)), ("k", np.array([1]))]
    inputs, outputs = [("x", TensorProto.FLOAT, [30000, 4])], [("v", TensorProto.FLOAT, [30000, 1])]
    large = save(tmp_path / "large.onnx", nodes, inputs, outputs, constants)
    said = error_of("compile", large, "--dry-run", "--arch", "armv7", *ALONE)
    assert (
        "the program needs 3.4 GB of constants and working memory, and a process on armv7 has 2.0 GB" in said
    )
    call("compile", large, "--dry-run", "--arch", "aarch64", *ALONE)


def test_a_framework_that_is_not_there_is_refused(model):
    skip_without_compiler(model, "riscv64")
    said = error_of("compile", model, "--dry-run", "--arch", "riscv64", "--backends", "openvino")
    assert "openvino: programs for riscv64 use no framework" in said


def test_what_runs_code_is_for_this_machine(model, tmp_path):
    said = error_of("rewrite", tmp_path, tmp_path / "out", "--arch", "aarch64", status=2)
    assert "--arch aarch64: parts of a rewritten model run while they are compiled" in said
    skip_without_compiler(model, "aarch64")
    assert "compiled for aarch64, but this machine is x86_64" in error_of(
        "check", model, "--arch", "aarch64", *ALONE
    )
