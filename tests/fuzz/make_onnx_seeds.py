#!/usr/bin/env python3
"""Writes the small models among the ONNX node tests as seeds: tests/fuzz/make_onnx_seeds.py FOLDER

Each comes twice: as it is, and with its inputs as constants, so that folding runs its kernel."""

import pathlib
import sys
import warnings

import numpy
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests

MOST_BYTES = 4096


def with_constants(case):
    """The model with its first data set as initializers, or None when a value is not a tensor."""
    model = type(case.model)()
    model.CopyFrom(case.model)
    for value, info in zip(case.data_sets[0][0], case.model.graph.input):
        if not isinstance(value, (numpy.ndarray, numpy.generic)):
            return None
        model.graph.initializer.append(numpy_helper.from_array(numpy.asarray(value), info.name))
    return model


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for case in load_model_tests(kind="node"):
        for suffix, model in (("", case.model), ("_folded", with_constants(case))):
            data = model.SerializeToString() if model is not None else b""
            if 0 < len(data) <= MOST_BYTES:
                (folder / f"{case.name}{suffix}.onnx").write_bytes(data)
