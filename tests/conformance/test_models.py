"""Whole models: the light models of the onnx package, the generated ones, and those that look like PyTorch's exports.

Covers: src/compile/ compile_model.cc
src/measure/ check_model.cc
"""

import pathlib

import numpy as np
import onnx
import pytest
from model_tools import (
    MODELS,
    assert_close,
    free_inputs,
    input_shape,
    random_inputs,
    randomize_weights,
    run_onnxruntime,
)

import intarsia

LIGHT = sorted((pathlib.Path(onnx.__file__).parent / "backend/test/data/light").glob("light_*.onnx"))
GENERATED = (
    "resnet50",
    "mobilenetv2",
    "inceptionv3",
    "efficientnetb0",
    "densenet121",
    "mobilenetv3_large",
    "convnext_tiny",
    "vit_b16",
    "bert_base",
)
TORCH_LIKE = sorted((MODELS / "torch_like").glob("*.onnx"))
SIZES = ({"batch": 1, "seq": 6}, {"batch": 3, "seq": 9})


def compile_native(path, **options):
    return intarsia.compile(path, fallback="none", backends=["halide", "reference"], tune="off", **options)


def run(compiled, inputs):
    return compiled.load().bind().run(inputs)


def light_input(model):
    """What the onnx package's own runner feeds: a ramp from 0 to 1."""

    def ramp(info):
        shape = input_shape(info)
        return (np.arange(np.prod(shape)).reshape(shape) / np.prod(shape)).astype(np.float32)

    return {info.name: ramp(info) for info in free_inputs(model)}


def stored_outputs(path, model):
    def read(i):
        return onnx.numpy_helper.to_array(onnx.load_tensor(path.with_name(f"{path.stem}_output_{i}.pb")))

    return {info.name: read(i) for i, info in enumerate(model.graph.output)}


def test_all_models_are_there():
    assert len(LIGHT) == 9 and TORCH_LIKE
    assert all((MODELS / f"{name}.onnx").exists() for name in GENERATED)


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
def test_light_model_gives_the_stored_output(path):
    model = onnx.load(path)
    assert_close(run(compile_native(path), light_input(model)), stored_outputs(path, model))


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
def test_light_model_with_random_weights(path, tmp_path, record_property):
    model = onnx.load(path)
    randomize_weights(model)
    onnx.save(model, tmp_path / "model.onnx")
    inputs = random_inputs(model)
    outputs = run(compile_native(tmp_path / "model.onnx"), inputs)
    worst = assert_close(outputs, run_onnxruntime(tmp_path / "model.onnx", inputs))
    print(f"{path.stem}: {worst:.1e} of the largest")


@pytest.mark.parametrize("name", GENERATED)
def test_generated_model_is_native(name):
    path = MODELS / f"{name}.onnx"
    inputs = random_inputs(onnx.load(path))
    compiled = compile_native(path)
    targets = [region["target"] for region in compiled.report["regions"]]
    assert set(targets) == {"halide@cpu"}, targets
    worst = assert_close(run(compiled, inputs), run_onnxruntime(path, inputs))
    print(f"{name}: {len(targets)} regions, {worst:.1e} of the largest")


@pytest.mark.parametrize("fallback", ("auto", "none"))
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("path", TORCH_LIKE, ids=lambda path: path.stem)
def test_torch_like_model(path, sizes, fallback):
    model = onnx.load(path)
    inputs = random_inputs(model, sizes)
    shapes = {name: value.shape for name, value in inputs.items()}
    compiled = (
        intarsia.compile(path, shapes=shapes, tune="off")
        if fallback == "auto"
        else compile_native(path, shapes=shapes)
    )
    assert_close(run(compiled, inputs), run_onnxruntime(path, inputs))
