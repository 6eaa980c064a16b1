"""Programs for another architecture: what this machine's compiler makes, run there by an emulator, computes what programs for
this machine compute, and ONNX Runtime.

Covers: src/base/ architecture.cc cpu_level.cc
src/compile/ link_objects.cc
src/program/ cpu_features_hwcap.cc verify_machine.cc
backends/halide/build/ compile_kernel.cc
backends/halide/emit/ glue_object.cc
"""

import os
import subprocess

import keyword_spotting
import numpy as np
import onnx
import onnxruntime
import pytest
from cli_models import SOURCE, call, call_json, skip_where_the_emulator_failed
from control_flow_models import save_decoder
from onnx import TensorProto, helper, numpy_helper
from rounds import one_in
from small_models import attention, convolutions, functions, lstm, quantized, random

ARCH = os.environ["INTARSIA_ARCH"]
RUNNER = os.environ["INTARSIA_RUNNER"].split()
OWN_CODE = ("--fallback", "none")


def emulate(*command, emulator=(), status=0):
    """Runs a program of the other architecture, with options of the emulator."""
    whole = [*RUNNER[:-1], *emulator, *command]
    done = subprocess.run([str(part) for part in whole], capture_output=True, text=True, timeout=3600)
    skip_where_the_emulator_failed(done.stderr)
    assert done.returncode == status, done.stdout + done.stderr
    return done


def run_there(program, folder, emulator=(), status=0):
    return emulate(RUNNER[-1], program, folder, emulator=emulator, status=status).stderr


def compile_there(model, *options):
    """Returns the program, which is beside the model."""
    program = model.parent / "there.so"
    call("compile", model, "-o", program, "--arch", ARCH, "--tune", "off", *options)
    return program


def compare(model, folder, *options, there=(), threads=2, tolerance=1e-4, run=run_there):
    """Compiles a model for both machines and runs it on both, there by `run`, with the shapes of its program. `there`: options for
    the other machine."""
    options = (*OWN_CODE, *options, "--threads", threads)
    call("compile", model, "-o", folder / "here.so", "--tune", "off", *options)
    program = compile_there(model, *there, *options)
    explained = call_json("explain", folder / "here.so")
    given = []
    for number, value in enumerate(explained["inputs"]):
        name, array = value["name"], random(100 + number, *value["shape"])
        np.save(folder / f"{name}.npy", array)
        array.tofile(folder / f"{name}.in")
        given += ["-i", f"{name}={folder}/{name}.npy"]
    (folder / "out").mkdir()
    call("run", folder / "here.so", *given, "-o", folder / "out")
    run(program, folder)
    for value in explained["outputs"]:
        here = np.load(folder / "out" / f"{value['name']}.npy")
        there = np.fromfile(folder / f"{value['name']}.out", here.dtype).reshape(here.shape)
        if here.dtype == np.float32:
            assert np.isfinite(there).all()
            assert np.abs(here - there).max() <= tolerance * np.abs(here).max(), value["name"]
        else:
            assert (here == there).all(), value["name"]


@pytest.mark.parametrize("make", [convolutions, functions, attention, lstm], ids=lambda make: make.__name__)
def test_small_models_compute_the_same(tmp_path, make):
    make(tmp_path / "model.onnx")
    compare(tmp_path / "model.onnx", tmp_path)


LEVELS = {"aarch64": ("armv8-a", "armv8.2-a+dotprod"), "armv7": ("armv7-a+neon",), "riscv64": ("rv64gcv",)}


@pytest.mark.parametrize("level", LEVELS[ARCH])
def test_integers_of_8_bits_compute_the_same(tmp_path, level):
    quantized(tmp_path / "model.onnx")
    compare(tmp_path / "model.onnx", tmp_path, there=("--cpu", level), tolerance=0)


def compare_with_onnxruntime(model, folder, given, *options, steps=0):
    """Runs a model there, and in ONNX Runtime here. `steps`: by how many steps of quantization outputs may differ."""
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(model), settings)
    for name, array in given.items():
        array.tofile(folder / f"{name}.in")
    run_there(compile_there(model, *OWN_CODE, "--threads", 1, *options), folder)
    for output, want in zip(session.get_outputs(), session.run(None, given)):
        got = np.fromfile(folder / f"{output.name}.out", want.dtype).reshape(want.shape)
        if steps:
            assert np.abs(got - want).max() <= 1.01 * steps * step_of(model), output.name
        elif want.dtype == np.float32:
            assert np.isfinite(got).all()
            assert np.abs(got - want).max() <= 1e-4 * np.abs(want).max(), output.name
        else:
            assert (got == want).all(), output.name


