"""What is taken as an input: arrays of other libraries by way of DLPack, without a copy, and clear errors for what cannot be.

Covers: bindings/python/intarsia/ values.py bindings/python/ value.cc
"""

import gc
import importlib.util
import weakref

import intarsia
import numpy as np
import pytest
from cli_models import save_relu

X = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
WANT = np.maximum(X, 0)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    model = save_relu(tmp_path_factory.mktemp("arrays") / "relu.onnx")
    return intarsia.compile(model, backends="reference").load()


class Tensor:
    """Of a library that Intarsia does not know: only DLPack, of the version with all arguments."""

    def __init__(self, array):
        self.array = array
        self.shared = 0

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        self.shared += 1
        return self.array.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class OldTensor(Tensor):
    """The first version of the protocol."""

    def __dlpack__(self, stream=None):
        self.shared += 1
        return self.array.__dlpack__(stream=stream)


class DeviceTensor(Tensor):
    """In the memory of a GPU."""

    def __dlpack__(self, **_):
        raise BufferError("cannot export to the CPU")

    def __dlpack_device__(self):
        return 2, 0


@pytest.mark.parametrize("kind", [Tensor, OldTensor])
def test_tensors_by_dlpack(program, kind):
    tensor = kind(X.copy())
    np.testing.assert_array_equal(program(x=tensor), WANT)
    assert tensor.shared == 1
    strided = kind(np.repeat(X, 2, axis=1)[:, ::2])
    np.testing.assert_array_equal(program(x=strided), WANT)
    alive = weakref.ref(tensor)
    del tensor
    gc.collect()
    assert alive() is None


def test_tensors_by_dlpack_are_not_copied():
    seen = []
    builder = intarsia.PipelineBuilder().add(
        "look", lambda x: seen.append(x) or x, inputs=["x"], outputs=["y"]
    )
    tensor = Tensor(X.copy())
    with builder.start() as pipeline:
        pipeline.push({"x": tensor}, copy=False)
        assert pipeline.pop().error is None
    assert np.shares_memory(seen[0], tensor.array)


def test_a_tensor_elsewhere_is_a_clear_error(program):
    message = "DeviceTensor cannot be read by way of DLPack .*want a tensor in the processor's memory"
    with pytest.raises(intarsia.InvalidArgumentError, match=message):
        program(x=DeviceTensor(X))


def test_outputs_go_on_by_dlpack(program):
    result = program(x=X)
    other = np.from_dlpack(result)
    assert np.shares_memory(other, result)
    del result
    np.testing.assert_array_equal(other, WANT)


def test_an_output_outlives_everything(tmp_path):
    compiled = intarsia.compile(save_relu(tmp_path / "relu.onnx"), backends="reference")
    with compiled, compiled.load() as program, program.bind() as session:
        results = [compiled(x=X), program(x=X), session.run({"x": X})["y"]]
    del compiled, program, session
    gc.collect()
    for result in results:
        np.testing.assert_array_equal(result, WANT)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not here")
def test_tensors_of_torch(program):
    import torch

    x = torch.from_numpy(X.copy())
    np.testing.assert_array_equal(program(x=x), WANT)
    np.testing.assert_array_equal(program(x=torch.from_numpy(X.T.copy()).T), WANT)
    np.testing.assert_array_equal(torch.from_dlpack(program(x=x)).numpy(), WANT)
    with pytest.raises(intarsia.InvalidArgumentError, match="torch.Tensor cannot be read by way of DLPack"):
        program(x=x.clone().requires_grad_())
    with pytest.raises(intarsia.InvalidArgumentError, match="want float32"):
        program(x=x.double())
