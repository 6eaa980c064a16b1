"""A build of the run half for another architecture, without all that options leave out: it runs programs, refuses what needs a
part that it lacks by naming the option, and is small.

Covers: src/device/opencl/ absent.cc
src/device/cuda/ absent.cc
src/device/plugin/ absent.cc
src/plugin/ absent.cc
src/api/ pipeline_absent.cc
src/base/ left_out.h
src/runtime/ load_program.cc
cmake/ parts.cmake
registry/ run_exports_alone.map.in
"""

import pathlib
import re
import shutil
import subprocess

import pytest
from cli_models import SOURCE
from onnx import TensorProto, helper
from programs import ARCH, OWN_CODE, RUNNER, compare, compile_there, emulate, run_there
from small_models import convolutions, functions, random, save

BUILD = pathlib.Path(RUNNER[-1]).parent.parent
LIBRARY = BUILD / "lib/libintarsia.so.0"
MOST_BYTES = 1_200_000  # of the stripped library
LEFT_OUT = "this libintarsia.so was built without {}: install one that was built with {}=ON"


def test_programs_of_our_own_code_run(tmp_path):
    convolutions(tmp_path / "model.onnx")
    compare(tmp_path / "model.onnx", tmp_path)


@pytest.mark.parametrize(
    ("backend", "option"),
    [("reference", "INTARSIA_WITH_REFERENCE"), ("onnxruntime", "INTARSIA_WITH_FRAMEWORKS")],
)
def test_a_program_that_needs_a_backend_names_its_option(tmp_path, backend, option):
    save(
        tmp_path / "model.onnx",
        [helper.make_node("Relu", ["x"], ["y"])],
        [("x", TensorProto.FLOAT, [7, 33])],
        [("y", TensorProto.FLOAT)],
        {},
    )
    random(1, 7, 33).tofile(tmp_path / "x.in")
    program = compile_there(tmp_path / "model.onnx", "--backends", backend)
    said = run_there(program, tmp_path, status=1)
    assert re.fullmatch(
        rf"error: program '.*there.so': it needs the backend '{backend}' to run Relu.*, which this Intarsia was built without "
        rf"\(it has: halide\); install an Intarsia with '{backend}' \(built with {option}=ON\), or compile the model "
        "with other --backends\n",
        said,
    ), said


def test_calls_of_what_is_left_out_name_the_option(tmp_path):
    functions(tmp_path / "model.onnx")
    program = compile_there(tmp_path / "model.onnx", *OWN_CODE)
    done = emulate(BUILD / "bin/left_out_calls", program)
    said = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert said["load"] == said["cpu"] == "ok"
    for call_of, part in {"opencl": "OpenCL", "cuda": "CUDA"}.items():
        assert said[call_of].endswith(": " + LEFT_OUT.format(part, f"INTARSIA_WITH_{part.upper()}")), said
    plugins = LEFT_OUT.format("plug-ins", "INTARSIA_WITH_PLUGINS")
    assert "no device 'toy_npu:0'" in said["npu"] and said["npu"].endswith("; " + plugins)
    assert said["plug-in"] == plugins
    assert said["pipeline"] == said["stage"] == LEFT_OUT.format("pipelines", "INTARSIA_WITH_PIPELINES")


def test_the_library_is_small_and_exports_the_c_api_alone(tmp_path):
    strip = shutil.which(f"{ARCH}-linux-gnu-strip")
    subprocess.run([strip, "-o", tmp_path / "stripped.so", LIBRARY], check=True)
    assert (tmp_path / "stripped.so").stat().st_size < MOST_BYTES
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", LIBRARY], check=True, capture_output=True, text=True
    )
    names = {line.split()[-1].partition("@")[0] for line in listed.stdout.splitlines()}
    assert {name for name in names if not name.startswith("intarsia_")} == {"INTARSIA_0"}
    headers = "".join(
        (SOURCE / "include/intarsia" / name).read_text() for name in ("intarsia.h", "intarsia_pipeline.h")
    )
    assert set(re.findall(r"\b(intarsia_\w+)\(", re.sub(r"/\*.*?\*/", "", headers, flags=re.S))) <= names


@pytest.mark.parametrize("option", ["INTARSIA_WITH_REFERENCE", "INTARSIA_WITH_PIPELINES"])
def test_a_build_of_the_compiler_needs_all_parts(tmp_path, option):
    done = subprocess.run(
        ["cmake", "-S", SOURCE, "-B", tmp_path, f"-D{option}=OFF"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    assert f"INTARSIA_COMPILER=ON needs {option}=ON" in " ".join(done.stderr.split())
