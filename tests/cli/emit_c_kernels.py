"""`compile --emit c --kernels`: programs in plain C that call kernels of users.

Covers: src/emit_c/ plain_c.h write_user_call.cc
backends/kernels/ list_user_calls.cc user_kernels.h
"""

import shutil
import subprocess

import pytest
from cli_models import call_json, error_of
from emitted_c import STRICT, build, compare, emit, undefined_symbols, writable_sections
from onnx import TensorProto
from small_models import save
from user_kernels import save_scales, scale, write_kernel


@pytest.mark.parametrize("constants", ["object", "file", "array"])
def test_kernels_of_users_run_among_ours(tmp_path, constants):
    source, library = write_kernel(tmp_path)
    save_scales(tmp_path / "model.onnx")
    compare(tmp_path / "model.onnx", tmp_path, "--kernels", library, sources=[source])


def test_a_program_of_such_kernels_alone(tmp_path):
    source, library = write_kernel(tmp_path)
    model = tmp_path / "model.onnx"
    x, y = (("x", TensorProto.FLOAT, [4, 5]), ("y", TensorProto.FLOAT, [4, 5]))
    save(model, [scale(["x"], ["y"])], [x], [y], {}, domains=["my"])
    report = compare(model, tmp_path, "--kernels", library, sources=[source])
    assert not {"kernel_calls.h", "halide_abi.h"} & set(report["plain_c"]["files"])


def test_what_it_needs(tmp_path):
    _, library = write_kernel(tmp_path)
    save_scales(tmp_path / "model.onnx")
    report = emit(tmp_path / "model.onnx", tmp_path / "c", "--kernels", library)
    assert {"user_kernels.h", "intarsia/kernel.h"} <= set(report["plain_c"]["files"])
    for compiler in (name for name in ("gcc", "clang-19") if shutil.which(name)):
        subprocess.run([compiler, *STRICT, "-fno-pie", "-c", "net.c"], cwd=tmp_path / "c", check=True)
        needed = undefined_symbols(tmp_path / "c/net.o", tmp_path / "c/libnet_kernels.a")
        assert needed <= {"memcpy", "memset", "strcmp", "intarsia_kernels", "net_constants"}
        assert writable_sections(tmp_path / "c/net.o") == set()
        (tmp_path / "c/net.o").unlink()
    emit(tmp_path / "model.onnx", tmp_path / "c", "--kernels", library)  # replaces its own files


def test_its_own_test_passes_and_tells_a_kernel_that_fails(tmp_path):
    source, library = write_kernel(tmp_path)
    save_scales(tmp_path / "model.onnx")
    report = emit(tmp_path / "model.onnx", tmp_path / "c", "--kernels", library)
    failing, _ = write_kernel(tmp_path / "c", fails=1)
    for kernels, status in ((source, 0), (failing, 1)):
        test = build(tmp_path / "c", report, "net_test.c", kernels)
        done = subprocess.run([test], cwd=tmp_path / "c", capture_output=True, text=True, timeout=60)
        assert done.returncode == status, done.stdout
    assert "status 6" in done.stdout or "NET_KERNEL_FAILED" in done.stdout, done.stdout


def test_what_is_refused(tmp_path):
    _, library = write_kernel(tmp_path)
    model = save_scales(tmp_path / "model.onnx")
    emitting = ("compile", model, "--emit", "c", "-o", tmp_path / "c/net")
    error = error_of(*emitting)
    assert "my.Scale (3 nodes, first '/scale/b'" in error and "(--kernels)" in error, error
    assert "--backends" not in error, error
    assert "got 2 libraries" in error_of(*emitting, "--kernels", library, "--kernels", library, status=2)
    rows = ("x", TensorProto.FLOAT, ["rows", 5])
    y = ("y", TensorProto.FLOAT, ["rows", 5])
    save(tmp_path / "open.onnx", [scale(["x"], ["y"])], [rows], [y], {}, domains=["my"])
    error = error_of(
        "compile", tmp_path / "open.onnx", *emitting[2:], "--kernels", library, "--shape", "x=1..8x5"
    )
    assert "a kernel of yours" in error and "--shape" in error, error
    assert not (tmp_path / "c").exists()


def test_the_report_names_the_files(tmp_path):
    _, library = write_kernel(tmp_path)
    save_scales(tmp_path / "model.onnx")
    options = ("--emit", "c", "--kernels", library, "-o", tmp_path / "c/net", "--tune", "off")
    dry = call_json("compile", tmp_path / "model.onnx", *options, "--dry-run")
    assert "user_kernels.h" in dry["plain_c"]["files"] and not (tmp_path / "c").exists()