def step_of(model):
    """The scale of the output's quantization."""
    graph = onnx.load(model).graph
    last = next(node for node in graph.node if node.output[0] == graph.output[0].name)
    return next(numpy_helper.to_array(one) for one in graph.initializer if one.name == last.input[1])


def value_of(info):
    """An input of a model with open sizes of 1."""
    sizes = [size.dim_value or 1 for size in info.type.tensor_type.shape.dim]
    if info.type.tensor_type.elem_type == TensorProto.FLOAT:
        return random(100, *sizes)
    numbers = np.random.default_rng(100).integers(0, 2 if "mask" in info.name else 1000, sizes)
    return numbers.astype(helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type))


MODELS = sorted((SOURCE / "build/models").glob("*.onnx"), key=lambda path: path.stat().st_size)


@pytest.mark.parametrize("model", one_in(len(MODELS) or 1, MODELS), ids=lambda path: path.stem)
def test_real_models_compute_what_onnxruntime_computes(tmp_path, model):
    given = {info.name: value_of(info) for info in onnx.load(model, load_external_data=False).graph.input}
    shapes = [("--shape", f"{name}={'x'.join(map(str, array.shape))}") for name, array in given.items()]
    compare_with_onnxruntime(model, tmp_path, given, *(part for pair in shapes for part in pair))


def test_a_decoder_computes_what_onnxruntime_computes(tmp_path):
    model = save_decoder(tmp_path / "model.onnx", length=16)
    compare_with_onnxruntime(model, tmp_path, {"steps": np.array(16), "first": np.array([1])})


def test_from_sound_to_a_word(tmp_path):
    model = keyword_spotting.save_keyword_spotting(tmp_path / "model.onnx")
    keyword_spotting.write_wav(tmp_path / "sound.wav")
    samples = keyword_spotting.read_wav(tmp_path / "sound.wav")
    compare_with_onnxruntime(model, tmp_path, {"samples": samples})


def test_a_quantized_network_computes_what_onnxruntime_computes(tmp_path):
    model = keyword_spotting.save_quantized_network(tmp_path)
    features = random(101, 1, 1, keyword_spotting.FRAMES, keyword_spotting.COEFFICIENTS)
    compare_with_onnxruntime(model, tmp_path, {"features": features}, steps=1)


@pytest.mark.skipif(ARCH != "aarch64", reason="has CPUs of two levels")
def test_a_program_for_more_than_the_cpu_has_names_both(tmp_path):
    functions(tmp_path / "model.onnx")
    random(100, 7, 33).tofile(tmp_path / "x.in")
    program = compile_there(tmp_path / "model.onnx", "--cpu", "cortex-a76", *OWN_CODE)
    run_there(program, tmp_path, ("-cpu", "cortex-a76"))
    said = run_there(program, tmp_path, ("-cpu", "cortex-a53"), status=1)
    assert "which needs dotprod, but this CPU lacks dotprod and has only asimd" in said


@pytest.mark.skipif(ARCH != "aarch64", reason="has CPUs of two levels")
def test_a_machine_takes_the_most_demanding_variant_that_it_runs(tmp_path):
    functions(tmp_path / "model.onnx")
    random(100, 7, 33).tofile(tmp_path / "x.in")
    program = compile_there(tmp_path / "model.onnx", "--cpu", "armv8-a,cortex-a76", *OWN_CODE)
    for cpu in ("cortex-a53", "cortex-a76"):
        run_there(program, tmp_path, ("-cpu", cpu))


def test_programs_for_another_architecture_are_refused(tmp_path):
    functions(tmp_path / "model.onnx")
    call("compile", tmp_path / "model.onnx", "-o", tmp_path / "p.so", "--tune", "off", *OWN_CODE)
    said = run_there(tmp_path / "p.so", tmp_path, status=1)
    assert f"compiled for x86_64, but this machine is {ARCH}" in said
