"""Programs for tests of TensorFlow's op, as fixtures, and Python code in processes of its own."""

import os
import subprocess
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import intarsia
import numpy as np
import pytest
from cli_models import save
from onnx import TensorProto, helper

FLOAT = TensorProto.FLOAT


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("programs")


def compiled(path, nodes, inputs, outputs, constants=(), **options):
    model = save(path.with_suffix(".onnx"), nodes, inputs, outputs, constants)
    intarsia.compile(model, **{"tune": "off", "backends": ["reference"]} | options).save(path)
    return str(path)


@pytest.fixture(scope="module")
def addone(folder):
    """y = x + 1, of any length."""
    nodes = [helper.make_node("Add", ["x", "one"], ["y"])]
    return compiled(
        folder / "addone.so",
        nodes,
        [("x", FLOAT, ["n"])],
        [("y", FLOAT, ["n"])],
        [("one", np.float32(1))],
        backends=["halide"],
    )


@pytest.fixture(scope="module")
def two_outputs(folder):
    """joined = concat(a, b) along the rows, product = a @ transpose(w)."""
    nodes = [
        helper.make_node("Concat", ["a", "b"], ["joined"], axis=0),
        helper.make_node("MatMul", ["a", "w"], ["product"]),
    ]
    return compiled(
        folder / "two.so",
        nodes,
        [("a", FLOAT, ["rows", 3]), ("b", FLOAT, ["more", 3])],
        [("joined", FLOAT, [None, 3]), ("product", FLOAT, ["rows", 2])],
        [("w", np.array([[1, 2], [3, 4], [5, 6]], "float32"))],
    )


def in_new_process(code, *arguments, **variables):
    """Runs Python code in a process of its own; returns its output, and all of it if it fails."""
    ran = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "2"} | variables,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout
