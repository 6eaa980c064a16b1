"""The models of `make models` compiled as they are, so that their batch stays open: random batches in one session against
ONNX Runtime.

Covers: backends/halide/canonicalize/ split_items.cc
src/plan/partition/ separate_open_sizes.cc
"""

import intarsia
import numpy as np
import onnxruntime
import pytest
from cli_models import SOURCE
from random_sizes import run_at_random_sizes
from rounds import ROUNDS

MODELS = SOURCE / "build/models"
SMALL = ["mobilenetv2", "mobilenetv3_large"]
ALL = [
    *SMALL,
    "efficientnetb0",
    "resnet50",
    "densenet121",
    "inceptionv3",
    "convnext_tiny",
    "vit_b16",
    "bert_base",
]
BATCHES = 20 if ROUNDS == 1 else 5 * ROUNDS  # of a model
MOST = 4


def make_inputs(oracle, sizes):
    random = np.random.default_rng(sizes["number"])
    given = {}
    for one in oracle.get_inputs():
        shape = [size if isinstance(size, int) else sizes["batch"] for size in one.shape]
        whole = "int" in one.type
        dtype = {"tensor(int64)": "int64", "tensor(int32)": "int32", "tensor(float)": "float32"}[one.type]
        values = random.integers(0, 2, shape) if whole else random.standard_normal(shape)
        given[one.name] = values.astype(dtype)
    return given


@pytest.mark.parametrize("fallback", ["auto", "none"])
@pytest.mark.parametrize("name", SMALL if ROUNDS == 1 else ALL)
def test_random_batches(tmp_path, name, fallback):
    model = MODELS / f"{name}.onnx"
    intarsia.compile(model, tune="off", fallback=fallback).save(tmp_path / "p.so")
    program = intarsia.load(tmp_path / "p.so")
    assert len(program.open_sizes) == 1
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    oracle = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])

    def draw(choices):
        return {"batch": choices.randint(1, MOST), "number": choices.randrange(1000)}

    for threads in (1, 2):
        session = program.bind(threads=threads)
        run_at_random_sizes(session, oracle, draw, lambda sizes: make_inputs(oracle, sizes), BATCHES, 8)
